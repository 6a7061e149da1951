package state

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Foremost are at most n of those that wait to start, the first of every queue
// before the second of any: whoever can show only some shows those.
func (st *State) Foremost(n int) []core.WorkloadID {
	var heads []*head
	var counts []int
	for q := range st.Queues.List {
		h := &head{st: st}
		count := 0
		for _, l := range st.JobClassesOf(int32(q)) {
			if len(l.Jobs[0].Holds) == 0 { // who runs already does not wait to start
				h.left = append(h.left, l.Jobs)
				count += len(l.Jobs)
			}
		}
		if count > 0 {
			heads, counts = append(heads, h), append(counts, count)
		}
	}
	each := max(level(counts, n), 1)
	var ids []core.WorkloadID
	for _, h := range heads {
		heap.Init(h)
		for range each {
			if len(h.left) == 0 {
				break
			}
			if len(ids) == n {
				return ids
			}
			ids = append(ids, h.left[0][0].ID)
			if h.left[0] = h.left[0][1:]; len(h.left[0]) == 0 {
				heap.Pop(h)
			} else {
				heap.Fix(h, 0)
			}
		}
	}
	return ids
}

// level is how many of theirs each may take so that together they take at most n.
func level(counts []int, n int) int {
	counts = slices.Sorted(slices.Values(counts))
	for i, c := range counts {
		if left := len(counts) - i; c*left > n {
			return n / left
		}
		n -= c
	}
	return n + slices.Max(append(counts, 0))
}

// head is what is left of a queue, as the job classes whose firsts are compared.
type head struct {
	st   *State
	left [][]*ledger.Job
}

func (h *head) Len() int { return len(h.left) }

func (h *head) Less(i, k int) bool {
	a, b := h.left[i][0], h.left[k][0]
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), h.st.Earlier(a, b)) < 0
}

func (h *head) Swap(i, k int) { h.left[i], h.left[k] = h.left[k], h.left[i] }

func (h *head) Push(any) {} // they only become fewer

func (h *head) Pop() any {
	last := len(h.left) - 1
	h.left = h.left[:last]
	return nil
}
