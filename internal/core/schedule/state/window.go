package state

import (
	"math"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Pass is which windows keep a job off their nodes, and which one it has to be
// in. Jobs with equal passes may go to the same sites.
type Pass struct {
	Only   int32  // index of the window that it names, from 1; 0: none, -1: not there or not now
	barred string // indexes of windows, two bytes each, in order
}

func (p *Pass) bar(w int) {
	p.barred += string([]byte{byte(w >> 8), byte(w)})
}

func (p Pass) bars(w int32) bool {
	for i := 0; i+1 < len(p.barred); i += 2 {
		if int32(p.barred[i])<<8|int32(p.barred[i+1]) == w {
			return true
		}
	}
	return false
}

// Admits reports whether one with the pass may go to s.
func (s *Site) Admits(p Pass) bool {
	if p.Only < 0 || p.Only > 0 && !slices.Contains(s.windows, p.Only-1) {
		return false
	}
	return !slices.ContainsFunc(s.windows, p.bars)
}

// maxWindows bounds how many windows count; the sooner declared go first.
const maxWindows = math.MaxUint16

// windows is what a state knows of windows.
type windows struct {
	List  []schedule.Window
	since int64 // when passes were made last
	until int64 // from when one may be another
}

// SetWindows says which windows there are.
func (st *State) SetWindows(all []schedule.Window) {
	if len(all) > maxWindows {
		all = all[:maxWindows]
	}
	if slices.EqualFunc(st.Win.List, all, sameWindow) {
		return
	}
	st.Changes()
	ids := make([]core.WorkloadID, 0, len(st.Jobs))
	for id := range st.Jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	jobs := make([]schedule.Job, len(ids))
	for i, id := range ids {
		jobs[i] = st.Jobs[id].Job
		st.DropJob(id)
	}
	st.Asks = map[string]*Ask{} // passes are by the places of windows
	st.Win = windows{List: slices.Clone(all), until: st.Now}
	for _, s := range st.Sites {
		s.windows = st.windowsOn(s.Node.ID)
	}
	for _, p := range st.Pools {
		p.forget()
	}
	for i := range jobs {
		st.PutJob(jobs[i])
	}
}

func sameWindow(a, b schedule.Window) bool {
	return a.Name == b.Name && a.Start == b.Start && a.Length == b.Length && a.Every == b.Every && a.Closed == b.Closed && a.Open == b.Open && a.Leave == b.Leave &&
		slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Queues, b.Queues) && slices.Equal(a.Users, b.Users)
}

// Windows are those that were set.
func (st *State) Windows() []schedule.Window { return st.Win.List }

// windowsOn are the windows of a node, by their places.
func (st *State) windowsOn(id core.NodeID) []int32 {
	var out []int32
	for i := range st.Win.List {
		if _, found := slices.BinarySearch(st.Win.List[i].Nodes, id); found {
			out = append(out, int32(i))
		}
	}
	return out
}

// belongs reports whether a job is of those for whom w is.
func (st *State) belongs(j *schedule.Job, w *schedule.Window) bool {
	if w.Closed || len(w.Users) > 0 && !slices.Contains(w.Users, j.User) {
		return false
	}
	if len(w.Queues) == 0 {
		return true
	}
	for q := st.Queues.Find(j.Queue); q >= 0; q = st.Queues.List[q].ParentIndex {
		if slices.Contains(w.Queues, st.Queues.List[q].ID) {
			return true
		}
	}
	return false
}

// Uses reports whether w lets j in: it is for it, and j names it, or need not.
func (st *State) Uses(j *schedule.Job, w *schedule.Window) bool {
	return (j.Window == w.Name || j.Window == "" && w.Open) && st.belongs(j, w)
}

// passOf is which windows keep j off their nodes now, and from when that may be
// otherwise by itself.
func (st *State) passOf(j *schedule.Job) (Pass, int64) {
	var p Pass
	until := int64(math.MaxInt64)
	if j.Window != "" {
		p.Only = -1
	}
	for i := range st.Win.List {
		w := &st.Win.List[i]
		start, end, ok := w.At(st.Now)
		if !ok {
			continue
		}
		in := st.Now >= start
		if in {
			until = min(until, end)
		} else {
			until = min(until, start)
		}
		switch {
		case st.Uses(j, w):
			if j.Window == w.Name && in {
				p.Only = int32(i) + 1
			}
			continue // its own does not keep it out
		case in:
			p.bar(i)
		case j.Preemptible && !w.Leave:
			// It leaves when the window begins.
		case j.MaxRun <= 0 || st.Now+j.MaxRun > start:
			p.bar(i)
		default:
			until = min(until, start-j.MaxRun+1)
		}
	}
	return p, until
}

// Refresh gives every job its pass anew, where the time may have changed one.
func (st *State) Refresh() {
	if len(st.Win.List) == 0 || st.Now < st.Win.until && st.Now >= st.Win.since {
		return
	}
	st.Win.since, st.Win.until = st.Now, math.MaxInt64
	ids := make([]core.WorkloadID, 0, len(st.Jobs))
	for id, j := range st.Jobs {
		p, until := st.passOf(&j.Job)
		if st.Win.until = min(st.Win.until, until); p != j.Pass {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		st.PutJob(st.Jobs[id].Job)
	}
}

// Awaits is what keeps j from being looked at because the window that it names
// is not there, not for it, or has not begun; nil: nothing.
func (st *State) Awaits(j *Job) *schedule.Reason {
	if j.Pass.Only >= 0 {
		return nil
	}
	r := &schedule.Reason{Token: schedule.InReservation, Reservation: j.Window, Note: "it does not exist"}
	for i := range st.Win.List {
		w := &st.Win.List[i]
		if w.Name != j.Window {
			continue
		}
		start, end, ok := w.At(st.Now)
		switch {
		case !ok:
			r.Note = "it is over"
		case !st.belongs(&j.Job, w):
			r.Note = "it is not for this project and user"
		default:
			r.Note, r.From, r.Until = "", start, end
		}
	}
	return r
}

// KeptAway is the window that keeps j off the most nodes of p, if it would have
// room without windows.
func (st *State) KeptAway(p *Pool, j *Job, tries []Try) []schedule.Reason {
	if j.Pass == (Pass{}) {
		return nil
	}
	nodes := map[int32]int{}
	for _, x := range st.Wanted(j, tries) {
		a := st.AskOf(x.Ask.Need, x.Ask.Rule, Pass{})
		have := 0
		for _, s := range p.Sites {
			if !st.Allowed(s, a) {
				continue
			}
			room := s.Room(a, x.Count)
			if have += room; room > 0 && !s.Admits(j.Pass) {
				for _, w := range s.windows {
					if j.Pass.bars(w) {
						nodes[w]++
					}
				}
			}
		}
		if have < x.Count {
			return nil
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	all := make([]int32, 0, len(nodes))
	for w := range nodes {
		all = append(all, w)
	}
	sort.Slice(all, func(a, b int) bool {
		if nodes[all[a]] != nodes[all[b]] {
			return nodes[all[a]] > nodes[all[b]]
		}
		return all[a] < all[b]
	})
	w := &st.Win.List[all[0]]
	r := schedule.Reason{Token: schedule.InReservation, Reservation: w.Name, Nodes: nodes[all[0]], OfNodes: len(p.Sites), Tasks: int64(Total(tries)), Limit: j.MaxRun}
	r.From, r.Until, _ = w.At(st.Now)
	if st.Now >= r.From {
		r.Note = "it has begun"
	}
	return []schedule.Reason{r}
}
