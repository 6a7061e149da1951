package kube

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
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// refusedFor is for how long a pod is left alone that the cluster did not let us
// place.
const refusedFor = 30 * time.Second

// bindForeign gives pods of others their places, those that start together all or
// none: one that is not there any more keeps the others back.
func (p *Backend) bindForeign(ctx context.Context, gang []backend.Assignment) error {
	todo := gang[:0:0]
	for _, a := range gang {
		if t, ok := p.tasks.get(a.ID); !ok || !t.seen.State.Ended() && !t.bound {
			todo = append(todo, a)
		}
	}
	missing := ""
	pods := make([]*corev1.Pod, len(todo))
	for i, a := range todo {
		pods[i] = p.groups.pod(a.Claim)
		if pods[i] == nil && missing == "" {
			missing = "a pod of it is gone"
		}
	}
	if missing != "" {
		for i, a := range todo {
			if pods[i] == nil {
				p.fails(a, lifecycle.ReasonKilled, "it was taken away before it had its place")
			} else {
				p.fails(a, podstatus.ReasonSystem, "it starts with others, and "+missing)
			}
		}
		return nil
	}
	if bars := p.takeAll(todo, pods); bars != "" {
		for i, a := range todo {
			p.fails(a, podstatus.ReasonSystem, bars)
			p.groups.refuse(pods[i].UID, bars)
		}
		return nil
	}
	at := make(map[core.TaskID]*corev1.Pod, len(todo))
	for i, a := range todo {
		at[a.ID] = pods[i]
		p.expect(a, pods[i])
	}
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return len(pod.Spec.ResourceClaims) > 0 }) {
		p.equipping.RLock() // what is allocated is not given back before it is bound
		defer p.equipping.RUnlock()
		err := apicall.Each(todo, apicall.MaxConcurrent, func(a backend.Assignment) error { return p.allocateForeign(ctx, &a, at[a.ID]) })
		if err != nil {
			return p.unbind(todo, pods, err)
		}
	}
	return apicall.Each(todo, apicall.MaxConcurrent, func(a backend.Assignment) error { return p.bindOne(ctx, a, at[a.ID]) })
}

// unbind takes back the start of pods whose claims could not all be met. What
// was allocated already is given back when it is next looked at.
func (p *Backend) unbind(todo []backend.Assignment, pods []*corev1.Pod, err error) error {
	for _, pod := range pods {
		p.placed.Release(pod)
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
		p.fails(a, podstatus.ReasonSystem, why)
		p.groups.refuse(pods[i].UID, why)
	}
	return nil
}

// takeAll holds the places of pods that start together, all or none; why it
// could not: others came to be where these may not be with them.
func (p *Backend) takeAll(todo []backend.Assignment, pods []*corev1.Pod) (bars string) {
	nodes := p.nodes.All()
	for i, a := range todo {
		if bars = p.placed.Hold(pods[i], p.nodeName(a.Node), nodes); bars != "" {
			for _, pod := range pods[:i] {
				p.placed.Release(pod)
			}
			return bars
		}
	}
	return ""
}

// pod is one that waits for its place; nil: there is none such.
func (x *podGroups) pod(uid string) *corev1.Pod {
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.pods[types.UID(uid)]
	if o == nil || podstatus.Finished(o.pod) || o.pod.DeletionTimestamp != nil {
		return nil
	}
	return o.pod
}

// expect notes what a pod of others is about to hold.
func (p *Backend) expect(a backend.Assignment, pod *corev1.Pod) {
	p.tasks.edit(a.ID, true, func(t *task) {
		t.space, t.name, t.uid, t.there, t.claim = pod.Namespace, pod.Name, pod.UID, true, a.Claim
		t.node, t.seen.Claim = p.nodeName(a.Node), a.Claim
	})
	p.nodes.Hold(p.nodeName(a.Node), a.ID, a.Devices)
}

// fails ends a task that did not come to have its place.
func (p *Backend) fails(a backend.Assignment, why lifecycle.Reason, message string) {
	p.tasks.edit(a.ID, true, func(t *task) {
		if !t.seen.State.Ended() {
			t.seen = backend.Observation{ID: a.ID, State: core.TaskFailed, Reason: string(why), Message: message, At: p.o.Clock(), Claim: a.Claim}
		}
		t.claim, t.there = a.Claim, false
	})
	p.nodes.Release(p.nodeName(a.Node), a.ID)
}

// bindOne binds a pod of others. What it is to us goes onto it in the same request,
// so that a server that begins anew knows it.
func (p *Backend) bindOne(ctx context.Context, a backend.Assignment, pod *corev1.Pod) error {
	node := p.nodeName(a.Node)
	refused := func(why string) error {
		p.placed.Release(pod)
		p.fails(a, podstatus.ReasonSystem, why)
		p.groups.refuse(pod.UID, why)
		return nil
	}
	if why := p.misses(ctx, pod, node); why != "" {
		return refused(why)
	}
	p.reserve(ctx, a.ID, pod, node)
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Annotations: p.marked(map[string]string{naming.NoteTask: a.ID.String(), naming.NoteDevices: naming.DevicesNote(a.Devices)})},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	err := p.client.CoreV1().Pods(pod.Namespace).Bind(ctx, b, metav1.CreateOptions{})
	fails := apicall.IsServerError(apicall.Classify(err)) && !apierrors.IsConflict(err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || fails {
		now, getErr := p.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case getErr == nil && now.UID == pod.UID && now.Annotations[naming.NoteTask] == a.ID.String() && now.Spec.NodeName == node:
			err = nil // an earlier try had come through
		case getErr == nil && now.UID == pod.UID && now.Spec.NodeName == "" && fails:
			err = apicall.Refuse(podstatus.ReasonSystem, "%v", apicall.Classify(err)) // others need not wait until it can be
		case getErr == nil || apierrors.IsNotFound(getErr):
			p.placed.Release(pod)
			p.fails(a, lifecycle.ReasonKilled, fmt.Sprintf("it was changed or deleted by someone else before it had its place: %v", err))
			return nil
		}
	}
	if refusal := apicall.RefusalOf(apicall.Classify(err)); refusal != nil {
		return refused(refusal.Message)
	}
	if err != nil {
		p.placed.Release(pod) // it is held again by the next try
		return apicall.Classify(err)
	}
	p.tasks.edit(a.ID, false, func(t *task) { t.bound = true })
	p.reporter.placed(pod, node)
	return nil
}

