package state

import (
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/queues"
)

// maxWindows bounds how many windows count; the sooner declared go first.
const maxWindows = math.MaxUint16

// Windows are those that were set, with when passes have to be made again.
type Windows struct {
	List  []schedule.Window
	since int64 // when passes were made last
	until int64 // from when one may be another
}

func sameWindow(a, b schedule.Window) bool {
	return a.Name == b.Name && a.Start == b.Start && a.Length == b.Length && a.Every == b.Every && a.Closed == b.Closed && a.Open == b.Open && a.Leave == b.Leave &&
		slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Queues, b.Queues) && slices.Equal(a.Users, b.Users)
}

// on are the windows of a node, by their places.
func (ws *Windows) on(id core.NodeID) []int32 {
	var out []int32
	for i := range ws.List {
		if _, found := slices.BinarySearch(ws.List[i].Nodes, id); found {
			out = append(out, int32(i))
		}
	}
	return out
}

// belongs reports whether a job is of those for whom w is.
func belongs(qs *queues.Queues, j *schedule.Job, w *schedule.Window) bool {
	if w.Closed || len(w.Users) > 0 && !slices.Contains(w.Users, j.User) {
		return false
	}
	if len(w.Queues) == 0 {
		return true
	}
	for q := qs.Find(j.Queue); q >= 0; q = qs.List[q].ParentIndex {
		if slices.Contains(w.Queues, qs.List[q].ID) {
			return true
		}
	}
	return false
}

// Uses reports whether w lets j in: it is for it, and j names it, or need not.
func Uses(qs *queues.Queues, j *schedule.Job, w *schedule.Window) bool {
	return (j.Window == w.Name || j.Window == "" && w.Open) && belongs(qs, j, w)
}

// passOf is which windows keep j off their nodes now, and from when that may be
// otherwise by itself.
func (ws *Windows) passOf(qs *queues.Queues, j *schedule.Job, now int64) (ledger.Pass, int64) {
	var p ledger.Pass
	until := int64(math.MaxInt64)
	if j.Window != "" {
		p.Only = -1
	}
	for i := range ws.List {
		w := &ws.List[i]
		start, end, ok := w.At(now)
		if !ok {
			continue
		}
		in := now >= start
		if in {
			until = min(until, end)
		} else {
			until = min(until, start)
		}
		switch {
		case Uses(qs, j, w):
			if j.Window == w.Name && in {
				p.Only = int32(i) + 1
			}
			continue // its own does not keep it out
		case in:
			p.Bar(i)
		case j.Preemptible && !w.Leave:
			// It leaves when the window begins.
		case j.MaxRun <= 0 || now+j.MaxRun > start:
			p.Bar(i)
		default:
			until = min(until, start-j.MaxRun+1)
		}
	}
	return p, until
}

// Awaits is what keeps j from being looked at because the window that it names
// is not there, not for it, or has not begun; nil: nothing.
func (ws *Windows) Awaits(qs *queues.Queues, j *ledger.Job, now int64) *schedule.Reason {
	if j.Pass.Only >= 0 {
		return nil
	}
	r := &schedule.Reason{Token: schedule.InReservation, Reservation: j.Window, Note: "it does not exist"}
	for i := range ws.List {
		w := &ws.List[i]
		if w.Name != j.Window {
			continue
		}
		start, end, ok := w.At(now)
		switch {
		case !ok:
			r.Note = "it is over"
		case !belongs(qs, &j.Job, w):
			r.Note = "it is not for this project and user"
		default:
			r.Note, r.From, r.Until = "", start, end
		}
	}
	return r
}
