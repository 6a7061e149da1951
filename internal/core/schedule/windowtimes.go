package schedule

import "github.com/musterhq/muster/internal/core"

// Window is a time for which nodes are kept for some, or for nobody: what a
// reservation comes to. It begins at Start and lasts for Length; with Every it
// comes again and again.
//
// While it lasts, only its own work starts on its nodes, and what may be
// displaced and is not its own leaves them. Before it begins nothing starts
// there that would run into it and may not be displaced: what has no known end,
// or one that is too late.
type Window struct {
	Name   string
	Start  int64         // unix ms, of the first time
	Length int64         // ms; more than 0
	Every  int64         // ms from one beginning to the next, at least Length; 0: only once
	Nodes  []core.NodeID // kept, sorted
	Closed bool          // for nobody: the nodes are worked on
	// Queues and Users are whose work it is for: of these queues, or below them,
	// and of these users. An empty list is no condition.
	Queues []core.ProjectID
	Users  []string
	Open   bool // its own work need not name it
	Leave  bool // what runs when it begins is left to its end
}

// At is the window's time that has not ended at now: the present one or the
// next. It is false when the last is over.
func (w *Window) At(now int64) (start, end int64, ok bool) {
	start = w.Start
	if w.Every > 0 && now >= start+w.Length {
		start += (now - start - w.Length + w.Every) / w.Every * w.Every
	}
	return start, start + w.Length, now < start+w.Length
}

// Edges are the beginnings and ends of a window's next times, at most n of them.
func (w *Window) Edges(now int64, n int) []int64 {
	var out []int64
	for range n {
		start, end, ok := w.At(now)
		if !ok {
			break
		}
		out = append(out, max(start, now), end)
		if w.Every == 0 {
			break
		}
		now = end
	}
	return out
}

// Reserve is the cause of those who leave because a window begins that is not
// for them.
const Reserve Action = "reservation"
