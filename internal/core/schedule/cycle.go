package schedule

import (
	"cmp"
	"container/heap"

	"github.com/musterhq/muster/internal/core"
)

// Cycle returns the plan for s. The same snapshot gives the same plan whatever
// the order of its slices.
//
// Jobs are taken by queue order; inside a queue by priority, then those below
// their gang minimum before extra tasks of those above it, then age. A job that
// does not fit blocks nobody: its whole class is set aside, since capacity only
// shrinks within a cycle.
func Cycle(s *Snapshot, cfg Config) *Plan {
	b := newBoard(s.Nodes, cfg)
	plan := &Plan{Revision: s.Revision, Verdicts: make([]*Verdict, len(s.Waiting)), Left: make([]int, len(s.Waiting))}
	stopped := stoppedQueues(s.Queues)
	line := make(line, 0, len(s.Waiting))
	for i := range s.Waiting {
		plan.Left[i] = len(s.Waiting[i].Jobs)
		if len(s.Waiting[i].Jobs) > 0 {
			line = append(line, cursor{class: i, c: &s.Waiting[i]})
		}
	}
	heap.Init(&line)
	placed := map[core.WorkloadID]int{} // position in plan.Placements
	for len(line) > 0 {
		at := line[0]
		if why := stopped[at.c.Queue]; why != nil {
			plan.Verdicts[at.class] = &Verdict{Reasons: []Reason{*why}}
			heap.Pop(&line)
			continue
		}
		if at.extra != nil {
			at.placeExtra(b, plan, placed, &line)
			continue
		}
		places, pool, ok := b.minimum(at.c.Shape)
		if !ok {
			plan.Verdicts[at.class] = &Verdict{Reasons: b.why(s.Nodes, at.c.Shape)}
			heap.Pop(&line)
			continue
		}
		id := at.c.Jobs[at.next].ID
		placed[id] = len(plan.Placements)
		plan.Placements = append(plan.Placements, Placement{ID: id, Tasks: places})
		plan.Left[at.class]--
		order := at.c.Jobs[at.next].Order
		if at.next++; at.next < len(at.c.Jobs) {
			line[0] = at
			heap.Fix(&line, 0)
		} else {
			heap.Pop(&line)
		}
		if x := extras(at.c.Shape, id, order, pool); x != nil {
			heap.Push(&line, cursor{class: at.class, c: at.c, extra: x})
		}
	}
	dropEmpty(plan)
	return plan
}

// dropEmpty removes placements of jobs whose minimum was nothing and whose
// extras found no room: nothing was decided for them.
func dropEmpty(plan *Plan) {
	kept := plan.Placements[:0]
	for _, p := range plan.Placements {
		if len(p.Tasks) > 0 {
			kept = append(kept, p)
		}
	}
	plan.Placements = kept
}

func stoppedQueues(queues []Queue) map[core.ProjectID]*Reason {
	m := map[core.ProjectID]*Reason{}
	for _, q := range queues {
		if q.Stopped {
			m[q.ID] = &Reason{Token: QueueStopped, Note: string(q.ID)}
		}
	}
	return m
}

// cursor walks one class, or places the extra tasks of one job.
type cursor struct {
	class int
	c     *Class
	next  int
	extra *extra
}

type extra struct {
	id     core.WorkloadID
	order  int64
	pool   string
	groups []Group // Count is what is still to be placed
}

func extras(shape *Shape, id core.WorkloadID, order int64, pool string) *extra {
	x := &extra{id: id, order: order, pool: pool}
	for _, g := range shape.Groups {
		if g.Count > g.Min {
			g.Count -= g.Min
			x.groups = append(x.groups, g)
		}
	}
	if len(x.groups) == 0 {
		return nil
	}
	return x
}

// placeExtra adds one task to a job that has its minimum.
func (at cursor) placeExtra(b *board, plan *Plan, placed map[core.WorkloadID]int, line *line) {
	x := at.extra
	for i := range x.groups {
		if x.groups[i].Count == 0 {
			continue
		}
		p, ok := b.put(x.groups[i], x.pool)
		if !ok {
			break
		}
		x.groups[i].Count--
		pl := &plan.Placements[placed[x.id]]
		pl.Tasks = append(pl.Tasks, p)
		heap.Fix(line, 0)
		return
	}
	heap.Pop(line)
}

func (at cursor) order() int64 {
	if at.extra != nil {
		return at.extra.order
	}
	return at.c.Jobs[at.next].Order
}

// line is a heap of cursors, the one to serve next on top.
type line []cursor

func (l line) Len() int { return len(l) }
func (l line) Less(i, j int) bool {
	a, c := l[i], l[j]
	above := 0
	if a.extra != nil {
		above++
	}
	if c.extra != nil {
		above--
	}
	return cmp.Or(cmp.Compare(c.c.Priority, a.c.Priority), above, cmp.Compare(a.order(), c.order())) < 0
}
func (l line) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *line) Push(x any)   { *l = append(*l, x.(cursor)) }
func (l *line) Pop() any {
	old := *l
	last := old[len(old)-1]
	*l = old[:len(old)-1]
	return last
}
