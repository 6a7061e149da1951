// Package fraction has GPUs that tasks share: which are held by reservations, who
// uses what of them, and who waits for one.
package fraction

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// A node's device plugin hands out whole GPUs only. One that tasks share is
// held by a pod of ours, the reservation, which asks for a GPU as any pod does
// and says which one it was given; the tasks ask the node for none, and are
// told in their environment which they have. So whoever counts the node's GPUs
// counts right, and everything is found again in the cluster after a restart:
// the reservation says what it holds, the pods of tasks what they use.

// Slot is a device of a node, as we number them.
type Slot struct {
	Node  string
	Index int
}

// Fractions are the devices that tasks share.
type Fractions struct {
	p     *cluster.Cluster
	tasks *tasks.Table

	Mu      sync.Mutex
	Slots   map[Slot]*hold
	On      map[types.UID]Slot // of every reservation
	Uses    map[core.TaskID][]Slot
	Pending map[core.TaskID]*delayed
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

// New knows of no shared devices yet.
func New(p *cluster.Cluster, t *tasks.Table) *Fractions {
	return &Fractions{p: p, tasks: t, Slots: map[Slot]*hold{}, On: map[types.UID]Slot{}, Uses: map[core.TaskID][]Slot{}, Pending: map[core.TaskID]*delayed{}}
}

// slot is what is known of one, made where nothing is. The lock is held.
func (s *Fractions) slot(at Slot) *hold {
	h := s.Slots[at]
	if h == nil {
		h = &hold{users: map[core.TaskID]user{}, pods: map[types.UID]reservation{}, lost: map[string]bool{}, wake: make(chan struct{})}
		s.Slots[at] = h
	}
	return h
}

// changed tells whoever waits for a slot. The lock is held.
func (h *hold) changed() {
	close(h.wake)
	h.wake = make(chan struct{})
}

// Seen takes over what the watch tells a pod is like; false: it is no reservation.
func (s *Fractions) Seen(pod *corev1.Pod) bool { return s.takeOver(pod, true) }

// takeOver is what follows from what a pod is like. The answer to its creation is
// not believed where the watch was faster: that has told as much, or more.
func (s *Fractions) takeOver(pod *corev1.Pod, watched bool) bool {
	at, ok := s.slotOf(pod)
	if !ok {
		return false
	}
	r := reservationOf(pod, at, s.p.NodeInfo.IsFake(at.Node))
	s.Mu.Lock()
	defer s.Mu.Unlock()
	h := s.slot(at)
	if was, ok := h.pods[pod.UID]; ok {
		if !watched {
			return true
		}
		if was.state == leaving { // what a cache tells late does not bring it back
			r.state = leaving
		}
		r.noted = r.noted || was.noted && was.gpu == r.gpu
		if was == r {
			return true
		}
	}
	h.pods[pod.UID] = r
	s.On[pod.UID] = at
	s.p.NodeInfo.AddReservation(at.Node, pod.UID)
	s.kick(at)
	return true
}

// Gone takes over that a pod is not there any more; false: it was no reservation.
func (s *Fractions) Gone(pod *corev1.Pod) bool {
	if _, ok := s.slotOf(pod); !ok {
		return false
	}
	s.lose(pod.UID)
	return true
}

// slotOf is the slot of a reservation: a pod that was one stays so, whatever
// others make of its labels.
func (s *Fractions) slotOf(pod *corev1.Pod) (Slot, bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if at, ok := s.On[pod.UID]; ok {
		return at, true
	}
	return s.labelled(pod)
}

func (s *Fractions) lose(pod types.UID) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	at, ok := s.On[pod]
	if !ok {
		return
	}
	h := s.slot(at)
	delete(h.pods, pod)
	delete(s.On, pod)
	s.p.NodeInfo.RemoveReservation(at.Node, pod)
	s.kick(at)
}

// NodeGone looks after what was held of a node.
func (s *Fractions) NodeGone(node string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for at := range s.Slots {
		if at.Node == node {
			s.kick(at)
		}
	}
}

// TaskSeen takes over which devices the pod of a task shares.
func (s *Fractions) TaskSeen(id core.TaskID, pod *corev1.Pod) {
	if pod.Annotations[naming.NoteFractionDevices] == "" {
		return
	}
	if podstatus.Finished(pod) {
		s.Leave(id, pod.UID)
		return
	}
	if t, ok := s.tasks.Get(id); !ok || t.Uid != pod.UID {
		return // a late word of a pod that has been replaced
	}
	gpus := FractionsOf(pod)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for at, gpu := range gpus {
		s.enter(at, id, user{pod: pod.UID, gpu: gpu})
	}
}

// Use enters a task that has no pod yet with its parts.
func (s *Fractions) Use(id core.TaskID, node string, shares []core.Share) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, d := range shares {
		if d.Milli >= 1000 {
			continue
		}
		at := Slot{node, d.Index}
		if s.slot(at).users[id] == (user{}) {
			s.enter(at, id, user{})
		}
	}
}

// enter makes a task the user of a slot. The lock is held.
func (s *Fractions) enter(at Slot, id core.TaskID, u user) {
	h := s.slot(at)
	if was, ok := h.users[id]; ok && was == u {
		return
	}
	h.users[id] = u
	if !slices.Contains(s.Uses[id], at) {
		s.Uses[id] = append(s.Uses[id], at)
	}
	s.kick(at)
}

// Leave gives back the parts of a task, unless it has another pod by now. Who
// leaves last takes the reservation along.
func (s *Fractions) Leave(id core.TaskID, pod types.UID) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Uses[id] = slices.DeleteFunc(s.Uses[id], func(at Slot) bool {
		h := s.Slots[at]
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
	if len(s.Uses[id]) == 0 {
		delete(s.Uses, id)
	}
}

// tidy forgets a slot of which nothing is left. The lock is held.
func (s *Fractions) tidy(at Slot) {
	if h := s.Slots[at]; h != nil && len(h.users)+len(h.pods) == 0 && !h.working {
		h.changed()
		delete(s.Slots, at)
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
