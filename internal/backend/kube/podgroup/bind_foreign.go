package podgroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/backend/kube/volume"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// refusedFor is for how long a pod is left alone that the cluster did not let us
// place.
const refusedFor = 30 * time.Second

// BindForeign gives pods of others their places, those that start together all or
// none: one that is not there any more keeps the others back.
func (x *Groups) BindForeign(ctx context.Context, gang []backend.Assignment) error {
	todo := gang[:0:0]
	for _, a := range gang {
		if t, ok := x.tasks.Get(a.ID); !ok || !t.Seen.State.Ended() && !t.Bound {
			todo = append(todo, a)
		}
	}
	missing := ""
	pods := make([]*corev1.Pod, len(todo))
	for i, a := range todo {
		pods[i] = x.pod(a.Claim)
		if pods[i] == nil && missing == "" {
			missing = "a pod of it is gone"
		}
	}
	if missing != "" {
		for i, a := range todo {
			if pods[i] == nil {
				x.fails(a, lifecycle.ReasonKilled, "it was taken away before it had its place")
			} else {
				x.fails(a, podstatus.ReasonSystem, "it starts with others, and "+missing)
			}
		}
		return nil
	}
	if bars := x.takeAll(todo, pods); bars != "" {
		for i, a := range todo {
			x.fails(a, podstatus.ReasonSystem, bars)
			x.refuse(pods[i].UID, bars)
		}
		return nil
	}
	at := make(map[core.TaskID]*corev1.Pod, len(todo))
	for i, a := range todo {
		at[a.ID] = pods[i]
		x.Expect(a, pods[i])
	}
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return len(pod.Spec.ResourceClaims) > 0 }) {
		x.equipping.RLock() // what is allocated is not given back before it is bound
		defer x.equipping.RUnlock()
		err := apicall.Each(todo, apicall.MaxConcurrent, func(a backend.Assignment) error { return x.AllocateForeign(ctx, &a, at[a.ID]) })
		if err != nil {
			return x.unbind(todo, pods, err)
		}
	}
	return apicall.Each(todo, apicall.MaxConcurrent, func(a backend.Assignment) error { return x.bindOne(ctx, a, at[a.ID]) })
}

// unbind takes back the start of pods whose claims could not all be met. What
// was allocated already is given back when it is next looked at.
func (x *Groups) unbind(todo []backend.Assignment, pods []*corev1.Pod, err error) error {
	for _, pod := range pods {
		x.p.Placed.Release(pod)
	}
	r := apicall.RefusalOf(err)
	if r == nil && !apicall.IsServerError(err) {
		return err
	}
	why := err.Error()
	if r != nil {
		why = r.Message
	}
	for i, a := range todo {
		x.fails(a, podstatus.ReasonSystem, why)
		x.refuse(pods[i].UID, why)
	}
	return nil
}

// takeAll holds the places of pods that start together, all or none; why it
// could not: others came to be where these may not be with them.
func (x *Groups) takeAll(todo []backend.Assignment, pods []*corev1.Pod) (bars string) {
	nodes := x.p.NodeInfo.All()
	for i, a := range todo {
		if bars = x.p.Placed.Hold(pods[i], x.p.NodeName(a.Node), nodes); bars != "" {
			for _, pod := range pods[:i] {
				x.p.Placed.Release(pod)
			}
			return bars
		}
	}
	return ""
}

// pod is one that waits for its place; nil: there is none such.
func (x *Groups) pod(uid string) *corev1.Pod {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	o := x.Pods[types.UID(uid)]
	if o == nil || podstatus.Finished(o.Pod) || o.Pod.DeletionTimestamp != nil {
		return nil
	}
	return o.Pod
}

// Expect notes what a pod of others is about to hold.
func (x *Groups) Expect(a backend.Assignment, pod *corev1.Pod) {
	x.tasks.Edit(a.ID, true, func(t *tasks.Task) {
		t.Space, t.Name, t.Uid, t.There, t.Claim = pod.Namespace, pod.Name, pod.UID, true, a.Claim
		t.Node, t.Seen.Claim = x.p.NodeName(a.Node), a.Claim
	})
	x.p.NodeInfo.Hold(x.p.NodeName(a.Node), a.ID, a.Devices)
}

// fails ends a task that did not come to have its place.
func (x *Groups) fails(a backend.Assignment, why lifecycle.Reason, message string) {
	x.tasks.Edit(a.ID, true, func(t *tasks.Task) {
		if !t.Seen.State.Ended() {
			t.Seen = backend.Observation{ID: a.ID, State: core.TaskFailed, Reason: string(why), Message: message, At: x.p.Options.Clock(), Claim: a.Claim}
		}
		t.Claim, t.There = a.Claim, false
	})
	x.p.NodeInfo.Release(x.p.NodeName(a.Node), a.ID)
}

