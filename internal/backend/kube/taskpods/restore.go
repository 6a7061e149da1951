package taskpods

import (
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// Others may edit our pods: policies while they are made, people afterwards. By
// its UID a pod stays ours while this server runs; the next one must find its
// labels.

// marks are the labels and annotations by which a pod of ours is found.
func (p *Pods) marks(id core.TaskID) (labels, notes map[string]string) {
	return p.cluster.Marked(map[string]string{
		naming.LabelManaged: naming.Managed, naming.LabelWorkload: string(id.Workload), naming.LabelAttempt: strconv.Itoa(id.Attempt), naming.LabelIndex: strconv.Itoa(id.Index),
	}), map[string]string{naming.NoteTask: id.String()}
}

// lostLabels reports whether someone has changed what a pod of ours is found by, or it
// was made before installations had IDs.
func (p *Pods) lostLabels(pod *corev1.Pod, id core.TaskID) bool {
	labels, notes := p.marks(id)
	for k, v := range labels {
		if pod.Labels[k] != v {
			return true
		}
	}
	return pod.Annotations[naming.NoteTask] != notes[naming.NoteTask]
}

// restoreMost is how often what others do to one pod is undone: with a program
// that insists it is not quarrelled for ever.
const restoreMost = 5

// restore puts the labels of a pod of ours back.
func (p *Pods) restore(pod *corev1.Pod, id core.TaskID) {
	enough := false
	p.Tasks.Edit(id, false, func(t *tasks.Task) {
		enough = t.Uid != pod.UID || t.Restored >= restoreMost
		t.Restored++
	})
	if enough {
		return
	}
	labels, notes := p.marks(id)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "labels": labels, "annotations": notes}})
	if err != nil {
		return
	}
	if pod.Labels[naming.LabelInstallation] != "" || p.cluster.Options.Installation == "" {
		p.cluster.Options.Log.Warn("someone changed the labels of a pod by which it is found; they are put back", "backend", p.cluster.Options.Name, "task", id, "pod", pod.Namespace+"/"+pod.Name)
	}
	p.cluster.Running.Go(func() {
		if !p.cluster.Limiter.Acquire(p.cluster.Context) { // after an upgrade all pods may lack one
			return
		}
		defer p.cluster.Limiter.Release()
		_, err := p.cluster.Client.CoreV1().Pods(pod.Namespace).Patch(p.cluster.Context, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: naming.Managed})
		if err != nil && p.cluster.Context.Err() == nil {
			p.cluster.Options.Log.Warn("the labels of a pod could not be put back: a server that begins anew will not find it", "backend", p.cluster.Options.Name, "task", id, "err", err)
		}
	})
}
