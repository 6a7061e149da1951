// Package runaipolicy reads policies of Run:ai as policies of ours. Every field of a
// source is accounted for; what has no equivalent is named and left out.
package runaipolicy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Note says what became of a field of the source.
type Note struct {
	Field string // by path, as the source has it
	Ours  string // by path; empty: it has no equivalent
	Why   string // what is lost, or to be done
}

// String is the note for people.
func (n Note) String() string {
	switch {
	case n.Ours == "":
		return n.Field + ": left out: " + n.Why
	case n.Why != "":
		return n.Field + " → " + n.Ours + ": " + n.Why
	default:
		return n.Field + " → " + n.Ours
	}
}

// field is what a field is called here, and how its values are written.
type field struct {
	ours  string
	value func(v any) any // nil: as they are
	why   string          // why there is none
}

// fields are those with one value.
var fields = map[string]field{
	"args": {ours: "args"}, "command": {ours: "command"}, "image": {ours: "image"}, "workingDir": {ours: "workdir"},
	"imagePullPolicy":                        {ours: "pullPolicy", value: words(map[string]any{"IfNotPresent": "missing", "Always": "always", "Never": "never"})},
	"nodeType":                               {ours: "nodeType"},
	"nodePools":                              {ours: "pools"},
	"priorityClass":                          {ours: "priority"},
	"preemptibility":                         {ours: "preemptible", value: words(map[string]any{"preemptible": true, "non-preemptible": false})},
	"backoffLimit":                           {ours: "retry.limit"},
	"autoDeletionTimeAfterCompletionSeconds": {ours: "ttlAfterEnd", value: seconds},
	"terminationGracePeriodSeconds":          {ours: "gracePeriod", value: seconds},
	"terminateAfterPreemption":               {ours: "terminateAfterPreemption"},
	"cleanPodPolicy":                         {ours: "cleanPolicy", value: words(map[string]any{"Running": "running", "None": "none"})},
	"completions":                            {ours: "array.completions"},
	"parallelism":                            {ours: "array.parallelism"},
	"category":                               {why: "there are no categories; a label with options says the same"},
	"createHomeDir":                          {why: "a home directory is a matter of the image"},
	"restartPolicy":                          {why: "retry.limit and restart say what follows from an end"},

	"compute.gpuDevicesRequest": {ours: "resources.gpu.count"},
	"compute.gpuPortionRequest": {ours: "resources.gpu.share"},
	"compute.gpuPortionLimit":   {ours: "resources.gpu.shareLimit"},
	"compute.gpuMemoryRequest":  {ours: "resources.gpu.memory"},
	"compute.gpuMemoryLimit":    {ours: "resources.gpu.memoryLimit"},
	"compute.cpuCoreRequest":    {ours: "resources.cpu"},
	"compute.cpuMemoryRequest":  {ours: "resources.memory"},
	"compute.cpuCoreLimit":      {why: "CPU has no limit beside what is asked for"},
	"compute.cpuMemoryLimit":    {why: "memory that is asked for is also its limit: bound resources.memory"},
	"compute.gpuRequestType":    {why: "a document says it by the field that it uses"},
	"compute.largeShmRequest":   {why: "resources.shm is an amount: give it a default"},

	"security.runAsUid": {ours: "runAs.user"},
	"security.runAsGid": {ours: "runAs.group"},
}

// items are those with many, by keys: their fields here, and the attributes.
var items = map[string]struct {
	ours string
	key  string            // of the source
	of   map[string]string // attributes; nil: a map of key to value
}{
	"environmentVariables": {ours: "env", key: "name"},
	"labels":               {ours: "labels", key: "name"},
	"annotations":          {ours: "annotations", key: "name"},
	"extendedResources":    {ours: "resources.extended", key: "resource"},
	"tolerations":          {ours: "tolerations", key: "key", of: map[string]string{"key": "key", "value": "value", "effect": "effect"}},
	"ports":                {ours: "ports", key: "container", of: map[string]string{"container": "port"}},
	"storage.hostPath":     {ours: "volumes", key: "mountPath", of: map[string]string{"mountPath": "path", "path": "hostPath", "readOnly": "readOnly"}},
	"storage.pvc":          {ours: "volumes", key: "path", of: map[string]string{"path": "path", "claimName": "claim", "readOnly": "readOnly"}},
}

