package explain

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// whySegments says that j's segments find no room, each in one domain of its
// own, if all else of j does; the second result is false otherwise. Of the
// reason only what is about segments is filled in.
func whySegments(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) (schedule.Reason, bool) {
	first := slices.IndexFunc(tries, func(t ledger.Try) bool {
		g := &j.Shape.Groups[t.Group]
		return g.Segment > 0 && g.Topology != nil && g.Topology.Required != ""
	})
	if first < 0 || !fitsLoose(st, p, j, tries) {
		return schedule.Reason{}, false
	}
	t := j.Shape.Groups[tries[first].Group].Topology
	level := slices.Index(t.Levels, t.Required)
	if level < 0 {
		return schedule.Reason{}, false
	}
	r := schedule.Reason{Domain: t.Required, Segment: int64(j.Shape.Groups[tries[first].Group].Segment)}
	one := tries[first : first+1]
	for _, b := range blocks(st, p, j, one, t, level) {
		b.Fitting = min(b.Fitting, r.Segment)
		r.Blocks = append(r.Blocks, b)
	}
	r.Blocks = r.Blocks[:min(len(r.Blocks), blocksShown)]
	segments := slices.DeleteFunc(slices.Clone(tries), func(t ledger.Try) bool { return j.Shape.Groups[t.Group].Segment == 0 })
	r.Tasks, r.Fitting = int64(len(segments)), mostSegments(st, p, j, segments)
	if root, _ := required(j); root != nil {
		r.Note = root.Required
	}
	return r, true
}

// fitsLoose reports whether j has room in p if its segments may be anywhere.
func fitsLoose(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) bool {
	groups := slices.Clone(j.Shape.Groups)
	for g := range groups {
		if groups[g].Segment > 0 {
			groups[g].Topology = nil
		}
	}
	x := *j
	x.Shape, x.JobClass, x.Asks, x.Holds = schedule.NewShape(j.Shape.Sets, groups), nil, nil, slices.Clone(j.Holds)
	mark := len(st.Log)
	ok := place.PlaceIn(st, p, &x, tries)
	st.Undo(mark)
	return ok
}

// mostSegments is how many of the segments have room together, those in front.
func mostSegments(st *state.State, p *ledger.Pool, j *ledger.Job, segments []ledger.Try) int64 {
	if n, ok := countSegments(st, p, j, segments); ok {
		return n
	}
	lo, hi := 0, len(segments)-1 // all of them have no room together
	for lo < hi {
		n, mark := (lo+hi+1)/2, len(st.Log)
		if place.PlaceIn(st, p, j, segments[:n]) {
			lo = n
		} else {
			hi = n - 1
		}
		st.Undo(mark)
	}
	return int64(lo)
}

// countSegments is mostSegments by arithmetic, where all but the last are alike
// and of equal tasks that may be anywhere.
func countSegments(st *state.State, p *ledger.Pool, j *ledger.Job, segments []ledger.Try) (int64, bool) {
	first := segments[0]
	grp, t := &j.Shape.Groups[first.Group], j.Shape.Groups[first.Group].Topology
	a := st.NextRun(j, first.Group, j.Placed[first.Group])
	level := slices.Index(t.Levels, t.Required)
	if a == nil || place.Social(a) || len(grp.Runs) != 1 || level < 0 || len(j.Holds) > 0 {
		return 0, false
	}
	alikes := 0
	for _, x := range segments {
		alikes += ledger.Bit(place.Alike(grp, &j.Shape.Groups[x.Group]))
	}
	if alikes < len(segments)-1 {
		return 0, false
	}
	subs := p.PartsFor(j)
	if root, at := required(j); root != nil {
		subs = nil
		for _, sites := range place.DomainsOf(p, root.Levels).Sites[at] {
			subs = append(subs, &ledger.Subset{Pool: p, Sites: sites})
		}
	}
	most := 0
	for _, sub := range subs {
		most = max(most, place.SegmentsIn(st, sub, t.Levels, level, a, first.Count, alikes))
	}
	return int64(min(most, len(segments)-1)), true
}
