package taskpods

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podspec"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// taskOf is the task of a pod that we made. A copy of one has another name: it
// is not ours, whatever is written on it.
func (p *Pods) taskOf(pod *corev1.Pod) (core.TaskID, bool) {
	if pod.Labels[naming.LabelManaged] != naming.Managed || !p.cluster.Mine(pod.Labels) {
		return core.TaskID{}, false
	}
	id, err := core.ParseTaskID(pod.Annotations[naming.NoteTask])
	return id, err == nil && strings.HasSuffix(pod.Name, naming.PodName("", id)[1:])
}

// idOf is the task of a pod: a pod that was ours stays so, whatever others make
// of its labels; and a task has one pod.
func (p *Pods) idOf(pod *corev1.Pod) (core.TaskID, bool) {
	if id, ok := p.Tasks.Owner(pod.UID); ok {
		return id, true
	}
	id, ok := p.taskOf(pod)
	if t, known := p.Tasks.Get(id); ok && known && t.There && t.Uid != pod.UID {
		return id, false
	}
	return id, ok
}

// moved lets those know for whom it matters that a pod has come, changed or gone.
func (p *Pods) moved(m affinity.Affected) {
	p.Groups.Requeue(m)
	if m == affinity.AffectsAll {
		p.antiAffinity.moved()
	}
}

// Seen takes over what the watch tells a pod is like. first: it was there when
// we began.
func (p *Pods) Seen(pod *corev1.Pod, first bool) {
	p.order.Lock()
	defer p.order.Unlock()
	p.takeOver(pod, first)
	if id, ok := p.Tasks.Owner(pod.UID); ok {
		p.Tasks.Edit(id, false, func(t *tasks.Task) { t.Observed = pod.UID })
	}
}

// made takes over the answer to the creation of a pod, unless the watch was
// faster: then that has told as much, and maybe that the pod runs by now, or is
// gone. What is older would stay for good: nobody tells the newer twice.
func (p *Pods) made(id core.TaskID, pod *corev1.Pod) {
	p.order.Lock()
	defer p.order.Unlock()
	if t, ok := p.Tasks.Get(id); !ok || t.Observed != pod.UID {
		p.takeOver(pod, false)
	}
}

// takeOver is what follows from what a pod is like.
func (p *Pods) takeOver(pod *corev1.Pod, first bool) {
	p.moved(p.cluster.Placed.Seen(pod))
	if p.Fractions.Seen(pod) {
		return
	}
	if p.Groups.Outside(pod) {
		p.Groups.Seen(pod, first)
		return
	}
	id, ok := p.idOf(pod)
	if !ok {
		p.cluster.NodeInfo.ForeignPod(pod)
		return
	}
	now := p.cluster.Options.Clock()
	dying := pod.DeletionTimestamp != nil && p.cluster.Namespaces.Deleting(pod.Namespace)
	over := false
	p.Tasks.Edit(id, true, func(t *tasks.Task) {
		if t.There && t.Uid != pod.UID {
			return // a late word of a pod that has been replaced
		}
		if t.Uid != pod.UID {
			t.By, t.Word = nil, "" // they were of a pod before
		}
		t.Space, t.Name, t.Uid, t.There = pod.Namespace, pod.Name, pod.UID, true
		t.Secret = t.Secret || pod.Annotations[naming.NoteSecret] != ""
		t.Node, t.Bound = pod.Spec.NodeName, pod.Spec.NodeName != ""
		if t.Seen.State.Ended() {
			return
		}
		if by := podstatus.DisruptionCondition(pod); by != nil {
			t.By = by // others may write over the pod's conditions before it ends
		}
		o := podstatus.Of(id, pod, podstatus.Context{Stopping: t.Stopping, Dying: dying, DisruptedBy: t.By})
		podspec.FractionNote(&o, pod)
		if o.At = podstatus.Precise(o.At, now); !first {
			o.At = now
		}
		t.Pulls(&o, pod)
		t.Waits(&o, podstatus.NothingStarted(pod), now)
		t.Explain(&o)
		if !podstatus.Same(t.Seen, o) {
			t.Seen = o
		}
		// What has run is kept with its outcome until it is forgotten; what never
		// will would be tried for ever.
		over = o.State.Ended() && !podstatus.Finished(pod) && podstatus.EndOf(podstatus.ContainerStatus(pod.Status.ContainerStatuses, naming.Container)) == nil
	})
	if pod.Spec.Subdomain != "" {
		p.services.Note(id)
	}
	if pod.Spec.NodeName != "" {
		p.cluster.NodeInfo.Hold(pod.Spec.NodeName, id, naming.DevicesOf(pod.Annotations[naming.NoteDevices]))
		p.cluster.NodeInfo.Exceed(pod.Spec.NodeName, id, resources.Excess(pod))
	}
	p.Fractions.TaskSeen(id, pod)
	p.Logs.PodSeen(id, pod)
	if p.lostLabels(pod, id) {
		p.restore(pod, id)
	}
	if over {
		p.cluster.Running.Go(func() { p.discard(p.cluster.Context, id) })
	}
}

// Gone takes over that a pod is not there any more. unseen: it went while
// nothing was heard of the cluster, and pod is from before.
func (p *Pods) Gone(pod *corev1.Pod, unseen bool) {
	p.order.Lock()
	defer p.order.Unlock()
	p.moved(p.cluster.Placed.Gone(pod))
	if p.Fractions.Gone(pod) {
		return
	}
	if p.Groups.Outside(pod) {
		p.Groups.PodGone(pod)
		return
	}
	id, ok := p.idOf(pod)
	p.Tasks.Disown(pod.UID)
	p.cluster.NodeInfo.ForeignPodGone(pod.UID) // where it was none of ours at some time
	if !ok {
		return
	}
	now := p.cluster.Options.Clock()
	dying := p.cluster.Namespaces.Deleting(pod.Namespace)
	former, forgotten := false, false
	p.Tasks.Edit(id, false, func(t *tasks.Task) {
		if former = t.Uid != pod.UID; former {
			return
		}
		t.There = false
		forgotten = t.Forgotten
		if t.Seen.State.Ended() {
			return
		}
		last := podstatus.Of(id, pod, podstatus.Context{Stopping: t.Stopping, Dying: dying, DisruptedBy: t.By})
		if last.At = now; !last.State.Ended() {
			last = backend.Observation{ID: id, State: core.TaskLost, At: now}
			switch {
			case t.Stopping:
				last.Reason, last.Message = string(lifecycle.ReasonKilled), "it was ended"
			case unseen:
				last.Reason, last.Message = string(lifecycle.ReasonOutcomeUnknown), "its pod was deleted while the cluster could not be watched, and nobody saw how it ended"
			case t.By != nil:
				last.Reason, last.Message = string(t.By.Reason), t.By.Message
			default:
				last.Reason, last.Message = string(podstatus.ReasonSystem), podstatus.DeletedMessage(pod, dying)
			}
		}
		t.Seen = last
	})
	if former {
		return // another pod is the task's by now
	}
	p.cluster.NodeInfo.Release(pod.Spec.NodeName, id)
	if pod.Annotations[naming.NoteFractionDevices] != "" {
		p.Fractions.Leave(id, pod.UID)
	}
	p.Logs.PodGone(id)
	if forgotten {
		p.drop(pod.Namespace, id)
	}
}
