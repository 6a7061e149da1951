package scenario

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
)

// seats are which devices of its node each task that has a place is on, by its
// position in the state. Those that share one say so by their labels; the rest
// is in order.
type seats struct {
	t     *translation
	of    map[int][]int
	next  map[string]int         // by node: how many of its devices have been given
	used  map[string]map[int]int // by node: thousandths of the shared ones that are in use
	named map[string]int         // by node and label
	going map[string][]int       // by node: devices that tasks on their way out have
}

// seat finds the seats. What was promised in the state a case begins in comes
// last: it waits for a device that others still have, and is on top of them.
func (t *translation) seat() {
	s := &seats{t: t, of: map[int][]int{}, next: map[string]int{}, used: map[string]map[int]int{}, named: map[string]int{}, going: map[string][]int{}}
	t.devices = s.of
	for pass := range 6 { // shares with a label, without, whole devices; then the same of promises
		for i := range t.state.Tasks {
			x := &t.state.Tasks[i]
			if x.Node == "" || x.Status != Pipelined && !holds(x.Status) {
				continue
			}
			n := t.need(x)
			shared := n.Devices > 0 && (n.Milli < 1000 || n.GPUMemory > 0)
			if order := bit(!shared) + bit(!shared || len(x.Groups) == 0) + 3*bit(x.Status == Pipelined); order == pass {
				s.sit(i, x, n, shared)
			}
		}
	}
}

func (s *seats) sit(i int, x *TaskState, n schedule.Need, shared bool) {
	milli := s.t.milli(x, n)
	for k := range n.Devices {
		var d int
		switch {
		case shared && k < len(x.Groups):
			key := x.Node + "/" + x.Groups[k]
			at, ok := s.named[key]
			if !ok {
				at = s.fresh(x)
				s.named[key] = at
			}
			d = at
		case shared:
			d = s.beside(i, x.Node, milli)
			if d < 0 {
				d = s.fresh(x)
			}
		default:
			d = s.fresh(x)
		}
		if shared {
			if s.used[x.Node] == nil {
				s.used[x.Node] = map[int]int{}
			}
			s.used[x.Node][d] += milli
		}
		s.of[i] = append(s.of[i], d)
		if x.Status == Releasing || x.Status == StuckInReleasing {
			s.going[x.Node] = append(s.going[x.Node], d)
		}
	}
}

// fresh is the next device of the node that nobody has; of a promise, if there is
// none, the first that is on its way out.
func (s *seats) fresh(x *TaskState) int {
	node := x.Node
	if x.Status == Pipelined && s.next[node] >= s.t.gpus(node) && len(s.going[node]) > 0 {
		d := s.going[node][0]
		s.going[node] = slices.DeleteFunc(s.going[node], func(other int) bool { return other == d })
		return d
	}
	d := s.next[node]
	s.next[node]++
	return d
}

// beside is the first shared device of the node with so much room on which task i
// is not yet; negative: there is none.
func (s *seats) beside(i int, node string, milli int) int {
	best := -1
	for d, used := range s.used[node] {
		if used+milli <= 1000 && !slices.Contains(s.of[i], d) && (best < 0 || d < best) {
			best = d
		}
	}
	return best
}

func (t *translation) gpus(node string) int {
	for i := range t.c.Nodes {
		if t.c.Nodes[i].Name == node {
			return t.c.Nodes[i].GPUs
		}
	}
	return 0
}
