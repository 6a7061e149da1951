package place

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Segments divides tasks that are still to be placed into groups of size each,
// in their order: every group whole, and within a domain of its own that t asks
// for. The last has what is left. All of them have t itself.
func Segments(size int, t *schedule.Topology, runs []schedule.Run) []schedule.Group {
	var out []schedule.Group
	for _, r := range runs {
		for left := r.Count; left > 0; {
			last := len(out) - 1
			if last < 0 || out[last].Min == size {
				out = append(out, schedule.Group{Name: "segment", Topology: t, Segment: size})
				last++
			}
			g := &out[last]
			n := min(left, size-g.Min)
			g.Runs = append(g.Runs, schedule.Run{Need: r.Need, Rule: r.Rule, Count: n})
			g.Min += n
			left -= n
		}
	}
	return out
}

// Alike reports whether two groups are segments that differ in nothing.
func Alike(a, b *schedule.Group) bool {
	return a.Segment > 0 && a.Segment == b.Segment && a.Set == b.Set && a.Min == b.Min && a.Topology == b.Topology &&
		slices.EqualFunc(a.Runs, b.Runs, func(x, y schedule.Run) bool { return x == y })
}

// placeGroups puts the groups of the tries on sites of sub, each where its
// topology allows. One domain is as good as another for segments that are alike,
// since each takes the same of it. Before such as are not it tries every one.
func placeGroups(st *state.State, j *ledger.Job, tries []ledger.Try, sub *ledger.Subset) bool {
	if len(tries) == 0 {
		return true
	}
	t, rest := tries[0], tries[1:]
	grp := &j.Shape.Groups[t.Group]
	member := func(other int) bool { return other == t.Group }
	odd := grp.Segment > 0 && len(rest) > 0 && !Alike(grp, &j.Shape.Groups[rest[0].Group]) && len(grp.Runs) > 1
	if odd {
		return inDomain(st, j, near(st, grp), tries[:1], member, sub, func(part *ledger.Subset) bool {
			return PlaceGroup(st, j, t, part) && placeGroups(st, j, rest, sub)
		})
	}
	return inDomain(st, j, near(st, grp), tries[:1], member, sub, func(part *ledger.Subset) bool { return PlaceGroup(st, j, t, part) }) &&
		placeGroups(st, j, rest, sub)
}

// near is the topology of a group. While st is firm it is what a segment should
// keep to, not only what it must.
func near(st *state.State, g *schedule.Group) *schedule.Topology {
	t := g.Topology
	if st.Firm && g.Segment > 0 && t != nil && t.Preferred != "" {
		return &schedule.Topology{Levels: t.Levels, Required: t.Preferred}
	}
	return t
}

// placeFirm is placeSet, at first with every segment where it should be: without
// that the fullest domain of the gang is taken, though it may have no room for
// whole segments.
func placeFirm(st *state.State, j *ledger.Job, tries []ledger.Try, sub *ledger.Subset) bool {
	if !slices.ContainsFunc(j.Shape.Groups, func(g schedule.Group) bool { return g.Segment > 0 && g.Topology != nil && g.Topology.Preferred != "" }) {
		return placeSet(st, j, 0, tries, sub)
	}
	mark := len(st.Log)
	st.Firm = true
	ok := placeSet(st, j, 0, tries, sub)
	st.Firm = false
	if ok {
		return true
	}
	st.Undo(mark)
	return placeSet(st, j, 0, tries, sub)
}

// roomy reports whether the tries' segments may have room in sub, one domain for
// each. It is a cheap test that fails only what cannot fit.
func roomy(st *state.State, j *ledger.Job, tries []ledger.Try, sub *ledger.Subset) bool {
	first := slices.IndexFunc(tries, func(t ledger.Try) bool { return j.Shape.Groups[t.Group].Segment > 0 })
	if first < 0 || len(tries) < 2 {
		return true
	}
	tries = tries[first:]
	grp := &j.Shape.Groups[tries[0].Group]
	if len(grp.Runs) > 1 && len(tries) > 1 { // the first is odd; those after it are the many
		tries = tries[1:]
		grp = &j.Shape.Groups[tries[0].Group]
	}
	t := near(st, grp)
	if t == nil || t.Required == "" || len(grp.Runs) != 1 {
		return true
	}
	level := slices.Index(t.Levels, t.Required)
	if level < 0 {
		return false
	}
	size, want := tries[0].Count, 0
	for _, x := range tries {
		want += ledger.Bit(Alike(grp, &j.Shape.Groups[x.Group]) && x.Count == size)
	}
	a := st.NextRun(j, tries[0].Group, j.Placed[tries[0].Group])
	if a == nil {
		return false
	}
	return SegmentsIn(st, sub, t.Levels, level, a, size, want) >= want
}

// SegmentsIn is how many segments of size tasks each have room in domains of a
// level, at most limit.
func SegmentsIn(st *state.State, sub *ledger.Subset, levels []string, level int, a *ledger.Ask, size, limit int) int {
	d := DomainsOf(sub.Pool, levels)
	room := make([]int, len(d.Paths[level]))
	n := 0
	for _, s := range sub.Sites {
		i := d.At[level][s.At]
		if i < 0 || !st.Allowed(s, a) {
			continue
		}
		before := room[i] / size
		room[i] += s.Room(a, size*limit)
		if n += room[i]/size - before; n >= limit {
			return limit
		}
	}
	return n
}
