package kube

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// taskOf is the task of a pod that we made. A copy of one has another name: it
// is not ours, whatever is written on it.
func (p *Backend) taskOf(pod *corev1.Pod) (core.TaskID, bool) {
	if pod.Labels[naming.LabelManaged] != naming.Managed || !p.mine(pod.Labels) {
		return core.TaskID{}, false
	}
	id, err := core.ParseTaskID(pod.Annotations[naming.NoteTask])
	return id, err == nil && strings.HasSuffix(pod.Name, naming.PodName("", id)[1:])
}

// idOf is the task of a pod: a pod that was ours stays so, whatever others make
// of its labels; and a task has one pod.
func (p *Backend) idOf(pod *corev1.Pod) (core.TaskID, bool) {
	if id, ok := p.tasks.owner(pod.UID); ok {
		return id, true
	}
	id, ok := p.taskOf(pod)
	if t, known := p.tasks.get(id); ok && known && t.there && t.uid != pod.UID {
		return id, false
	}
	return id, ok
}

// podSeen takes over what a pod is like. first: it was there when we began.
func (p *Backend) podSeen(pod *corev1.Pod, first bool) {
	p.moved(p.placed.Seen(pod))
	if p.fractions.seen(pod) {
		return
	}
	if p.outside(pod) {
		p.groups.seen(pod, first)
		return
	}
	id, ok := p.idOf(pod)
	if !ok {
		p.nodes.ForeignPod(pod)
		return
	}
	now := p.o.Clock()
	dying := pod.DeletionTimestamp != nil && p.namespaces.Deleting(pod.Namespace)
	over := false
	p.tasks.edit(id, true, func(t *task) {
		if t.there && t.uid != pod.UID {
			return // a late word of a pod that has been replaced
		}
		if t.uid != pod.UID {
			t.by, t.word = nil, "" // they were of a pod before
		}
		t.space, t.name, t.uid, t.there = pod.Namespace, pod.Name, pod.UID, true
		t.secret = t.secret || pod.Annotations[naming.NoteSecret] != ""
		t.node, t.bound = pod.Spec.NodeName, pod.Spec.NodeName != ""
		if t.seen.State.Ended() {
			return
		}
		if by := podstatus.DisruptionCondition(pod); by != nil {
			t.by = by // others may write over the pod's conditions before it ends
		}
		o := podstatus.Of(id, pod, podstatus.Context{Stopping: t.stopping, Dying: dying, DisruptedBy: t.by})
		shareNote(&o, pod)
		if o.At = podstatus.Precise(o.At, now); !first {
			o.At = now
		}
		t.pulls(&o, pod)
		t.waits(&o, podstatus.NothingStarted(pod), now)
		t.explain(&o)
		if !podstatus.Same(t.seen, o) {
			t.seen = o
		}
		// What has run is kept with its outcome until it is forgotten; what never
		// will would be tried for ever.
		over = o.State.Ended() && !podstatus.Finished(pod) && podstatus.EndOf(podstatus.ContainerStatus(pod.Status.ContainerStatuses, naming.Container)) == nil
	})
	if pod.Spec.Subdomain != "" {
		p.served.Store(attemptOf{id.Workload, id.Attempt}, true)
	}
	if pod.Spec.NodeName != "" {
		p.nodes.Hold(pod.Spec.NodeName, id, naming.DevicesOf(pod.Annotations[naming.NoteDevices]))
		p.nodes.Exceed(pod.Spec.NodeName, id, resources.Excess(pod))
	}
	p.fractions.taskSeen(id, pod)
	p.logs.PodSeen(id, pod)
	if p.lostLabels(pod, id) {
		p.restore(pod, id)
	}
	if over {
		p.wg.Go(func() { p.discard(p.ctx, id) })
	}
}

