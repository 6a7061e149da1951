package kube

import (
	"context"
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/plane"
)

// taskOf is the task of a pod that we made.
func taskOf(pod *corev1.Pod) (core.TaskID, bool) {
	if pod.Labels[labelManaged] != managed {
		return core.TaskID{}, false
	}
	id, err := core.ParseTaskID(pod.Annotations[noteTask])
	return id, err == nil
}

// podSeen takes over what a pod is like. first: it was there when we began.
func (p *Plane) podSeen(pod *corev1.Pod, first bool) {
	if p.parts.seen(pod) {
		return
	}
	id, ok := taskOf(pod)
	if !ok {
		p.cluster.foreign(pod)
		return
	}
	now := p.o.Clock()
	o := status(id, pod)
	shareNote(&o, pod)
	if o.At = fresh(o.At, now); !first {
		o.At = now
	}
	hopeless := false
	p.tasks.edit(id, true, func(t *task) {
		if t.there && t.uid != pod.UID {
			return // a late word of a pod that has been replaced
		}
		t.space, t.name, t.uid, t.there = pod.Namespace, pod.Name, pod.UID, true
		t.secret = pod.Annotations[noteSecret] != ""
		t.node, t.bound = pod.Spec.NodeName, pod.Spec.NodeName != ""
		if t.seen.State.Ended() {
			return
		}
		t.pulls(&o, pod)
		if !alike(t.seen, o) {
			t.seen = o
		}
		hopeless = o.State.Ended() && !finished(pod)
	})
	if pod.Spec.Subdomain != "" {
		p.served.Store(attemptOf{id.Workload, id.Attempt}, true)
	}
	if pod.Spec.NodeName != "" {
		p.cluster.hold(pod.Spec.NodeName, id, devicesOf(pod.Annotations[noteDevices]))
	}
	p.parts.taskSeen(id, pod)
	p.logs.seen(id, pod)
	if hopeless {
		p.wg.Go(func() { p.discard(p.ctx, id) })
	}
}

// pulls counts the tries to pull an image, and ends them where they are enough.
func (t *task) pulls(o *plane.Observation, pod *corev1.Pod) {
	if o.State != core.TaskStarting || !pullFails(o.Waiting) {
		return
	}
	if !pullFails(t.seen.Waiting) || isTry(o.Waiting) && !isTry(t.seen.Waiting) {
		t.tries++
	}
	most, err := strconv.Atoi(pod.Annotations[notePulls])
	if err != nil {
		most = 0
	}
	if t.tries > most {
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonFailedImagePull)
		o.Waiting = ""
	}
}

// alike reports whether b says nothing that a did not.
func alike(a, b plane.Observation) bool {
	return a.State == b.State && a.Waiting == b.Waiting && a.Reason == b.Reason && a.Message == b.Message
}

// finished reports whether nothing of a pod runs any more.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podGone takes over that a pod is not there any more.
func (p *Plane) podGone(pod *corev1.Pod) {
	if p.parts.gone(pod) {
		return
	}
	id, ok := taskOf(pod)
	if !ok {
		p.cluster.foreignGone(pod.UID)
		return
	}
	now := p.o.Clock()
	last := status(id, pod)
	forgotten := false
	var next *plane.Assignment
	p.tasks.edit(id, false, func(t *task) {
		if t.uid != pod.UID {
			return
		}
		t.there = false
		forgotten, next = t.forgotten, t.next
		if t.seen.State.Ended() {
			return
		}
		if last.At = now; !last.State.Ended() {
			last = plane.Observation{ID: id, State: core.TaskLost, Reason: string(lifecycle.ReasonOutcomeUnknown), Message: "its pod was deleted by someone else", At: now}
			if t.stopping {
				last.Reason, last.Message = string(lifecycle.ReasonKilled), "it was ended"
			}
		}
		t.seen = last
	})
	p.cluster.release(pod.Spec.NodeName, id)
	if pod.Annotations[noteGPUs] != "" {
		p.parts.leave(id, pod.UID)
	}
	p.logs.gone(id)
	if forgotten {
		p.drop(pod.Namespace, id, next)
	}
}

// drop forgets a task whose pod is gone, and starts it again where that waits.
func (p *Plane) drop(space string, id core.TaskID, next *plane.Assignment) {
	p.tasks.drop(id)
	if next != nil {
		p.wg.Go(func() {
			p.insist(p.ctx, "a task could not be started again", id, func() error { return p.launch(p.ctx, []plane.Assignment{*next}) })
		})
		return
	}
	if p.serving(id) {
		p.wg.Go(func() {
			p.insist(p.ctx, "the service of an attempt could not be removed", id, func() error { return p.unserve(p.ctx, space, id) })
		})
	}
}

// insist does f until it succeeds, with pauses that grow.
func (p *Plane) insist(ctx context.Context, what string, id core.TaskID, f func() error) {
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		err := f()
		if err == nil || ctx.Err() != nil {
			return
		}
		p.o.Log.Warn(what+"; trying again", "plane", p.o.Name, "task", id, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// Stop implements plane.Plane.
func (p *Plane) Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error {
	if err := p.sync(ctx); err != nil {
		return err
	}
	after := seconds(grace)
	return each(ids, atOnce, func(id core.TaskID) error {
		var t task
		p.tasks.edit(id, false, func(x *task) {
			x.stopping, x.next = true, nil
			t = *x
		})
		p.parts.cancel(id)
		if !t.there || t.seen.State.Ended() {
			return nil
		}
		return p.delete(ctx, &t, &after)
	})
}

// delete asks for the end of a task's pod.
func (p *Plane) delete(ctx context.Context, t *task, grace *int64) error {
	err := p.client.CoreV1().Pods(t.space).Delete(ctx, t.name, metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &t.uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or another has its name
	}
	return err
}

// seconds is a grace as Kubernetes counts it. Less than one would end a pod
// without waiting for its node to say so.
func seconds(d time.Duration) int64 { return max(int64(math.Ceil(d.Seconds())), 1) }

// Forget implements plane.Plane. What a task wrote is fetched first.
func (p *Plane) Forget(ctx context.Context, ids []core.TaskID) error {
	if err := p.sync(ctx); err != nil {
		return err
	}
	for _, id := range ids {
		p.tasks.edit(id, false, func(t *task) {
			if t.seen.State.Ended() {
				t.forgotten = true
			}
		})
		if t, ok := p.tasks.get(id); ok && t.forgotten {
			p.wg.Go(func() {
				p.logs.whole(p.ctx, id)
				p.discard(p.ctx, id)
			})
		}
	}
	return nil
}

// discard removes what the cluster has of a task that has ended.
func (p *Plane) discard(ctx context.Context, id core.TaskID) {
	p.insist(ctx, "what is left of a task could not be removed", id, func() error { return p.remove(ctx, id) })
}

func (p *Plane) remove(ctx context.Context, id core.TaskID) error {
	t, ok := p.tasks.get(id)
	if !ok {
		return nil
	}
	if t.name != "" && t.secret {
		err := p.client.CoreV1().Secrets(t.space).Delete(ctx, t.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	if t.there {
		return p.delete(ctx, &t, nil)
	}
	if t.forgotten {
		p.drop(t.space, id, t.next)
	}
	return nil
}

func pullFails(word string) bool { return isTry(word) || trimInit(word) == "ImagePullBackOff" }

func isTry(word string) bool { return trimInit(word) == "ErrImagePull" }

func trimInit(word string) string {
	if len(word) > 5 && word[:5] == "Init:" {
		return word[5:]
	}
	return word
}
