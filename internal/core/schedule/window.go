package schedule

import (
	"math"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
)

// pass is which windows keep a job off their nodes, and which one it has to be
// in. Jobs with equal passes may go to the same sites.
type pass struct {
	only   int32  // index of the window that it names, from 1; 0: none, -1: not there or not now
	barred string // indexes of windows, two bytes each, in order
}

func (p *pass) bar(w int) {
	p.barred += string([]byte{byte(w >> 8), byte(w)})
}

func (p pass) bars(w int32) bool {
	for i := 0; i+1 < len(p.barred); i += 2 {
		if int32(p.barred[i])<<8|int32(p.barred[i+1]) == w {
			return true
		}
	}
	return false
}

// admits reports whether one with the pass may go to s.
func (s *site) admits(p pass) bool {
	if p.only < 0 || p.only > 0 && !slices.Contains(s.windows, p.only-1) {
		return false
	}
	return !slices.ContainsFunc(s.windows, p.bars)
}

// maxWindows bounds how many windows count; the sooner declared go first.
const maxWindows = math.MaxUint16

// windows is what a state knows of windows.
type windows struct {
	list  []Window
	since int64 // when passes were made last
	until int64 // from when one may be another
}

// SetWindows says which windows there are.
func (st *State) SetWindows(all []Window) {
	if len(all) > maxWindows {
		all = all[:maxWindows]
	}
	if slices.EqualFunc(st.win.list, all, sameWindow) {
		return
	}
	st.changes()
	ids := make([]core.WorkloadID, 0, len(st.jobs))
	for id := range st.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	jobs := make([]Job, len(ids))
	for i, id := range ids {
		jobs[i] = st.jobs[id].Job
		st.DropJob(id)
	}
	st.asks = map[string]*ask{} // passes are by the places of windows
	st.win = windows{list: slices.Clone(all), until: st.now}
	for _, s := range st.sites {
		s.windows = st.windowsOn(s.node.ID)
	}
	for _, p := range st.pools {
		p.forget()
	}
	for i := range jobs {
		st.PutJob(jobs[i])
	}
}

func sameWindow(a, b Window) bool {
	return a.Name == b.Name && a.Start == b.Start && a.Length == b.Length && a.Every == b.Every && a.Closed == b.Closed && a.Open == b.Open && a.Leave == b.Leave &&
		slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Queues, b.Queues) && slices.Equal(a.Users, b.Users)
}

// Windows are those that were set.
func (st *State) Windows() []Window { return st.win.list }

// windowsOn are the windows of a node, by their places.
func (st *State) windowsOn(id core.NodeID) []int32 {
	var out []int32
	for i := range st.win.list {
		if _, found := slices.BinarySearch(st.win.list[i].Nodes, id); found {
			out = append(out, int32(i))
		}
	}
	return out
}

// belongs reports whether a job is of those for whom w is.
func (st *State) belongs(j *Job, w *Window) bool {
	if w.Closed || len(w.Users) > 0 && !slices.Contains(w.Users, j.User) {
		return false
	}
	if len(w.Queues) == 0 {
		return true
	}
	for q := st.queues.find(j.Queue); q >= 0; q = st.queues.list[q].parent {
		if slices.Contains(w.Queues, st.queues.list[q].ID) {
			return true
		}
	}
	return false
}

// uses reports whether w lets j in: it is for it, and j names it, or need not.
func (st *State) uses(j *Job, w *Window) bool {
	return (j.Window == w.Name || j.Window == "" && w.Open) && st.belongs(j, w)
}

// passOf is which windows keep j off their nodes now, and from when that may be
// otherwise by itself.
func (st *State) passOf(j *Job) (pass, int64) {
	var p pass
	until := int64(math.MaxInt64)
	if j.Window != "" {
		p.only = -1
	}
	for i := range st.win.list {
		w := &st.win.list[i]
		start, end, ok := w.At(st.now)
		if !ok {
			continue
		}
		in := st.now >= start
		if in {
			until = min(until, end)
		} else {
			until = min(until, start)
		}
		switch {
		case st.uses(j, w):
			if j.Window == w.Name && in {
				p.only = int32(i) + 1
			}
			continue // its own does not keep it out
		case in:
			p.bar(i)
		case j.Preemptible && !w.Leave:
			// It leaves when the window begins.
		case j.MaxRun <= 0 || st.now+j.MaxRun > start:
			p.bar(i)
		default:
			until = min(until, start-j.MaxRun+1)
		}
	}
	return p, until
}

// refresh gives every job its pass anew, where the time may have changed one.
func (st *State) refresh() {
	if len(st.win.list) == 0 || st.now < st.win.until && st.now >= st.win.since {
		return
	}
	st.win.since, st.win.until = st.now, math.MaxInt64
	ids := make([]core.WorkloadID, 0, len(st.jobs))
	for id, j := range st.jobs {
		p, until := st.passOf(&j.Job)
		if st.win.until = min(st.win.until, until); p != j.pass {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		st.PutJob(st.jobs[id].Job)
	}
}

// awaits is what keeps j from being looked at because the window that it names
// is not there, not for it, or has not begun; nil: nothing.
func (st *State) awaits(j *job) *Reason {
	if j.pass.only >= 0 {
		return nil
	}
	r := &Reason{Token: InReservation, Reservation: j.Window, Note: "it does not exist"}
	for i := range st.win.list {
		w := &st.win.list[i]
		if w.Name != j.Window {
			continue
		}
		start, end, ok := w.At(st.now)
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

// keptAway is the window that keeps j off the most nodes of p, if it would have
// room without windows.
func (st *State) keptAway(p *pool, j *job, tries []try) []Reason {
	if j.pass == (pass{}) {
		return nil
	}
	nodes := map[int32]int{}
	for _, x := range st.wanted(j, tries) {
		a := st.askOf(x.ask.need, x.ask.rule, pass{})
		have := 0
		for _, s := range p.sites {
			if !st.allowed(s, a) {
				continue
			}
			room := s.room(a, x.count)
			if have += room; room > 0 && !s.admits(j.pass) {
				for _, w := range s.windows {
					if j.pass.bars(w) {
						nodes[w]++
					}
				}
			}
		}
		if have < x.count {
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
	w := &st.win.list[all[0]]
	r := Reason{Token: InReservation, Reservation: w.Name, Nodes: nodes[all[0]], OfNodes: len(p.sites), Tasks: int64(total(tries)), Limit: j.MaxRun}
	r.From, r.Until, _ = w.At(st.now)
	if st.now >= r.From {
		r.Note = "it has begun"
	}
	return []Reason{r}
}
