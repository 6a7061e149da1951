package taskpods

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// delay starts a gang as soon as its devices are there. Its tasks are known
// from now on. why: what it waits for, where that is known.
func (p *Pods) delay(gang []backend.Assignment, why string) {
	ctx, cancel := context.WithCancel(p.cluster.Context)
	mine := p.Fractions.Postpone(gang, cancel)
	if len(mine) == 0 {
		cancel()
		return
	}
	p.say(mine, why)
	for _, a := range mine {
		p.cluster.NodeInfo.Hold(p.cluster.NodeName(a.Node), a.ID, a.Devices)
		p.Fractions.Use(a.ID, p.cluster.NodeName(a.Node), a.Devices)
	}
	p.cluster.Running.Go(func() {
		defer cancel()
		p.insistent(ctx, mine)
	})
}

// insistent starts a gang once its devices are there, until it has, or cannot,
// or is not wanted any more.
func (p *Pods) insistent(ctx context.Context, gang []backend.Assignment) {
	ready, err := p.Fractions.Await(ctx, gang, func(why string) { p.say(gang, why) })
	var failing time.Time // since when the cluster fails at it; zero: it does not
	for wait := apicall.FirstPause; err == nil; wait = min(2*wait, apicall.LongestPause) {
		if !p.cluster.Limiter.Acquire(ctx) {
			err = ctx.Err()
			break
		}
		err = p.bringUp(p.cluster.Context, ready)
		p.cluster.Limiter.Release()
		if err == nil || apicall.RefusalOf(err) != nil || ctx.Err() != nil {
			break
		}
		now := p.cluster.Options.Clock()
		switch {
		case !apicall.IsServerError(err):
			failing = time.Time{}
		case failing.IsZero():
			failing = now
		case now.Sub(failing) >= p.cluster.Options.Patience:
			err = apicall.Refuse(podstatus.ReasonSystem, "%v, and did so for %v", err, p.cluster.Options.Patience)
		}
		if apicall.RefusalOf(err) != nil {
			break
		}
		p.say(gang, err.Error())
		p.cluster.Limiter.Warn("tasks could not be started; trying again", "task", gang[0].ID, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			err = nil
		}
	}
	if p.cluster.Context.Err() != nil {
		return // whoever comes after us is asked again
	}
	r := apicall.RefusalOf(err)
	if r == nil && err != nil {
		r = &apicall.Refusal{Reason: lifecycle.ReasonKilled, Message: "it was ended"}
	}
	if r != nil {
		p.takeBack(gang, r)
		for _, a := range gang { // what was asked of a cluster that gave no answer
			p.cluster.Limiter.Retry(p.cluster.Context, "what may be left of a task could not be removed", a.ID, func() error { return p.erase(p.cluster.Context, &a) })
		}
	}
	p.Fractions.StopWaiting(gang, r != nil)
	if r == nil && ctx.Err() != nil {
		p.endLate(gang)
	}
}

// endLate ends what of a gang was told to end while its pods were being made.
func (p *Pods) endLate(gang []backend.Assignment) {
	least := int64(1)
	for _, a := range gang {
		p.cluster.Limiter.Retry(p.cluster.Context, "a task could not be ended", a.ID, func() error {
			t, ok := p.Tasks.Get(a.ID)
			if !ok || !t.There || !t.Stopping || t.Seen.State.Ended() {
				return nil
			}
			return p.delete(p.cluster.Context, &t, &least)
		})
	}
}

// say lets it be seen what a gang waits for.
func (p *Pods) say(gang []backend.Assignment, why string) {
	for _, a := range gang {
		p.Tasks.Edit(a.ID, true, func(t *tasks.Task) {
			if t.There || t.Seen.State.Ended() || t.Seen.Waiting != "" && t.Seen.Message == why {
				return
			}
			t.Node = p.cluster.NodeName(a.Node)
			t.Seen = backend.Observation{ID: a.ID, State: core.TaskStarting, Waiting: "ContainerCreating", Message: why, At: p.cluster.Options.Clock()}
		})
	}
}

// erase removes the pod of a task of which nothing is known.
func (p *Pods) erase(ctx context.Context, a *backend.Assignment) error {
	if t, ok := p.Tasks.Get(a.ID); ok && t.There {
		return nil
	}
	x := tasks.Task{Space: p.cluster.Namespaces.Of(a.About.Project), Name: naming.PodName(a.About.Name, a.ID)}
	pod, err := p.cluster.GetPod(ctx, x.Space, x.Name)
	if err != nil || pod == nil || pod.Annotations[naming.NoteTask] != a.ID.String() {
		return err
	}
	x.Uid = pod.UID
	if err := p.delete(ctx, &x, nil); err != nil {
		return fmt.Errorf("pod %s/%s: %w", x.Space, x.Name, err)
	}
	return nil
}
