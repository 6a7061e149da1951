package schedule_test

import (
	"math/rand/v2"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

// seat is a task with a place that a search has found.
type seat struct {
	group int
	place schedule.Place
}

// finder looks at every way to place a job's minimum.
type finder struct {
	book    *book
	job     *schedule.Job
	held    []schedule.Held // tasks of the job that stay
	budget  int
	shuffle *rand.Rand
	spent   bool // the search was given up
	permit  func(pool string, groups []int) bool
}

// whole returns places that make the job's minimum whole, or nil. pools are
// those to be tried; nil: the job's.
func (f *finder) whole(pools []string) []seat {
	if pools == nil {
		pools = f.job.Pools
	}
	if len(pools) == 0 {
		pools = []string{"default", "west"}
	}
	for _, pool := range pools {
		for _, groups := range f.choices() {
			if f.permit != nil && !f.permit(pool, groups) {
				continue
			}
			if out, ok := f.seats(pool, groups, nil); ok {
				return out
			}
		}
	}
	return nil
}

// choices are the ways to make the tree whole: of each, the groups of the tasks
// to be placed, one entry for each task.
func (f *finder) choices() [][]int {
	have := make([]int, len(f.job.Shape.Groups))
	for _, h := range f.held {
		have[h.Group]++
	}
	return ways(f.job, have, 0)
}

func ways(j *schedule.Job, have []int, set int) [][]int {
	type member struct{ ways [][]int }
	var open []member
	whole, members := 0, 0
	for s := range j.Shape.Sets {
		if s == 0 || j.Shape.Sets[s].Parent != set {
			continue
		}
		members++
		w := ways(j, have, s)
		if len(w) == 1 && len(w[0]) == 0 {
			whole++
		} else {
			open = append(open, member{w})
		}
	}
	for g := range j.Shape.Groups {
		grp := &j.Shape.Groups[g]
		if grp.Set != set {
			continue
		}
		members++
		short, wants := grp.Min-have[g], 0
		for _, r := range grp.Runs {
			wants += r.Count
		}
		switch {
		case short <= 0:
			whole++
		case wants < short:
			open = append(open, member{})
		default:
			open = append(open, member{[][]int{slices.Repeat([]int{g}, short)}})
		}
	}
	want := members
	if m := j.Shape.Sets[set].MinGroups; m > 0 {
		want = min(m, members)
	}
	lack := want - whole
	if lack <= 0 {
		return [][]int{{}}
	}
	var out [][]int
	var pick func(from, left int, sofar []int)
	pick = func(from, left int, sofar []int) {
		if left == 0 {
			out = append(out, slices.Clone(sofar))
			return
		}
		for i := from; i < len(open); i++ {
			for _, w := range open[i].ways {
				pick(i+1, left-1, slices.Concat(sofar, w))
			}
		}
	}
	pick(0, lack, nil)
	return out
}

// seats places one task of each listed group in the pool, by trying everything.
func (f *finder) seats(pool string, groups []int, sofar []seat) ([]seat, bool) {
	if len(groups) == len(sofar) {
		return slices.Clone(sofar), true
	}
	if f.budget--; f.budget < 0 {
		f.spent = true
		return nil, false
	}
	g := groups[len(sofar)]
	nth := 0
	for _, s := range sofar {
		if s.group == g {
			nth++
		}
	}
	var run *schedule.Run
	for i := range f.job.Shape.Groups[g].Runs {
		r := &f.job.Shape.Groups[g].Runs[i]
		if nth < r.Count {
			run = r
			break
		}
		nth -= r.Count
	}
	ids := make([]core.NodeID, 0, len(f.book.nodes))
	for id := range f.book.nodes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if f.shuffle != nil {
		f.shuffle.Shuffle(len(ids), func(a, b int) { ids[a], ids[b] = ids[b], ids[a] })
	}
	for _, id := range ids {
		x := f.book.nodes[id]
		if x.node.Pool != pool || !f.book.company(x.node, run.Rule) || !f.near(g, x.node, sofar) {
			continue
		}
		for _, p := range x.places(&run.Need, run.Rule) {
			x.add(&run.Need, run.Rule, &p, 1)
			out, ok := f.seats(pool, groups, append(sofar, seat{g, p}))
			if ok {
				if f.shuffle == nil {
					x.add(&run.Need, run.Rule, &p, -1)
				}
				return out, true
			}
			x.add(&run.Need, run.Rule, &p, -1)
			if f.spent {
				return nil, false
			}
		}
	}
	return nil, false
}

// company is the oracle's view of Near and Away.
func (b *book) company(n *schedule.Node, r *schedule.Rule) bool {
	if r == nil || r.Near == "" && r.Away == "" {
		return true
	}
	near, away, any := 0, 0, 0
	for _, x := range b.nodes {
		if x.node.Pool != n.Pool {
			continue
		}
		any += x.tags[r.Tags]
		if r.Near != "" && labelOf(x.node, r.Near) == labelOf(n, r.Near) {
			near += x.tags[r.Tags]
		}
		if r.Away != "" && labelOf(x.node, r.Away) == labelOf(n, r.Away) {
			away += x.tags[r.Tags]
		}
	}
	return away == 0 && (r.Near == "" || near > 0 || any == 0)
}

// near reports whether n is in the domains that the group's task must share
// with those of the job that have a place.
func (f *finder) near(g int, n *schedule.Node, sofar []seat) bool {
	sh := f.job.Shape
	others := map[int][]*schedule.Node{}
	for _, s := range sofar {
		others[s.group] = append(others[s.group], f.book.nodes[s.place.Node].node)
	}
	for _, h := range f.held {
		others[h.Group] = append(others[h.Group], f.book.nodes[h.Place.Node].node)
	}
	check := func(t *schedule.Topology, in func(int) bool) bool {
		if t == nil || t.Required == "" {
			return true
		}
		at, ok := domainOf(n, t.Levels, t.Required)
		if !ok {
			return false
		}
		for o, nodes := range others {
			for _, other := range nodes {
				if d, _ := domainOf(other, t.Levels, t.Required); in(o) && d != at {
					return false
				}
			}
		}
		return true
	}
	if !check(sh.Groups[g].Topology, func(o int) bool { return o == g }) {
		return false
	}
	for s := sh.Groups[g].Set; s >= 0; s = sh.Sets[s].Parent {
		if !check(sh.Sets[s].Topology, func(o int) bool { return within(sh, o, s) }) {
			return false
		}
	}
	return true
}

// within reports whether group g is in set, or in one below it.
func within(sh *schedule.Shape, g, set int) bool {
	for s := sh.Groups[g].Set; s >= 0; s = sh.Sets[s].Parent {
		if s == set {
			return true
		}
	}
	return false
}
