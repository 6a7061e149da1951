package operator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/jsonschema"
)

// The names of the custom resource.
const (
	group    = "muster.dev"
	version  = "v1alpha1"
	resource = "workloads"
	kind     = "Workload"
	crdName  = resource + "." + group
)

// CRD returns the definition of the resource as YAML. Its schema is that of a
// workload document as far as Kubernetes can say it: where a document may hold
// values of several types, the cluster takes any value and the server judges.
func CRD() ([]byte, error) {
	text, err := yaml.MarshalWithOptions(crd(), yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("the resource definition cannot be written: %w", err)
	}
	return append([]byte("# Written by go test ./internal/operator -update from the schema of the workload document.\n"), text...), nil
}

func crd() map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": crdName},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{
				"plural": resource, "singular": "workload", "kind": kind, "listKind": kind + "List",
				"shortNames": []any{"wl"}, "categories": []any{"all", "muster"},
			},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"subresources":             map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": columns(),
				"schema":                   map[string]any{"openAPIV3Schema": whole()},
			}},
		},
	}
}

// lacking are the fields that objects may have now and a definition does not know.
func lacking(definition map[string]any) []string {
	versions, _, _ := unstructured.NestedFieldNoCopy(definition, "spec", "versions")
	all, _ := versions.([]any)
	for _, v := range all {
		if v, ok := v.(map[string]any); ok && v["name"] == version {
			schema, _, _ := unstructured.NestedFieldNoCopy(v, "schema", "openAPIV3Schema")
			of, _ := schema.(map[string]any)
			return unknown(whole(), of, "")
		}
	}
	return nil // whoever serves another version knows better
}

// unknown are the fields of a schema that another has not, by path.
func unknown(of, in map[string]any, path string) (out []string) {
	if in["x-kubernetes-preserve-unknown-fields"] == true {
		return nil
	}
	properties, _ := of["properties"].(map[string]any)
	there, _ := in["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		below, known := there[name].(map[string]any)
		if !known {
			out = append(out, path+name)
			continue
		}
		out = append(out, unknown(properties[name].(map[string]any), below, path+name+".")...)
	}
	for _, sort := range []string{"items", "additionalProperties"} {
		if own, ok := of[sort].(map[string]any); ok {
			below, _ := in[sort].(map[string]any)
			out = append(out, unknown(own, below, path)...)
		}
	}
	return out
}

// columns are what kubectl get prints.
func columns() []any {
	var all []any
	for _, c := range []struct{ name, sort, path string }{
		{"Status", "string", ".status.phase"}, {"Kind", "string", ".status.kind"}, {"GPUs", "number", ".status.gpus"},
		{"Where", "string", ".status.where"}, {"Age", "date", ".status.createdAt"}, {"Reason", "string", ".status.reason"},
	} {
		all = append(all, map[string]any{"name": c.name, "type": c.sort, "jsonPath": c.path})
	}
	return append(all, map[string]any{"name": "Message", "type": "string", "jsonPath": ".status.message", "priority": 1})
}

// whole is the schema of an object.
func whole() map[string]any {
	return map[string]any{
		"type": "object", "description": "A workload of Muster. Its name and namespace are those of the workload and of its project.",
		"properties": map[string]any{
			"apiVersion": text(""), "kind": text(""),
			"metadata": map[string]any{"type": "object", "properties": map[string]any{
				"name": map[string]any{"type": "string", "maxLength": spec.MaxName, "pattern": `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`},
			}},
			"spec":   specSchema(),
			"status": statusSchema(),
		},
	}
}

// elsewhere are fields of a document that an object says in its metadata.
var elsewhere = []string{"name", "namePrefix", "project"}

// specSchema is that of a document without its name and project.
func specSchema() map[string]any {
	s := structural(jsonschema.Document())
	properties := s["properties"].(map[string]any)
	for _, name := range elsewhere {
		delete(properties, name)
	}
	return s
}

