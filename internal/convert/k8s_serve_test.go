package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
)

// Of what no document can be made, what does work is said; in a cluster, that
// its pods may be placed like ours.
func TestARefusedKindSaysWhatWorks(t *testing.T) {
	for kind, want := range map[string]string{
		"SeldonDeployment": "write the predictor's container as a Deployment", "ScheduledWorkflow": "wait for each other with after", "Gadget": "kinds that are read: CronJob, Deployment, InferenceService, JAXJob, Job, JobSet, LeaderWorkerSet",
	} {
		_, err := convert.Import([]byte("apiVersion: example.com/v1\nkind: " + kind + "\nmetadata: {name: a}\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "schedulerName: muster") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A Service is Knative's, or stands beside workloads.
func TestServicesOfKnativeAreWorkloads(t *testing.T) {
	const pod = "spec: {template: {spec: {containers: [{image: a}]}}}\n"
	r := imported(t, []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {}\n---\napiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: b}\n"+pod))
	if len(r.Documents) != 1 || r.Documents[0].Name != "b" {
		t.Fatalf("it has %d documents", len(r.Documents))
	}
	d := r.Documents[0]
	if a := d.Autoscale; a == nil || a.Min != 0 || a.Max != 1000 || a.Concurrency != 100 || *d.Replicas != 1 || d.Ports[0].Port != 8080 {
		t.Errorf("it is %+v with %d replicas", d.Autoscale, *d.Replicas)
	}
}

// A container listens without saying so; where a Service says it, the ports are known.
func TestPortsThatOnlyAServiceNames(t *testing.T) {
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    metadata: {labels: {app: d}}\n    spec: {containers: [{name: a, image: b%s}]}\n---\n" +
		"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: d}, ports: [%s]}\n"
	for in, want := range map[[2]string]string{
		{"", "{port: 80, targetPort: 8000}"}:                                 "[{8000 }]",
		{"", "{port: 8000}, {port: 8001, name: metrics}"}:                    "[{8000 } {8001 metrics}]",
		{"", "{port: 80, targetPort: http}"}:                                 "[]",
		{"", "{port: 53, protocol: UDP}"}:                                    "[]",
		{", ports: [{containerPort: 9000}]", "{port: 80, targetPort: 8000}"}: "[{9000 }]",
	} {
		d := imported(t, fmt.Appendf(nil, deployment, in[0], in[1])).Documents[0]
		if got := fmt.Sprintf("%v", d.Ports); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
}

// TestRuntimesOfTheFileServeModels: those that a service names, and where it names none
// such as are chosen for its format by themselves.
func TestRuntimesOfTheFileServeModels(t *testing.T) {
	const file = `
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: %s}
spec:
  supportedModelFormats: [{name: sklearn, autoSelect: %s}]
  containers: [{name: kserve-container, image: mine, args: ["--name={{.Name}}", %s]}]
---
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m}
spec: {predictor: {model: {modelFormat: {name: sklearn}, %sstorageUri: "pvc://c"}}}
`
	for in, want := range map[[4]string]string{
		{"own", "false", "a", "runtime: own, "}: "mine [--name=m a] /mnt/models",
		{"own", "true", "a", ""}:                "mine [--name=m a] /mnt/models",
		{"own", "false", "a", ""}:               "kserve/sklearnserver:v0.14.0 [--model_name=m --model_dir=/mnt/models --http_port=8080] /mnt/models",
	} {
		r := imported(t, fmt.Appendf(nil, file, in[0], in[1], in[2], in[3]))
		d := r.Documents[0]
		if got := fmt.Sprintf("%s %v %s", d.Image, d.Args, d.Volumes[0].Path); got != want || len(r.Lossy()) > 0 {
			t.Errorf("%v: %s, want %s; lost: %q", in, got, want, lost(r))
		}
	}
	for in, want := range map[[4]string]string{
		{"own", "true", "a", "runtime: other, "}: `"other" is a runtime of the cluster's own`,
		{"own", "true", `"{{.Labels.x}}"`, ""}:   "has a template that is not filled in here",
	} {
		_, err := convert.Import(fmt.Appendf(nil, file, in[0], in[1], in[2], in[3]))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", in, err)
		}
	}
}