// refuse leaves a pod alone for a while, for a reason that shows.
func (x *podGroups) refuse(uid types.UID, why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	set := func(text string) {
		if o := x.pods[uid]; o != nil {
			o.refused = text
			if g := x.groups[o.group]; g != nil {
				x.marked[g.key] = true
			}
		}
	}
	set(why)
	x.fresh[uid] = true // what it needs may be known better by now
	x.after(refusedFor, func() { set("") })
	ring(x.wake)
}

// misses says which volume of a pod a node does not reach; empty: none, or nobody
// can tell, and then its node will. It may have been made since its place was
// chosen.
func (p *Backend) misses(ctx context.Context, pod *corev1.Pod, node string) string {
	n := p.nodes.Find(node)
	if n == nil {
		return ""
	}
	all, _, err := p.volumes.volumesOf(ctx, pod)
	if err != nil {
		p.limiter.Warn("where the volumes of a pod can be used could not be learnt", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
	for _, r := range all {
		if !r.Matches(n) {
			return fmt.Sprintf("one of its volumes can be used on nodes with %s only, and %s is none of them", r, node)
		}
	}
	return ""
}

// reserve has volumes made that wait for the place of their first pod. Until
// that has been, which may be after the pod has its place, the pod waits on its
// node, and says so there.
func (p *Backend) reserve(ctx context.Context, id core.TaskID, pod *corev1.Pod, node string) {
	for _, name := range claimsOf(pod) {
		err := p.choose(ctx, pod.Namespace, name, node)
		if err == nil {
			continue
		}
		p.limiter.Warn("a volume could not be asked for; trying again", "claim", pod.Namespace+"/"+name, "err", err)
		p.wg.Go(func() {
			p.limiter.Retry(p.ctx, "a volume could not be asked for", id, func() error {
				if t, ok := p.tasks.get(id); !ok || t.seen.State.Ended() || t.node != node {
					return nil // nobody needs it any more, or not there
				}
				return p.choose(p.ctx, pod.Namespace, name, node)
			})
		})
	}
}

// claimsOf are the claims of a pod's volumes. Those of volumes that come and go
// with it the cluster makes, under these names.
func claimsOf(pod *corev1.Pod) (out []string) {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// memberSeen takes over what a pod of others is like that has its place from us.
func (p *Backend) memberSeen(id core.TaskID, pod *corev1.Pod, first bool) {
	now := p.o.Clock()
	o := podstatus.OfForeign(id, pod)
	if o.At = podstatus.Precise(o.At, now); !first {
		o.At = now
	}
	p.tasks.edit(id, true, func(t *task) {
		if t.there && t.uid != pod.UID {
			return
		}
		t.space, t.name, t.uid, t.there, t.claim = pod.Namespace, pod.Name, pod.UID, true, string(pod.UID)
		t.main = podstatus.MainContainer(pod)
		t.node, t.bound = pod.Spec.NodeName, true
		t.explain(&o)
		if !t.seen.State.Ended() && !podstatus.Same(t.seen, o) {
			t.seen = o
		}
		t.seen.Claim = t.claim
	})
	p.nodes.Hold(pod.Spec.NodeName, id, naming.DevicesOf(pod.Annotations[naming.NoteDevices]))
	if podstatus.Finished(pod) {
		p.nodes.Release(pod.Spec.NodeName, id)
	}
	p.logs.PodSeen(id, pod)
}

// memberGone takes over that such a pod is not there any more.
func (p *Backend) memberGone(id core.TaskID, pod *corev1.Pod) {
	now := p.o.Clock()
	last := podstatus.OfForeign(id, pod)
	former, forgotten := false, false
	p.tasks.disown(pod.UID)
	p.tasks.edit(id, false, func(t *task) {
		if former = t.uid != pod.UID; former {
			return
		}
		t.there = false
		if forgotten = t.forgotten; t.seen.State.Ended() {
			return
		}
		if last.At = now; !last.State.Ended() {
			last = backend.Observation{ID: id, State: core.TaskFailed, Reason: string(lifecycle.ReasonKilled), Message: "its pod was deleted", At: now, Claim: string(pod.UID)}
			if t.stopping {
				last.Message = "it was ended"
			}
		}
		t.seen = last
	})
	if former {
		return // another pod is the task's by now
	}
	p.nodes.Release(pod.Spec.NodeName, id)
	p.logs.PodGone(id)
	if forgotten {
		p.drop(pod.Namespace, id)
	}
}
