package fraction

import (
	"context"

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

// Wait reports whether some of what starts together has to wait, or does so
// already.
func (s *Fractions) Wait(gang []backend.Assignment) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for i := range gang {
		if s.Pending[gang[i].ID] != nil {
			return true
		}
		for _, d := range gang[i].Devices {
			h := s.Slots[Slot{s.p.NodeName(gang[i].Node), d.Index}]
			if d.Milli < 1000 || h != nil && len(h.pods) > 0 {
				return true
			}
		}
	}
	return false
}

// Postpone notes that a gang waits for its devices, and returns who of it did
// not wait before; cancel ends the wait.
func (s *Fractions) Postpone(gang []backend.Assignment, cancel context.CancelFunc) (mine []backend.Assignment) {
	d := &delayed{cancel: cancel}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, a := range gang {
		if s.Pending[a.ID] == nil {
			s.Pending[a.ID] = d
			mine = append(mine, a)
		}
	}
	return mine
}

// StopWaiting forgets that a gang waits; failed: it never had devices.
func (s *Fractions) StopWaiting(gang []backend.Assignment, failed bool) {
	s.Mu.Lock()
	for _, a := range gang {
		delete(s.Pending, a.ID)
	}
	s.Mu.Unlock()
	for _, a := range gang {
		if t, ok := s.tasks.Get(a.ID); failed || !ok || !t.There {
			s.Leave(a.ID, "")
		}
	}
}

// Cancel ends the wait of a task, and of what would have started with it.
func (s *Fractions) Cancel(id core.TaskID) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if d := s.Pending[id]; d != nil {
		d.cancel()
	}
}

// Await waits until a gang has its devices, and returns it with the names of
// those that it shares; say is told what it waits for.
func (s *Fractions) Await(ctx context.Context, gang []backend.Assignment, say func(why string)) ([]backend.Assignment, error) {
	ready := make([]backend.Assignment, len(gang))
	for i, a := range gang {
		if err := s.shareable(&a); err != nil {
			return nil, err
		}
		ready[i] = a
		ready[i].Devices = make([]core.Share, len(a.Devices))
	}
	for i, a := range gang {
		for j, d := range a.Devices {
			at := Slot{s.p.NodeName(a.Node), d.Index}
			gpu, err := s.device(ctx, at, a.ID, d.Milli < 1000, say)
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
func (s *Fractions) device(ctx context.Context, at Slot, id core.TaskID, part bool, say func(why string)) (string, error) {
	for {
		s.Mu.Lock()
		h := s.Slots[at]
		if h == nil && !part || h != nil && !part && len(h.pods) == 0 {
			s.Mu.Unlock()
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
		s.Mu.Unlock()
		switch {
		case part && gpu != "":
			return gpu, nil
		case part && err != nil:
			return "", apicall.Refuse(podstatus.ReasonSystem, "no GPU of node %s can be shared: %v", at.Node, err)
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
func (s *Fractions) shareable(a *backend.Assignment) error {
	if parts := len(a.Devices) - naming.WholeDevices(a); parts > 0 {
		name := s.p.NodeName(a.Node)
		n := s.p.NodeInfo.Find(name)
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
