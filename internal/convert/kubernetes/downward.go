package kubernetes

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// fieldWords are what a shell finds out where a pod would be told a field of
// itself.
var fieldWords = map[string]struct{ word, why string }{
	"metadata.name":      {`"$MUSTER_WORKLOAD-$MUSTER_TASK_INDEX"`, "the name of the workload and the task's number"},
	"metadata.namespace": {`"$MUSTER_PROJECT"`, "its project"},
	"metadata.uid":       {`"$POD_UUID"`, ""},
	"spec.nodeName":      {`"$MUSTER_NODE"`, ""},
	"status.podIP":       {podAddress, "its address"},
	"status.podIPs":      {podAddress, "its address"},
}

// podAddress is where a task is: of a gang as the others are told, else as the
// machine or container calls itself.
const podAddress = `"$(set -- $MUSTER_TASK_ADDRESSES; shift "${NODE_RANK:-0}" 2>/dev/null; if [ -n "$1" ]; then echo "$1"; else hostname -i 2>/dev/null | cut -d' ' -f1 | grep . || echo 127.0.0.1; fi)"`

// labelWords are labels and annotations that controllers give their pods.
var labelWords = map[string]string{
	"batch.kubernetes.io/job-completion-index":   `"$JOB_COMPLETION_INDEX"`,
	"job-completion-index":                       `"$JOB_COMPLETION_INDEX"`,
	"apps.kubernetes.io/pod-index":               `"$MUSTER_TASK_INDEX"`,
	"leaderworkerset.sigs.k8s.io/worker-index":   `"$NODE_RANK"`,
	"leaderworkerset.sigs.k8s.io/group-index":    `0`,
	"leaderworkerset.sigs.k8s.io/name":           `"$MUSTER_WORKLOAD"`,
	"leaderworkerset.sigs.k8s.io/group-key":      `"$MUSTER_WORKLOAD_ID"`,
	"leaderworkerset.sigs.k8s.io/leader-name":    `"$MUSTER_WORKLOAD-0"`,
	"jobset.sigs.k8s.io/jobset-name":             `"$MUSTER_WORKLOAD"`,
	"batch.kubernetes.io/job-name":               `"$MUSTER_WORKLOAD"`,
	"job-name":                                   `"$MUSTER_WORKLOAD"`,
	"ray.io/cluster":                             `"$MUSTER_WORKLOAD"`,
	"training.kubeflow.org/job-name":             `"$MUSTER_WORKLOAD"`,
	"training.kubeflow.org/replica-index":        `"` + rankInGroup + `"`,
	"controller-uid":                             `"$MUSTER_WORKLOAD_ID"`,
	"batch.kubernetes.io/controller-uid":         `"$MUSTER_WORKLOAD_ID"`,
	"leaderworkerset.sigs.k8s.io/size":           `"$NUM_NODES"`,
	"leaderworkerset.sigs.k8s.io/group-size":     `"$NUM_NODES"`,
	"leaderworkerset.sigs.k8s.io/leader-address": `"$MASTER_ADDR"`,
	"statefulset.kubernetes.io/pod-name":         `"$MUSTER_WORKLOAD-$MUSTER_TASK_INDEX"`,
}

// readFieldRef reads a variable that is a field of the pod itself.
func readFieldRef(k *reader, name string, v *source.Value, path string, doc *spec.Document) {
	path = strings.TrimSpace(path)
	switch {
	case name == "JOB_COMPLETION_INDEX" && strings.Contains(path, "job-completion-index"):
		v.Translated("", "tasks have it")
		return
	case name == "JOB_NAME" && path == "metadata.name":
		v.Translated("", "tasks have it")
		return
	}
	if text := k.ofOnlyPod(path); text != "" {
		doc.Env = source.Set(doc.Env, name, text)
		v.Translated("env."+name, "there is one pod, whose name the file says")
		return
	}
	if w, known := fieldWords[path]; known {
		compute(k, doc, name, w.word)
		v.Translated("command", w.why)
		return
	}
	key, of := "", map[string]string(nil)
	if at, is := strings.CutPrefix(path, "metadata.labels['"); is {
		key, of = strings.TrimSuffix(at, "']"), doc.Labels
	} else if at, is := strings.CutPrefix(path, "metadata.annotations['"); is {
		key, of = strings.TrimSuffix(at, "']"), doc.Annotations
	}
	if text, known := of[key]; known && key != "" {
		doc.Env = source.Set(doc.Env, name, text)
		v.Translated("env."+name, "the file says it")
		return
	}
	if word, known := labelWords[key]; known {
		compute(k, doc, name, word)
		v.Translated("command", "")
		return
	}
	v.Dropped("there is no such field; tasks have MUSTER_WORKLOAD, MUSTER_TASK_INDEX and MUSTER_NODE")
}

// ofOnlyPod is what a field of the only pod of an object is, where the file says it
// already; else empty.
func (k *reader) ofOnlyPod(path string) string {
	switch {
	case k.onlyPod == "":
	case path == "metadata.name", path == "metadata.labels['statefulset.kubernetes.io/pod-name']":
		return k.onlyPod
	case path == "metadata.labels['apps.kubernetes.io/pod-index']":
		return "0"
	}
	return ""
}

// resourceFieldRef reads a variable that is an amount which the container asks
// for, rounded up as Kubernetes does.
func resourceFieldRef(name string, v *source.Value, f *source.Map, doc *spec.Document) {
	resource, one := f.Consume("resource").Text(), spec.Quantity(1000)
	if d := f.Consume("divisor"); d != nil && d.Text() != "0" {
		one = max(1, d.Quantity())
	}
	f.Finish(source.Reasons{"containerName": "a task has one container"}, nil, false)
	q := spec.Quantity(0)
	switch strings.TrimPrefix(strings.TrimPrefix(resource, "limits."), "requests.") {
	case "cpu":
		q = doc.Resources.CPU
	case "memory":
		q = doc.Resources.Memory
	}
	if q <= 0 {
		v.Dropped("the container does not say how much it asks for; write the value")
		return
	}
	n := int64(q) / int64(one)
	if int64(q)%int64(one) > 0 {
		n++
	}
	doc.Env = source.Set(doc.Env, name, strconv.FormatInt(n, 10))
	v.Translated("env."+name, "what the container asks for")
}
