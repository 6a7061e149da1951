// Package queues is the tree of queues with what each holds: what its limits, its
// quota and those that lend it theirs allow, what it is due, and which of two is
// to be served first.
package queues

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// PerUser reports whether the queue limits each of its users.
func (q *Queue) PerUser() bool { return q.UserJobs > 0 || q.UserGPU > 0 }

// Queues are the queues as a tree, parents before their children, with what runs
// in each.
type Queues struct {
	List    []Queue
	Top     []int32 // those without a parent
	byID    map[core.ProjectID]int32
	Running []int // jobs that hold something, by queue and those below it
	Users   map[userKey]Held
	Bounds  map[string]schedule.UserBound // of users in all queues together, by name; "": of each other
	cfg     *schedule.Config
	divider quota.Divider
	rows    []quota.Queue   // for divider
	quotas  []quota.Amounts // of divider
}

// Queue is one of the tree.
type Queue struct {
	schedule.Queue
	ParentIndex int32 // negative: top level
	Depth       int32
	Children    []int32
	JobClasses  []*ledger.JobClass
	StoppedBy   core.ProjectID // itself or the ancestor that is stopped; empty: none
}

// New returns the tree of queues with nothing in them.
func New(queues []schedule.Queue, cfg *schedule.Config) *Queues {
	t := &Queues{byID: make(map[core.ProjectID]int32, len(queues)), Running: make([]int, len(queues)), Users: map[userKey]Held{}, cfg: cfg}
	depth := map[core.ProjectID]int32{}
	index := map[core.ProjectID]*schedule.Queue{}
	for i := range queues {
		index[queues[i].ID] = &queues[i]
	}
	for i := range queues {
		d, q := int32(0), &queues[i]
		// A cycle, which control refuses, ends at a depth that no tree has.
		for p := index[q.Parent]; p != nil && int(d) <= len(queues); p = index[p.Parent] {
			d++
		}
		depth[q.ID] = d
	}
	order := slices.Clone(queues)
	slices.SortFunc(order, func(a, b schedule.Queue) int {
		return cmp.Or(cmp.Compare(depth[a.ID], depth[b.ID]), cmp.Compare(a.Age, b.Age), cmp.Compare(a.ID, b.ID))
	})
	for _, q := range order {
		n := Queue{Queue: q, ParentIndex: -1, Depth: depth[q.ID]}
		if p, ok := t.byID[q.Parent]; ok && q.Parent != "" {
			n.ParentIndex = p
			t.List[p].Children = append(t.List[p].Children, int32(len(t.List)))
			n.StoppedBy = t.List[p].StoppedBy
			n.BorrowMax = tighter(q.BorrowMax, t.List[p].BorrowMax)
			n.PreemptMin, n.ReclaimMin = inherit(q.PreemptMin, t.List[p].PreemptMin), inherit(q.ReclaimMin, t.List[p].ReclaimMin)
		}
		if q.Stopped && n.StoppedBy == "" {
			n.StoppedBy = q.ID
		}
		if n.ParentIndex < 0 {
			t.Top = append(t.Top, int32(len(t.List)))
		}
		t.byID[q.ID] = int32(len(t.List))
		t.List = append(t.List, n)
	}
	return t
}

// tighter is the smaller of two limits, of which 0 is none.
func tighter(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func inherit(own, parent int64) int64 {
	if own < 0 {
		return parent
	}
	return own
}

// Find is the index of a queue; negative: it does not exist.
func (t *Queues) Find(id core.ProjectID) int32 {
	if i, ok := t.byID[id]; ok {
		return i
	}
	return -1
}

// Fork returns the children, of the lowest queue above both, that a and b
// belong to. One may be negative: the other is below it.
func (t *Queues) Fork(a, b int32) (int32, int32) {
	for t.List[a].Depth > t.List[b].Depth && t.List[a].ParentIndex != b {
		a = t.List[a].ParentIndex
	}
	for t.List[b].Depth > t.List[a].Depth && t.List[b].ParentIndex != a {
		b = t.List[b].ParentIndex
	}
	for t.List[a].ParentIndex != t.List[b].ParentIndex {
		a, b = t.List[a].ParentIndex, t.List[b].ParentIndex
	}
	return a, b
}
