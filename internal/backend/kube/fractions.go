package kube

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// A node's device plugin hands out whole GPUs only. One that tasks share is
// held by a pod of ours, the reservation, which asks for a GPU as any pod does
// and says which one it was given; the tasks ask the node for none, and are
// told in their environment which they have. So whoever counts the node's GPUs
// counts right, and everything is found again in the cluster after a restart:
// the reservation says what it holds, the pods of tasks what they use.

// slot is a device of a node, as we number them.
type slot struct {
	node  string
	index int
}

// fractions are the devices that tasks share.
type fractions struct {
	p *Backend

	mu      sync.Mutex
	slots   map[slot]*hold
	on      map[types.UID]slot // of every reservation
	uses    map[core.TaskID][]slot
	pending map[core.TaskID]*delayed
}

// hold is what is known of a slot. It is forgotten when it has neither users
// nor reservations.
type hold struct {
	users map[core.TaskID]user
	pods  map[types.UID]reservation
	gpu   string // the device that tasks share; empty: none yet
	err   error  // why none can be had
	lost  map[string]bool
	tries int // in vain, in a row

	working bool
	wake    chan struct{} // closed with every change
}

// user is a task with a part of a slot.
type user struct {
	pod types.UID // empty: it has none yet
	gpu string    // the device that it was told; empty: none yet
}

func newFractions(p *Backend) *fractions {
	return &fractions{p: p, slots: map[slot]*hold{}, on: map[types.UID]slot{}, uses: map[core.TaskID][]slot{}, pending: map[core.TaskID]*delayed{}}
}

// slot is what is known of one, made where nothing is. The lock is held.
func (s *fractions) slot(at slot) *hold {
	h := s.slots[at]
	if h == nil {
		h = &hold{users: map[core.TaskID]user{}, pods: map[types.UID]reservation{}, lost: map[string]bool{}, wake: make(chan struct{})}
		s.slots[at] = h
	}
	return h
}

// changed tells whoever waits for a slot. The lock is held.
func (h *hold) changed() {
	close(h.wake)
	h.wake = make(chan struct{})
}

// seen takes over what a pod is like; false: it is no reservation.
func (s *fractions) seen(pod *corev1.Pod) bool {
	at, ok := s.slotOf(pod)
	if !ok {
		return false
	}
	r := reservationOf(pod, at, s.p.nodes.IsFake(at.node))
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.slot(at)
	if was, ok := h.pods[pod.UID]; ok {
		if was.state == leaving { // what a cache tells late does not bring it back
			r.state = leaving
		}
		r.noted = r.noted || was.noted && was.gpu == r.gpu
		if was == r {
			return true
		}
	}
	h.pods[pod.UID] = r
	s.on[pod.UID] = at
	s.p.nodes.AddReservation(at.node, pod.UID)
	s.kick(at)
	return true
}

// gone takes over that a pod is not there any more; false: it was no reservation.
func (s *fractions) gone(pod *corev1.Pod) bool {
	if _, ok := s.slotOf(pod); !ok {
		return false
	}
	s.lose(pod.UID)
	return true
}

// slotOf is the slot of a reservation: a pod that was one stays so, whatever
// others make of its labels.
func (s *fractions) slotOf(pod *corev1.Pod) (slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.on[pod.UID]; ok {
		return at, true
	}
	return s.p.slotOf(pod)
}

func (s *fractions) lose(pod types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.on[pod]
	if !ok {
		return
	}
	h := s.slot(at)
	delete(h.pods, pod)
	delete(s.on, pod)
	s.p.nodes.RemoveReservation(at.node, pod)
	s.kick(at)
}

// nodeGone looks after what was held of a node.
func (s *fractions) nodeGone(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.slots {
		if at.node == node {
			s.kick(at)
		}
	}
}

// taskSeen takes over which devices the pod of a task shares.
func (s *fractions) taskSeen(id core.TaskID, pod *corev1.Pod) {
	if pod.Annotations[naming.NoteFractionDevices] == "" {
		return
	}
	if podstatus.Finished(pod) {
		s.leave(id, pod.UID)
		return
	}
	if t, ok := s.p.tasks.get(id); !ok || t.uid != pod.UID {
		return // a late word of a pod that has been replaced
	}
	gpus := fractionsOf(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, gpu := range gpus {
		s.enter(at, id, user{pod: pod.UID, gpu: gpu})
	}
}

// use enters a task that has no pod yet with its parts.
func (s *fractions) use(id core.TaskID, node string, shares []core.Share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range shares {
		if d.Milli >= 1000 {
			continue
		}
		at := slot{node, d.Index}
		if s.slot(at).users[id] == (user{}) {
			s.enter(at, id, user{})
		}
	}
}

// enter makes a task the user of a slot. The lock is held.
func (s *fractions) enter(at slot, id core.TaskID, u user) {
	h := s.slot(at)
	if was, ok := h.users[id]; ok && was == u {
		return
	}
	h.users[id] = u
	if !slices.Contains(s.uses[id], at) {
		s.uses[id] = append(s.uses[id], at)
	}
	s.kick(at)
}

// leave gives back the parts of a task, unless it has another pod by now. Who
// leaves last takes the reservation along.
func (s *fractions) leave(id core.TaskID, pod types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses[id] = slices.DeleteFunc(s.uses[id], func(at slot) bool {
		h := s.slots[at]
		if h == nil {
			return true
		}
		u, ok := h.users[id]
		if !ok || u.pod != pod {
			return !ok
		}
		delete(h.users, id)
		s.kick(at)
		return true
	})
	if len(s.uses[id]) == 0 {
		delete(s.uses, id)
	}
}

// tidy forgets a slot of which nothing is left. The lock is held.
func (s *fractions) tidy(at slot) {
	if h := s.slots[at]; h != nil && len(h.users)+len(h.pods) == 0 && !h.working {
		h.changed()
		delete(s.slots, at)
	}
}

// wanted are the devices that tasks on a slot have been told.
func (h *hold) wanted() map[string]bool {
	out := map[string]bool{}
	for _, u := range h.users {
		if u.gpu != "" && !h.lost[u.gpu] {
			out[u.gpu] = true
		}
	}
	return out
}

// all are the reservations of a slot, in the order of their names.
func (h *hold) all() []reservation {
	return slices.SortedFunc(maps.Values(h.pods), func(a, b reservation) int { return cmp.Compare(a.number, b.number) })
}
