package kubernetes

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
)

// alternatives are kinds of which no document can be made, and what does work.
// In a cluster all of them work as they are: their pods are placed like ours.
var alternatives = map[string]string{
	"DaemonSet":              "a daemon of every node is the cluster's own matter",
	"ReplicationController":  "write it as a Deployment",
	"SeldonDeployment":       "write the predictor's container as a Deployment",
	"VirtualMachineInstance": "workloads are processes and containers",
	"ScheduledWorkflow":      "write its steps as Jobs, which wait for each other with after; a CronJob of one that submits them is a schedule",
	"Workflow":               "write its steps as Jobs, which wait for each other with after",
	"PipelineRun":            "write its tasks as Jobs, which wait for each other with after",
	"TaskRun":                "write its steps as a Job",
	"AmlJob":                 "write it as a Job or PyTorchJob",
	"DevWorkspace":           "write its container as a Pod that is always started again, which is a workspace",
	"InteractiveWorkload":    "write runai workspace submit, or a Pod that is always started again",
	"TrainingWorkload":       "write runai training submit, or a Job",
	"DistributedWorkload":    "write runai training pytorch submit, or a PyTorchJob",
	"InferenceWorkload":      "write runai inference submit, or a Deployment",
}

// elsewhere refuses a kind of which no document can be made.
func elsewhere(v *source.Value, kind string) {
	read := "kinds that are read: " + strings.Join(source.SortedKeys(kinds), ", ") + " and the Service of Knative"
	if what, known := alternatives[kind]; known {
		v.Refuse(fmt.Sprintf("no document can be made of a %s", kind), what+"; in a cluster its pods are placed like any others where they say schedulerName: muster (docs/pods-of-others.md)")
		return
	}
	v.Refuse(fmt.Sprintf("%q is not a kind that is read", source.Shorten(kind)), read+"; in a cluster pods of every kind are placed where they say schedulerName: muster")
}