// structural makes of a JSON schema one that a custom resource may have. What
// fields default to the server fills in, so that an object stays as its author
// wrote it.
func structural(in map[string]any) map[string]any {
	out := map[string]any{}
	if d, ok := in["description"]; ok {
		out["description"] = d
	}
	if _, several := in["oneOf"]; several {
		return open(out)
	}
	sort, single := in["type"].(string)
	if !single {
		return open(out)
	}
	out["type"] = sort
	for _, k := range []string{"enum", "pattern", "minLength", "maxLength", "minItems", "minimum", "maximum", "required"} {
		if v, ok := in[k]; ok {
			out[k] = v
		}
	}
	switch below := in["additionalProperties"].(type) {
	case map[string]any:
		out["additionalProperties"] = structural(below)
	case bool:
		if below {
			out["x-kubernetes-preserve-unknown-fields"] = true
		}
	}
	if items, ok := in["items"].(map[string]any); ok {
		out["items"] = structural(items)
	}
	if all, ok := in["properties"].(map[string]any); ok {
		properties := map[string]any{}
		for name, p := range all {
			properties[name] = structural(p.(map[string]any))
		}
		out["properties"] = properties
	}
	return out
}

// open lets a field have any value.
func open(s map[string]any) map[string]any {
	s["x-kubernetes-preserve-unknown-fields"] = true
	return s
}

func text(doc string) map[string]any { return typed("string", doc) }

func typed(sort, doc string) map[string]any {
	s := map[string]any{"type": sort}
	if doc != "" {
		s["description"] = doc
	}
	return s
}

func object(doc string, properties map[string]any) map[string]any {
	s := typed("object", doc)
	s["properties"] = properties
	return s
}

func statusSchema() map[string]any {
	instant := func(doc string) map[string]any {
		s := text(doc)
		s["format"] = "date-time"
		return s
	}
	condition := object("", map[string]any{
		"type": text(""), "status": map[string]any{"type": "string", "enum": []any{"True", "False", "Unknown"}},
		"reason": text(""), "message": text(""), "lastTransitionTime": instant(""), "observedGeneration": typed("integer", ""),
	})
	condition["required"] = []any{"type", "status"}
	conditions := typed("array", "Its phases as conditions, for kubectl wait, beside what else holds.")
	conditions["items"] = condition
	conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"] = "map", []any{"type"}
	counts := map[string]any{}
	for _, c := range []string{"total", "pending", "starting", "running", "stopping", "succeeded", "failed"} {
		counts[c] = typed("integer", "")
	}
	properties := map[string]any{
		"id": text("Identity of the workload."), "phase": text("Where it is in its life."), "kind": text(""),
		"reason": text("Why, as a token."), "message": text("Why, as a sentence."), "since": instant("Since when it is in this phase."),
		"attempt": typed("integer", "Number of the present attempt, from 0."), "gpus": typed("number", "GPUs that it asks for, over all tasks; parts count as such."),
		"where": text("Nodes that it is or was last on."), "exitCode": typed("integer", ""),
		"tasks": object("Tasks of the present attempt by state.", counts),
		"replicas": object("Of an inference workload.", map[string]any{
			"wanted": typed("integer", ""), "running": typed("integer", ""), "ready": typed("integer", ""), "updated": typed("integer", ""),
			"generation": typed("integer", ""), "url": text(""),
		}),
		"user": text("Who submitted it."), "createdAt": instant(""), "startedAt": instant(""), "endedAt": instant(""),
		"observedGeneration": typed("integer", "The generation of the object that the server has looked at."),
		"specHash":           text("Of the spec that the workload has."),
		"revisedHash":        text("Of what was changed of the workload's document while it lived."),
		"conditions":         conditions,
	}
	if missing := slices.DeleteFunc(statusFields(), func(f string) bool { _, ok := properties[f]; return ok }); len(missing) > 0 {
		panic(fmt.Sprintf("kubeface: no schema of status fields %v; there are %v", missing, slices.Sorted(maps.Keys(properties)))) // seen by every test
	}
	return object("What the server knows of it; it alone writes this.", properties)
}