// words are values of which each has its word here; others stay, and are refused.
func words(to map[string]any) func(any) any {
	return func(v any) any {
		if text, ok := v.(string); ok {
			return cmp.Or(to[text], v)
		}
		return v
	}
}

func seconds(v any) any { return fmt.Sprintf("%vs", v) }

// reader is a policy that is being read.
type reader struct {
	out   map[string]any
	notes []Note
	keys  map[string]string // of default items here, by list and name there
}

// Read reads a policy: defaults, rules and imposedAssets, or what has them below spec. The
// policy has defaults and rules in our fields. It fails with what is no policy.
func Read(data []byte) (policy map[string]any, notes []Note, err error) {
	n, _, err := codec.ReadTree(data)
	if err != nil {
		return nil, nil, err
	}
	tree, _ := n.Any().(map[string]any)
	for _, around := range []string{"spec", "policy"} {
		if below, ok := tree[around].(map[string]any); ok {
			tree = below
		}
	}
	r := &reader{out: map[string]any{}, keys: map[string]string{}}
	known := false
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		switch section, _ := tree[name].(map[string]any); name {
		case "defaults":
			known = true
			r.defaults(section, "")
		case "rules":
			known = true
			r.rules(section, "")
		case "imposedAssets":
			known = true
			r.notes = append(r.notes, Note{Field: name, Why: "assets are named by ids there; name ours below impose: {data: [NAME]}"})
		case "apiVersion", "kind", "metadata", "meta", "type":
		default:
			r.notes = append(r.notes, Note{Field: name, Why: "it is no part of a policy that is known"})
		}
	}
	if !known {
		return nil, nil, fmt.Errorf("it has neither defaults nor rules: that is no policy of Run:ai as its CLI of version 2 has them")
	}
	return r.out, r.notes, nil
}

func join(around, name string) string { return strings.TrimPrefix(around+"."+name, ".") }

func (r *reader) defaults(section map[string]any, around string) {
	for _, name := range slices.Sorted(maps.Keys(section)) {
		path, v := join(around, name), section[name]
		below, isMap := v.(map[string]any)
		at := "defaults." + path
		switch f, known := fields[path]; {
		case known && f.ours != "":
			if f.value != nil {
				v = f.value(v)
			}
			r.set(v, "defaults", strings.Split(f.ours, ".")...)
			r.note(at, f.ours, "")
		case known:
			r.note(at, "", f.why)
		case items[path].ours != "" && isMap:
			r.items(below, path, at)
		case isMap && (path == "compute" || path == "security" || path == "storage"):
			r.defaults(below, path)
		default:
			r.note(at, "", "documents here have nothing like it")
		}
	}
}

// items reads default items, and the defaults of their attributes.
func (r *reader) items(section map[string]any, path, at string) {
	of := items[path]
	list, _ := section["instances"].([]any)
	for i, x := range list {
		item, _ := x.(map[string]any)
		key := fmt.Sprint(item[of.key])
		r.keys[path+" "+fmt.Sprint(item["name"])] = key
		if of.of == nil {
			value := item["value"]
			if value == nil {
				value = item["quantity"]
			}
			if value == nil {
				r.note(fmt.Sprintf("%s.instances[%d]", at, i), "", "it takes its value from elsewhere")
				continue
			}
			r.set(value, "defaults", append(strings.Split(of.ours, "."), key)...)
			r.note(fmt.Sprintf("%s.instances[%d]", at, i), of.ours+"."+key, "")
			continue
		}
		ours := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(item)) {
			v := item[name]
			if to := of.of[name]; to != "" {
				ours[to] = v
			} else if name != "name" {
				r.note(fmt.Sprintf("%s.instances[%d].%s", at, i, name), "", "items of "+of.ours+" have nothing like it")
			}
		}
		in, _ := r.out["defaults"].(map[string]any)
		have, _ := in[of.ours].([]any)
		r.set(append(have, ours), "defaults", of.ours)
		r.note(fmt.Sprintf("%s.instances[%d]", at, i), of.ours+"."+key, "")
	}
	if attributes, ok := section["attributes"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			to := of.of[name]
			if of.of == nil || to == "" {
				r.note(at+".attributes."+name, "", "items of "+of.ours+" always say it")
				continue
			}
			r.set(attributes[name], "rules", of.ours, "attributes", to, "default")
			r.note(at+".attributes."+name, of.ours+".attributes."+to+".default", "")
		}
	}
}

