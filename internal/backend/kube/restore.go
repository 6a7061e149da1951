package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// Others may edit our pods: policies while they are made, people afterwards. By
// its UID a pod stays ours while this server runs; the next one must find its
// labels.

// marks are the labels and annotations by which a pod of ours is found.
func (p *Backend) marks(id core.TaskID) (labels, notes map[string]string) {
	return p.marked(map[string]string{
		naming.LabelManaged: naming.Managed, naming.LabelWorkload: string(id.Workload), naming.LabelAttempt: strconv.Itoa(id.Attempt), naming.LabelIndex: strconv.Itoa(id.Index),
	}), map[string]string{naming.NoteTask: id.String()}
}

// lostLabels reports whether someone has changed what a pod of ours is found by, or it
// was made before installations had IDs.
func (p *Backend) lostLabels(pod *corev1.Pod, id core.TaskID) bool {
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
func (p *Backend) restore(pod *corev1.Pod, id core.TaskID) {
	enough := false
	p.tasks.edit(id, false, func(t *task) {
		enough = t.uid != pod.UID || t.restored >= restoreMost
		t.restored++
	})
	if enough {
		return
	}
	labels, notes := p.marks(id)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "labels": labels, "annotations": notes}})
	if err != nil {
		return
	}
	if pod.Labels[naming.LabelInstallation] != "" || p.o.Installation == "" {
		p.o.Log.Warn("someone changed the labels of a pod by which it is found; they are put back", "backend", p.o.Name, "task", id, "pod", pod.Namespace+"/"+pod.Name)
	}
	p.wg.Go(func() {
		if !p.limiter.Acquire(p.ctx) { // after an upgrade all pods may lack one
			return
		}
		defer p.limiter.Release()
		_, err := p.client.CoreV1().Pods(pod.Namespace).Patch(p.ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: naming.Managed})
		if err != nil && p.ctx.Err() == nil {
			p.o.Log.Warn("the labels of a pod could not be put back: a server that begins anew will not find it", "backend", p.o.Name, "task", id, "err", err)
		}
	})
}

// changes says what others have made of a pod while it was created; empty:
// nothing that matters.
func changes(want, got *corev1.Pod) string {
	var out []string
	say := func(what string, was, is any) {
		if was != is {
			out = append(out, fmt.Sprintf("%s %v → %v", what, was, is))
		}
	}
	w, g := &want.Spec, &got.Spec
	say("schedulerName", w.SchedulerName, g.SchedulerName)
	say("restartPolicy", w.RestartPolicy, g.RestartPolicy)
	if g.ActiveDeadlineSeconds != nil && w.ActiveDeadlineSeconds == nil {
		out = append(out, fmt.Sprintf("activeDeadlineSeconds %d", *g.ActiveDeadlineSeconds))
	}
	say("init containers", len(w.InitContainers), len(g.InitContainers))
	say("containers", len(w.Containers), len(g.Containers))
	a, b := containerOf(w.Containers), containerOf(g.Containers)
	if a == nil || b == nil {
		return strings.Join(out, ", ")
	}
	say("image", a.Image, b.Image)
	say("command", strings.Join(append(slices.Clone(a.Command), a.Args...), " "), strings.Join(append(slices.Clone(b.Command), b.Args...), " "))
	was, is := resources.Requests(a), resources.Requests(b)
	var names []string
	for name := range was {
		names = append(names, string(name))
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, now := was[corev1.ResourceName(name)], is[corev1.ResourceName(name)]
		if before.Cmp(now) != 0 {
			say(name, before.String(), now.String())
		}
	}
	return strings.Join(out, ", ")
}

func containerOf(all []corev1.Container) *corev1.Container {
	for i := range all {
		if all[i].Name == naming.Container {
			return &all[i]
		}
	}
	return nil
}

// clash refuses a task one of whose objects has the name of another's.
func clash(kind string, m *metav1.ObjectMeta) error {
	return apicall.Refuse(podstatus.ReasonSystem, "a %s that is not ours has the name of its own, %s/%s: delete it, or give the workload another name", kind, m.Namespace, m.Name)
}

// createSecret makes the secret beside a pod, unless it was made before.
func (p *Backend) createSecret(ctx context.Context, id core.TaskID, s *corev1.Secret) error {
	secrets := p.client.CoreV1().Secrets(s.Namespace)
	made, err := secrets.Create(ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if made, err = secrets.Get(ctx, s.Name, metav1.GetOptions{}); err == nil && made.Annotations[naming.NoteTask] != id.String() {
			return clash("secret", &made.ObjectMeta)
		}
	}
	if err != nil {
		return apicall.Classify(err)
	}
	p.tasks.edit(id, true, func(t *task) {
		t.space, t.name, t.secret, t.secretUID = s.Namespace, s.Name, true, made.UID
	})
	return nil
}