// pulls counts the tries to pull an image, and ends them where they are enough.
func (t *task) pulls(o *backend.Observation, pod *corev1.Pod) {
	if o.State != core.TaskStarting || !podstatus.PullFails(o.Waiting) {
		return
	}
	if !podstatus.PullFails(t.seen.Waiting) || podstatus.IsPullAttempt(o.Waiting) && !podstatus.IsPullAttempt(t.seen.Waiting) {
		t.tries++
	}
	most, err := strconv.Atoi(pod.Annotations[naming.NotePulls])
	if err != nil {
		most = 0
	}
	if t.endless = most < 0; t.tries > most && !t.endless {
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonFailedImagePull)
		o.Waiting = ""
	}
}

// explain adds to what a pod says what is known from elsewhere.
func (t *task) explain(o *backend.Observation) {
	switch {
	case o.State == core.TaskRunning && t.stuck != "":
		o.Message = t.stuck
	case o.Reason == string(podstatus.ReasonSystem) && t.changed != "":
		o.Message += "; the cluster had changed its pod when it was made: " + t.changed
	}
}

// podGone takes over that a pod is not there any more. unseen: it went while
// nothing was heard of the cluster, and pod is from before.
func (p *Backend) podGone(pod *corev1.Pod, unseen bool) {
	p.moved(p.placed.Gone(pod))
	if p.fractions.gone(pod) {
		return
	}
	if p.outside(pod) {
		p.groups.podGone(pod)
		return
	}
	id, ok := p.idOf(pod)
	p.tasks.disown(pod.UID)
	p.nodes.ForeignPodGone(pod.UID) // where it was none of ours at some time
	if !ok {
		return
	}
	now := p.o.Clock()
	dying := p.namespaces.Deleting(pod.Namespace)
	former, forgotten := false, false
	p.tasks.edit(id, false, func(t *task) {
		if former = t.uid != pod.UID; former {
			return
		}
		t.there = false
		forgotten = t.forgotten
		if t.seen.State.Ended() {
			return
		}
		last := podstatus.Of(id, pod, podstatus.Context{Stopping: t.stopping, Dying: dying, DisruptedBy: t.by})
		if last.At = now; !last.State.Ended() {
			last = backend.Observation{ID: id, State: core.TaskLost, At: now}
			switch {
			case t.stopping:
				last.Reason, last.Message = string(lifecycle.ReasonKilled), "it was ended"
			case unseen:
				last.Reason, last.Message = string(lifecycle.ReasonOutcomeUnknown), "its pod was deleted while the cluster could not be watched, and nobody saw how it ended"
			case t.by != nil:
				last.Reason, last.Message = string(t.by.Reason), t.by.Message
			default:
				last.Reason, last.Message = string(podstatus.ReasonSystem), podstatus.DeletedMessage(pod, dying)
			}
		}
		t.seen = last
	})
	if former {
		return // another pod is the task's by now
	}
	p.nodes.Release(pod.Spec.NodeName, id)
	if pod.Annotations[naming.NoteFractionDevices] != "" {
		p.fractions.leave(id, pod.UID)
	}
	p.logs.PodGone(id)
	if forgotten {
		p.drop(pod.Namespace, id)
	}
}

// drop forgets a task whose pod is gone, and starts it again where that waits.
func (p *Backend) drop(space string, id core.TaskID) {
	if next := p.tasks.drop(id); next != nil {
		p.wg.Go(func() {
			p.limiter.Retry(p.ctx, "a task could not be started again", id, func() error { return p.launch(p.ctx, []backend.Assignment{*next}) })
		})
		return
	}
	if p.serving(id) {
		p.wg.Go(func() {
			p.limiter.Retry(p.ctx, "the service of an attempt could not be removed", id, func() error { return p.unserve(p.ctx, space, id) })
		})
	}
}

