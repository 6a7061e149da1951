package taskpods

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// A kubelet that cannot mount a volume, or make the sandbox of a pod, says so in
// events only: the pod just stays as it is. Of pods of ours that do not get on,
// and of no others, events are looked for, with pauses that grow.

const (
	// lookEvery is how often it is looked whether something does not get on.
	lookEvery = 2 * time.Second
	// lookMost bounds the questions of one round.
	lookMost = 20
	// longestPause is more than a kubelet waits between two tries to pull an
	// image: it may have been told to make many.
	longestPause = 6 * time.Minute
)

// stuck finds tasks that do not get on.
type stuck struct {
	cluster *cluster.Cluster
	tasks   *tasks.Table
	discard func(context.Context, core.TaskID) // removes what the cluster has of a task that has ended
	deaf    atomic.Bool                        // events may not be read
}

// run goes on looking at what does not get on until ctx is done.
func (p *stuck) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, id := range p.tasks.Late(p.cluster.Options.Clock(), lookMost) {
			p.lookAt(ctx, id)
		}
	}
}

// lookAt takes over what events say of a task, and ends it where it has been in
// trouble for longer than anyone should wait.
func (p *stuck) lookAt(ctx context.Context, id core.TaskID) {
	t, ok := p.tasks.Get(id)
	if !ok || !t.There {
		return
	}
	var last *corev1.Event
	if t.Blank {
		last = p.event(ctx, &t)
	}
	now, over := p.cluster.Options.Clock(), false
	p.tasks.Edit(id, false, func(x *tasks.Task) {
		if x.Uid != t.Uid || x.Seen.State != core.TaskStarting || x.Word != t.Word {
			return
		}
		reason := x.Troubled(last, now)
		patience := p.cluster.Options.Patience
		if reason == lifecycle.ReasonFailedImagePull {
			patience = max(patience, longestPause)
		}
		if reason == lifecycle.ReasonFailedImagePull && x.Endless {
			return // it is tried for as long as it takes
		}
		if reason == lifecycle.ReasonNone || now.Sub(x.Trouble) < patience && !podstatus.CannotPass(x.Seen.Message) {
			return
		}
		over = true
		x.Seen = backend.Observation{ID: id, State: core.TaskFailed, Reason: string(reason), Message: x.Seen.Message, At: now}
	})
	if over {
		p.cluster.Running.Go(func() { p.discard(ctx, id) }) // what cannot be removed keeps nobody else waiting
	}
}

// event is the last that is said of a pod and is about what it waits for; nil:
// nothing is.
func (p *stuck) event(ctx context.Context, t *tasks.Task) *corev1.Event {
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	all, err := p.cluster.Client.CoreV1().Events(t.Space).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(t.Uid), Limit: 100})
	if err != nil {
		if apierrors.IsForbidden(err) && !p.deaf.Swap(true) {
			p.cluster.Options.Log.Warn("events may not be read: why a pod does not start may stay unknown", "backend", p.cluster.Options.Name, "err", err)
		}
		return nil
	}
	var last *corev1.Event
	for i := range all.Items {
		e := &all.Items[i]
		if (e.Reason == "Pulling" || e.Reason == "Pulled" || podstatus.ReasonOfEvent(e.Reason) != lifecycle.ReasonNone) && (last == nil || !podstatus.EventTime(e).Before(podstatus.EventTime(last))) {
			last = e
		}
	}
	return last
}