func (r *reader) rules(section map[string]any, around string) {
	for _, name := range slices.Sorted(maps.Keys(section)) {
		path, at := join(around, name), "rules."+join(around, name)
		rule, isMap := section[name].(map[string]any)
		switch f, known := fields[path]; {
		case !isMap:
			r.note(at, "", "it is no rule")
		case known && f.ours != "":
			if of := r.rule(rule, f, at); len(of) > 0 {
				r.set(of, "rules", f.ours)
				r.note(at, f.ours, "")
			}
		case known:
			r.note(at, "", f.why)
		case items[path].ours != "":
			r.itemRules(rule, path, at)
		case path == "compute" || path == "security" || path == "storage":
			r.rules(rule, path)
		default:
			r.note(at, "", "documents here have nothing like it")
		}
	}
}

// rule is a rule for one value, with its words and amounts as they are here.
func (r *reader) rule(rule map[string]any, f field, at string) map[string]any {
	out := map[string]any{}
	value := func(v any) any {
		if f.value != nil {
			return f.value(v)
		}
		return v
	}
	for _, name := range slices.Sorted(maps.Keys(rule)) {
		switch v := rule[name]; name {
		case "canEdit", "required":
			out[name] = v
		case "min", "max", "step":
			out[name] = value(v)
		case "options":
			list, _ := v.([]any)
			var options []any
			for _, o := range list {
				if m, ok := o.(map[string]any); ok {
					m = maps.Clone(m)
					m["value"] = value(m["value"])
					o = m
				} else {
					o = value(o)
				}
				options = append(options, o)
			}
			out[name] = options
		case "defaultFrom":
			m, _ := v.(map[string]any)
			from := fields[fmt.Sprint(m["field"])]
			if from.ours == "" {
				r.note(at+".defaultFrom", "", fmt.Sprintf("%v has no equivalent", m["field"]))
				continue
			}
			out[name] = map[string]any{"field": from.ours, "factor": m["factor"]}
		default:
			r.note(at+"."+name, "", "rules here have nothing like it")
		}
	}
	return out
}

// itemRules reads what is asked of items. Several lists of the source are one here, told
// apart by what an item is, so that what may be added to one of them cannot be said.
func (r *reader) itemRules(rule map[string]any, path, at string) {
	of := items[path]
	if instances, ok := rule["instances"].(map[string]any); ok {
		if can, given := instances["canAdd"]; given && of.ours == "volumes" {
			r.note(at+".instances.canAdd", "", "volumes of all sorts are one list here; volumes: {instances: {canAdd: false}} is for all of them")
		} else if given {
			r.set(can, "rules", of.ours, "instances", "canAdd")
			r.note(at+".instances.canAdd", of.ours+".instances.canAdd", "")
		}
		locked, _ := instances["locked"].([]any)
		for _, name := range locked {
			key := cmp.Or(r.keys[path+" "+fmt.Sprint(name)], fmt.Sprint(name))
			all, _ := r.out["rules"].(map[string]any)
			for _, step := range []string{of.ours, "instances"} {
				all, _ = all[step].(map[string]any)
			}
			have, _ := all["locked"].([]any)
			r.set(append(have, key), "rules", of.ours, "instances", "locked")
			r.note(at+".instances.locked", of.ours+".instances.locked", "it is locked by its key "+key)
		}
	}
	attributes, _ := rule["attributes"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		to := of.of[name]
		if of.of == nil && (name == "value" || name == "quantity") {
			to = "value"
		}
		checks, isMap := attributes[name].(map[string]any)
		if to == "" || !isMap {
			r.note(at+".attributes."+name, "", "items of "+of.ours+" have nothing like it")
			continue
		}
		judged := r.rule(checks, field{ours: to}, at+".attributes."+name)
		for _, k := range slices.Sorted(maps.Keys(judged)) {
			r.set(judged[k], "rules", of.ours, "attributes", to, k)
		}
		r.note(at+".attributes."+name, of.ours+".attributes."+to, "")
	}
}

func (r *reader) note(field, ours, why string) { r.notes = append(r.notes, Note{field, ours, why}) }

// set puts a value into the policy.
func (r *reader) set(v any, section string, path ...string) {
	at := r.out
	for _, name := range append([]string{section}, path[:len(path)-1]...) {
		below, ok := at[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[name] = below
		}
		at = below
	}
	at[path[len(path)-1]] = v
}
