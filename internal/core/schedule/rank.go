package schedule

import (
	"cmp"
	"container/heap"
)

// wish is what a ranking is made for.
type wish struct {
	need Need
	pool string
}

// ranking is a heap of the seats that serve one wish, the best on top. Within a
// cycle seats only fill up, so that one that is too full is dropped for good,
// and one that has changed gets a new entry beside its old one, which is
// dropped when it comes up.
type ranking struct {
	items []rank
	at    int // how much of the board's log it has seen
}

// rank is how well a seat serves, as it was at that turn; lower is better.
type rank struct {
	first, second, third int64
	seat, turn           int
}

func (r *ranking) Len() int      { return len(r.items) }
func (r *ranking) Swap(i, j int) { r.items[i], r.items[j] = r.items[j], r.items[i] }
func (r *ranking) Less(i, j int) bool {
	a, b := &r.items[i], &r.items[j]
	return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second), cmp.Compare(a.third, b.third), cmp.Compare(a.seat, b.seat)) < 0
}

// Push and Pop serve container/heap, which is used without them: they would
// allocate for every entry.
func (r *ranking) Push(x any) { r.items = append(r.items, x.(rank)) }

// Pop serves container/heap.
func (r *ranking) Pop() any {
	last := r.items[len(r.items)-1]
	r.items = r.items[:len(r.items)-1]
	return last
}

func (r *ranking) add(x rank) {
	r.items = append(r.items, x)
	heap.Fix(r, len(r.items)-1)
}

func (r *ranking) drop() {
	last := len(r.items) - 1
	r.items[0] = r.items[last]
	if r.items = r.items[:last]; last > 0 {
		heap.Fix(r, 0)
	}
}

// rank says how well seat i serves n: work without GPUs stays off GPU nodes,
// then the fullest (or emptiest) node wins, then the lower name.
func (b *board) rank(i int, n Need) rank {
	s := &b.seats[i]
	r := rank{second: int64(s.sum), third: s.cpu, seat: i, turn: s.turn}
	if n.Devices == 0 {
		r.second, r.third = r.third, r.second
	}
	if !b.pack {
		r.second, r.third = -r.second, -r.third
	}
	if n.Devices == 0 && len(s.free) > 0 {
		r.first = 1
	}
	return r
}

// find returns the seat that serves n best in pool; negative: none does.
func (b *board) find(n Need, pool string) int {
	r := b.ranks[wish{n, pool}]
	serves := func(i int) bool { return (pool == "" || b.seats[i].node.Pool == pool) && b.seats[i].holds(n) }
	if r == nil {
		r = new(ranking)
		for i := range b.seats {
			if serves(i) {
				r.items = append(r.items, b.rank(i, n))
			}
		}
		heap.Init(r)
		b.ranks[wish{n, pool}] = r
	} else {
		for _, t := range b.log[r.at:] {
			if serves(t.seat) {
				r.add(b.rank(t.seat, n))
			}
		}
	}
	r.at = len(b.log)
	for ; len(r.items) > 0; r.drop() {
		if top := r.items[0]; top.turn == b.seats[top.seat].turn {
			return top.seat
		}
	}
	return -1
}