// Stop implements backend.Backend.
func (p *Backend) Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error {
	if err := p.sync(ctx); err != nil {
		return err
	}
	after := seconds(grace)
	return apicall.Each(ids, apicall.MaxConcurrent, func(id core.TaskID) error {
		var t task
		until, sooner := p.o.Clock().Add(time.Duration(after)*time.Second), false
		p.tasks.edit(id, false, func(x *task) {
			x.stopping, x.next = true, nil
			sooner = !x.until.IsZero() && until.Before(x.until)
			if x.until.IsZero() || sooner {
				x.until = until
			}
			t = *x
		})
		p.fractions.cancel(id)
		if !t.there || t.seen.State.Ended() {
			return nil
		}
		var err error
		if t.claim == "" {
			err = p.delete(ctx, &t, &after)
		} else {
			p.reportDisruption(ctx, &t)
			var held bool
			if held, err = p.evict(ctx, &t, &after); held {
				p.await(id, err, after)
				return nil
			}
		}
		if err == nil && sooner && t.claim == "" {
			p.wg.Go(func() { p.forceDelete(id, until) })
		}
		if err = apicall.Classify(err); apicall.RefusalOf(err) != nil || apicall.IsServerError(err) {
			p.mayNotEnd(id, err, after)
			return nil // asking again at once does not help, and others would have to wait
		}
		return err
	})
}

// stick has a task say why it does not end; already: it has said so before, and
// somebody is about it.
func (p *Backend) stick(id core.TaskID, why string) (already bool) {
	p.tasks.edit(id, false, func(t *task) {
		already = t.stuck != ""
		t.stuck = why
		t.explain(&t.seen)
	})
	return already
}

// mayNotEnd goes on trying to end a task that we may not end, beside all else,
// and says so.
func (p *Backend) mayNotEnd(id core.TaskID, err error, grace int64) {
	if p.stick(id, "it cannot be ended: "+err.Error()) {
		return
	}
	p.wg.Go(func() {
		p.limiter.Retry(p.ctx, "a task may not be ended", id, func() error {
			t, ok := p.tasks.get(id)
			if !ok || !t.there || t.seen.State.Ended() {
				return nil
			}
			return p.delete(p.ctx, &t, &grace)
		})
		p.tasks.edit(id, false, func(t *task) { t.stuck = "" })
	})
}

// delete asks for the end of a task's pod.
func (p *Backend) delete(ctx context.Context, t *task, grace *int64) error {
	err := p.client.CoreV1().Pods(t.space).Delete(ctx, t.name, metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &t.uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or another has its name
	}
	return err
}

// seconds is a grace as Kubernetes counts it. Less than one would end a pod
// without waiting for its node to say so.
func seconds(d time.Duration) int64 { return max(int64(math.Ceil(d.Seconds())), 1) }

// Forget implements backend.Backend. What a task wrote is fetched first.
func (p *Backend) Forget(ctx context.Context, ids []core.TaskID) error {
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
				p.logs.AwaitComplete(p.ctx, id)
				p.discard(p.ctx, id)
			})
		}
	}
	return nil
}

// discard removes what the cluster has of a task that has ended.
func (p *Backend) discard(ctx context.Context, id core.TaskID) {
	p.limiter.Retry(ctx, "what is left of a task could not be removed", id, func() error { return p.remove(ctx, id) })
}

func (p *Backend) remove(ctx context.Context, id core.TaskID) error {
	t, ok := p.tasks.get(id)
	if !ok {
		return nil
	}
	if t.name != "" && t.secret {
		var ours metav1.DeleteOptions
		if t.secretUID != "" {
			ours.Preconditions = &metav1.Preconditions{UID: &t.secretUID}
		}
		err := p.client.CoreV1().Secrets(t.space).Delete(ctx, t.name, ours)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	if t.there && t.claim != "" {
		return nil // it is not ours to remove; what we know of it goes with it
	}
	if t.there {
		return p.delete(ctx, &t, nil)
	}
	if t.forgotten {
		p.drop(t.space, id)
	}
	return nil
}