// bindOne binds a pod of others. What it is to us goes onto it in the same request,
// so that a server that begins anew knows it.
func (x *Groups) bindOne(ctx context.Context, a backend.Assignment, pod *corev1.Pod) error {
	node := x.p.NodeName(a.Node)
	refused := func(why string) error {
		x.p.Placed.Release(pod)
		x.fails(a, podstatus.ReasonSystem, why)
		x.refuse(pod.UID, why)
		return nil
	}
	if why := x.Misses(ctx, pod, node); why != "" {
		return refused(why)
	}
	x.Reserve(ctx, a.ID, pod, node)
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Annotations: x.p.Marked(map[string]string{naming.NoteTask: a.ID.String(), naming.NoteDevices: naming.DevicesNote(a.Devices)})},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	err := x.p.Client.CoreV1().Pods(pod.Namespace).Bind(ctx, b, metav1.CreateOptions{})
	fails := apicall.IsServerError(apicall.Classify(err)) && !apierrors.IsConflict(err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || fails {
		now, getErr := x.p.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case getErr == nil && now.UID == pod.UID && now.Annotations[naming.NoteTask] == a.ID.String() && now.Spec.NodeName == node:
			err = nil // an earlier try had come through
		case getErr == nil && now.UID == pod.UID && now.Spec.NodeName == "" && fails:
			err = apicall.Refuse(podstatus.ReasonSystem, "%v", apicall.Classify(err)) // others need not wait until it can be
		case getErr == nil || apierrors.IsNotFound(getErr):
			x.p.Placed.Release(pod)
			x.fails(a, lifecycle.ReasonKilled, fmt.Sprintf("it was changed or deleted by someone else before it had its place: %v", err))
			return nil
		}
	}
	if refusal := apicall.RefusalOf(apicall.Classify(err)); refusal != nil {
		return refused(refusal.Message)
	}
	if err != nil {
		x.p.Placed.Release(pod) // it is held again by the next try
		return apicall.Classify(err)
	}
	x.tasks.Edit(a.ID, false, func(t *tasks.Task) { t.Bound = true })
	x.reporter.placed(pod, node)
	return nil
}

// refuse leaves a pod alone for a while, for a reason that shows.
func (x *Groups) refuse(uid types.UID, why string) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	set := func(text string) {
		if o := x.Pods[uid]; o != nil {
			o.refused = text
			if g := x.Groups[o.group]; g != nil {
				x.Marked[g.key] = true
			}
		}
	}
	set(why)
	x.fresh[uid] = true // what it needs may be known better by now
	x.after(refusedFor, func() { set("") })
	ring(x.Wake)
}

// Misses says which volume of a pod a node does not reach; empty: none, or nobody
// can tell, and then its node will. It may have been made since its place was
// chosen.
func (x *Groups) Misses(ctx context.Context, pod *corev1.Pod, node string) string {
	n := x.p.NodeInfo.Find(node)
	if n == nil {
		return ""
	}
	all, _, err := x.volumes.VolumesOf(ctx, pod)
	if err != nil {
		x.p.Limiter.Warn("where the volumes of a pod can be used could not be learnt", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
	for _, r := range all {
		if !r.Matches(n) {
			return fmt.Sprintf("one of its volumes can be used on nodes with %s only, and %s is none of them", r, node)
		}
	}
	return ""
}

// Reserve has volumes made that wait for the place of their first pod. Until
// that has been, which may be after the pod has its place, the pod waits on its
// node, and says so there.
func (x *Groups) Reserve(ctx context.Context, id core.TaskID, pod *corev1.Pod, node string) {
	for _, name := range volume.ClaimsOf(pod) {
		err := x.volumes.Choose(ctx, pod.Namespace, name, node)
		if err == nil {
			continue
		}
		x.p.Limiter.Warn("a volume could not be asked for; trying again", "claim", pod.Namespace+"/"+name, "err", err)
		x.p.Running.Go(func() {
			x.p.Limiter.Retry(x.p.Context, "a volume could not be asked for", id, func() error {
				if t, ok := x.tasks.Get(id); !ok || t.Seen.State.Ended() || t.Node != node {
					return nil // nobody needs it any more, or not there
				}
				return x.volumes.Choose(x.p.Context, pod.Namespace, name, node)
			})
		})
	}
}

// memberSeen takes over what a pod of others is like that has its place from us.
func (x *Groups) memberSeen(id core.TaskID, pod *corev1.Pod, first bool) {
	now := x.p.Options.Clock()
	o := podstatus.OfForeign(id, pod)
	if o.At = podstatus.Precise(o.At, now); !first {
		o.At = now
	}
	x.tasks.Edit(id, true, func(t *tasks.Task) {
		if t.There && t.Uid != pod.UID {
			return
		}
		t.Space, t.Name, t.Uid, t.There, t.Claim = pod.Namespace, pod.Name, pod.UID, true, string(pod.UID)
		t.Main = podstatus.MainContainer(pod)
		t.Node, t.Bound = pod.Spec.NodeName, true
		t.Explain(&o)
		if !t.Seen.State.Ended() && !podstatus.Same(t.Seen, o) {
			t.Seen = o
		}
		t.Seen.Claim = t.Claim
	})
	x.p.NodeInfo.Hold(pod.Spec.NodeName, id, naming.DevicesOf(pod.Annotations[naming.NoteDevices]))
	if podstatus.Finished(pod) {
		x.p.NodeInfo.Release(pod.Spec.NodeName, id)
	}
	x.logs.PodSeen(id, pod)
}

// MemberGone takes over that such a pod is not there any more.
func (x *Groups) MemberGone(id core.TaskID, pod *corev1.Pod) {
	now := x.p.Options.Clock()
	last := podstatus.OfForeign(id, pod)
	former, forgotten := false, false
	x.tasks.Disown(pod.UID)
	x.tasks.Edit(id, false, func(t *tasks.Task) {
		if former = t.Uid != pod.UID; former {
			return
		}
		t.There = false
		if forgotten = t.Forgotten; t.Seen.State.Ended() {
			return
		}
		if last.At = now; !last.State.Ended() {
			last = backend.Observation{ID: id, State: core.TaskFailed, Reason: string(lifecycle.ReasonKilled), Message: "its pod was deleted", At: now, Claim: string(pod.UID)}
			if t.Stopping {
				last.Message = "it was ended"
			}
		}
		t.Seen = last
	})
	if former {
		return // another pod is the task's by now
	}
	x.p.NodeInfo.Release(pod.Spec.NodeName, id)
	x.logs.PodGone(id)
	if forgotten {
		x.drop(pod.Namespace, id)
	}
}
