package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// delayed is what starts together and has to wait: for devices that are to be
// shared, or for such that were and are to be whole again, or for a cluster that
// failed at it.
type delayed struct{ cancel context.CancelFunc }

// wait reports whether some of what starts together has to wait, or does so
// already.
func (s *fractions) wait(p *Backend, gang []backend.Assignment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range gang {
		if s.pending[gang[i].ID] != nil {
			return true
		}
		for _, d := range gang[i].Devices {
			h := s.slots[slot{p.nodeName(gang[i].Node), d.Index}]
			if d.Milli < 1000 || h != nil && len(h.pods) > 0 {
				return true
			}
		}
	}
	return false
}

// delay starts a gang as soon as its devices are there. Its tasks are known
// from now on. why: what it waits for, where that is known.
func (p *Backend) delay(gang []backend.Assignment, why string) {
	ctx, cancel := context.WithCancel(p.ctx)
	d := &delayed{cancel: cancel}
	p.fractions.mu.Lock()
	var mine []backend.Assignment
	for _, a := range gang {
		if p.fractions.pending[a.ID] == nil {
			p.fractions.pending[a.ID] = d
			mine = append(mine, a)
		}
	}
	p.fractions.mu.Unlock()
	if len(mine) == 0 {
		cancel()
		return
	}
	p.say(mine, why)
	for _, a := range mine {
		p.nodes.Hold(p.nodeName(a.Node), a.ID, a.Devices)
		p.fractions.use(a.ID, p.nodeName(a.Node), a.Devices)
	}
	p.wg.Go(func() {
		defer cancel()
		p.insistent(ctx, mine)
	})
}

// insistent starts a gang once its devices are there, until it has, or cannot,
// or is not wanted any more.
func (p *Backend) insistent(ctx context.Context, gang []backend.Assignment) {
	ready, err := p.fractions.await(ctx, gang)
	var failing time.Time // since when the cluster fails at it; zero: it does not
	for wait := apicall.FirstPause; err == nil; wait = min(2*wait, apicall.LongestPause) {
		if !p.limiter.Acquire(ctx) {
			err = ctx.Err()
			break
		}
		err = p.bringUp(p.ctx, ready)
		p.limiter.Release()
		if err == nil || apicall.RefusalOf(err) != nil || ctx.Err() != nil {
			break
		}
		now := p.o.Clock()
		switch {
		case !apicall.IsServerError(err):
			failing = time.Time{}
		case failing.IsZero():
			failing = now
		case now.Sub(failing) >= p.o.Patience:
			err = apicall.Refuse(podstatus.ReasonSystem, "%v, and did so for %v", err, p.o.Patience)
		}
		if apicall.RefusalOf(err) != nil {
			break
		}
		p.say(gang, err.Error())
		p.limiter.Warn("tasks could not be started; trying again", "task", gang[0].ID, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			err = nil
		}
	}
	if p.ctx.Err() != nil {
		return // whoever comes after us is asked again
	}
	r := apicall.RefusalOf(err)
	if r == nil && err != nil {
		r = &apicall.Refusal{Reason: lifecycle.ReasonKilled, Message: "it was ended"}
	}
	if r != nil {
		p.takeBack(gang, r)
		for _, a := range gang { // what was asked of a cluster that gave no answer
			p.limiter.Retry(p.ctx, "what may be left of a task could not be removed", a.ID, func() error { return p.erase(p.ctx, &a) })
		}
	}
	p.fractions.settled(gang, r != nil)
	if r == nil && ctx.Err() != nil {
		p.endLate(gang)
	}
}

// endLate ends what of a gang was told to end while its pods were being made.
func (p *Backend) endLate(gang []backend.Assignment) {
	least := int64(1)
	for _, a := range gang {
		p.limiter.Retry(p.ctx, "a task could not be ended", a.ID, func() error {
			t, ok := p.tasks.get(a.ID)
			if !ok || !t.there || !t.stopping || t.seen.State.Ended() {
				return nil
			}
			return p.delete(p.ctx, &t, &least)
		})
	}
}

// settled forgets that a gang waits; failed: it never had devices.
func (s *fractions) settled(gang []backend.Assignment, failed bool) {
	s.mu.Lock()
	for _, a := range gang {
		delete(s.pending, a.ID)
	}
	s.mu.Unlock()
	for _, a := range gang {
		if t, ok := s.p.tasks.get(a.ID); failed || !ok || !t.there {
			s.leave(a.ID, "")
		}
	}
}

// cancel ends the wait of a task, and of what would have started with it.
func (s *fractions) cancel(id core.TaskID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.pending[id]; d != nil {
		d.cancel()
	}
}

// await waits until a gang has its devices, and returns it with the names of
// those that it shares.
func (s *fractions) await(ctx context.Context, gang []backend.Assignment) ([]backend.Assignment, error) {
	ready := make([]backend.Assignment, len(gang))
	for i, a := range gang {
		if err := s.p.shareable(&a); err != nil {
			return nil, err
		}
		ready[i] = a
		ready[i].Devices = make([]core.Share, len(a.Devices))
	}
	for i, a := range gang {
		for j, d := range a.Devices {
			at := slot{s.p.nodeName(a.Node), d.Index}
			gpu, err := s.device(ctx, at, a.ID, d.Milli < 1000, func(why string) { s.p.say(gang, why) })
			if err != nil {
				return nil, err
			}
			if ready[i].Devices[j] = d; gpu != "" {
				ready[i].Devices[j].Device = gpu
			}
		}
	}
	return ready, nil
}

// device waits until a slot has a device to share, or, for one that is to be
// whole, until nothing of it is held for others.
func (s *fractions) device(ctx context.Context, at slot, id core.TaskID, part bool, say func(why string)) (string, error) {
	for {
		s.mu.Lock()
		h := s.slots[at]
		if h == nil && !part || h != nil && !part && len(h.pods) == 0 {
			s.mu.Unlock()
			return "", nil
		}
		h = s.slot(at)
		gpu, err, wake, why := h.gpu, h.err, h.wake, ""
		if part && gpu != "" {
			u := h.users[id]
			u.gpu = gpu
			h.users[id] = u
		}
		for _, r := range h.all() {
			if why = r.why; why == "" {
				why = "what was shared of its GPU is still held by reservation pod " + naming.Reservations + "/" + r.name
			}
		}
		s.mu.Unlock()
		switch {
		case part && gpu != "":
			return gpu, nil
		case part && err != nil:
			return "", apicall.Refuse(podstatus.ReasonSystem, "no GPU of node %s can be shared: %v", at.node, err)
		}
		say(why)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-wake:
		}
	}
}

// shareable says what keeps a task from sharing devices.
func (p *Backend) shareable(a *backend.Assignment) error {
	if parts := len(a.Devices) - naming.WholeDevices(a); parts > 0 {
		name := p.nodeName(a.Node)
		n := p.nodes.Find(name)
		switch {
		case n == nil:
			return apicall.Refuse(podstatus.ReasonSystem, "node %s is not in the cluster", name)
		case parts < len(a.Devices):
			return apicall.Refuse(lifecycle.ReasonContainerCannot, "it has whole GPUs and parts of GPUs: in a cluster a task has either")
		case resources.Unshareable(n) != "":
			return apicall.Refuse(podstatus.ReasonSystem, "no GPU of node %s can be shared: %s", name, resources.Unshareable(n))
		}
	}
	return nil
}

// say lets it be seen what a gang waits for.
func (p *Backend) say(gang []backend.Assignment, why string) {
	for _, a := range gang {
		p.tasks.edit(a.ID, true, func(t *task) {
			if t.there || t.seen.State.Ended() || t.seen.Waiting != "" && t.seen.Message == why {
				return
			}
			t.node = p.nodeName(a.Node)
			t.seen = backend.Observation{ID: a.ID, State: core.TaskStarting, Waiting: "ContainerCreating", Message: why, At: p.o.Clock()}
		})
	}
}

// erase removes the pod of a task of which nothing is known.
func (p *Backend) erase(ctx context.Context, a *backend.Assignment) error {
	if t, ok := p.tasks.get(a.ID); ok && t.there {
		return nil
	}
	x := task{space: p.namespaces.Of(a.About.Project), name: naming.PodName(a.About.Name, a.ID)}
	pod, err := p.pod(ctx, x.space, x.name)
	if err != nil || pod == nil || pod.Annotations[naming.NoteTask] != a.ID.String() {
		return err
	}
	x.uid = pod.UID
	if err := p.delete(ctx, &x, nil); err != nil {
		return fmt.Errorf("pod %s/%s: %w", x.space, x.name, err)
	}
	return nil
}
