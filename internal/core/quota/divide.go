package quota

import (
	"cmp"
	"slices"
)

// Divider computes shares and keeps its buffers for the next time. The zero
// value is ready; it is not safe for concurrent use.
type Divider struct {
	order  []int32 // queues by parent, then priority, age and index
	first  []int32 // order[first[p+1]:first[p+2]] are the children of p
	below  []int32 // parents whose children are still to be given something
	claims []claim
	bands  []int // ends of the priority bands in claims
	open   []int // ends of those in each band who are not satisfied
}

// claim is a queue that wants more than its quota, while the rest is divided.
type claim struct {
	queue  int32
	rank   int32 // among its siblings, by age and index
	weight int64 // as configured, at most MaxWeight
	usage  float64
	part   int64 // the weight of this round, after usage
	need   int64
	// What rounding kept back of it in the last round: over + under/divisor,
	// the divisor being the same for all of a band.
	over  int64
	under uint64
}

// Share returns the fair share of every queue, in out if that is long enough.
//
// Each resource is divided for itself, from the top of the tree down; what a
// queue gets is what its children divide. First each gets what it demands of
// its quota, even if all quotas together exceed what there is; what it keeps
// of that is nobody else's, wanted or not. What is left
// goes to the highest priority first, by weight, in whole units (devices,
// thousandths of cores, 10^6 bytes) except to who needs no more than that.
// What rounding kept back is given a unit at a time: highest priority first,
// then to the largest remainder, the older and the lower index. So list queues
// by name, and equals are served by name.
//
// With k above 0 a queue that had more than its part of the cluster lately
// gets less: its weight w, relative to its siblings', counts as
// max(0, w+k(w-usage)).
//
// A queue whose parents form a circle, or whose parent is no queue, gets nothing.
func (d *Divider) Share(total Amounts, queues []Queue, k float64, out []Amounts) []Amounts {
	if cap(out) < len(queues) {
		out = make([]Amounts, len(queues))
	}
	out = out[:len(queues)]
	clear(out)
	d.arrange(queues)
	d.below = append(d.below[:0], -1)
	for len(d.below) > 0 {
		parent := d.below[len(d.below)-1]
		d.below = d.below[:len(d.below)-1]
		pot := total
		if parent >= 0 {
			pot = out[parent]
		}
		children := d.children(parent)
		for r := range Resources {
			d.divide(queues, children, r, pot[r], k, out)
		}
		for _, c := range children {
			if len(d.children(c)) > 0 {
				d.below = append(d.below, c)
			}
		}
	}
	return out
}

func (d *Divider) children(parent int32) []int32 {
	return d.order[d.first[parent+1]:d.first[parent+2]]
}

// arrange fills order and first. It begins with the order of the last call:
// queues seldom change between two cycles, and sorting what is sorted is cheap.
func (d *Divider) arrange(queues []Queue) {
	n := len(queues)
	parent := func(i int32) int {
		if p := queues[i].Parent; p >= -1 && p < n {
			return p
		}
		return n // after all others, and nobody's child
	}
	if len(d.order) != n {
		d.order = slices.Grow(d.order[:0], n)[:n]
		for i := range d.order {
			d.order[i] = int32(i)
		}
	}
	slices.SortFunc(d.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(parent(a), parent(b)), cmp.Compare(queues[b].Priority, queues[a].Priority),
			cmp.Compare(queues[a].Age, queues[b].Age), cmp.Compare(a, b))
	})
	d.first = slices.Grow(d.first[:0], n+2)[:n+2]
	at := 0
	for p := -1; p <= n; p++ {
		d.first[p+1] = int32(at)
		for at < n && parent(d.order[at]) == p {
			at++
		}
	}
}

// divide gives pot to siblings.
func (d *Divider) divide(queues []Queue, siblings []int32, r Resource, pot int64, k float64, out []Amounts) {
	pot = max(pot, 0)
	rest, used := pot, false
	d.claims, d.bands = d.claims[:0], d.bands[:0]
	for at, i := range siblings {
		q := &queues[i]
		demand := q.demand(r)
		give := q.Quota[r]
		if give < 0 {
			give = pot
		}
		give = min(give, demand)
		out[i][r] = give
		if rest >= 0 { // below zero it can only fall, and would wrap around
			rest -= max(give, q.Keep[r])
		}
		if at > 0 && q.Priority != queues[siblings[at-1]].Priority {
			d.bands = append(d.bands, len(d.claims))
		}
		if demand > give && q.Weight[r] > 0 {
			d.claims = append(d.claims, claim{queue: i, rank: int32(at), weight: min(q.Weight[r], MaxWeight), usage: q.Usage[r], need: demand - give})
			used = used || q.Usage[r] > 0
		}
	}
	if rest <= 0 || len(d.claims) == 0 {
		return
	}
	d.bands = append(d.bands, len(d.claims))
	d.open = slices.Grow(d.open[:0], len(d.bands))[:len(d.bands)]
	if !used || !(k > 0) {
		k = 0
	}
	from := 0
	for b, end := range d.bands {
		open := 0
		rest, open = byWeight(d.claims[from:end], r, rest, k, out)
		from, d.open[b] = end, from+open
	}
	from = 0
	for b, end := range d.bands {
		rest = byRemainder(d.claims[from:d.open[b]], r, rest, out)
		from = end
	}
}

// byWeight divides rest among the claims of one band until nobody is satisfied
// with less than its part. It moves those still open to the front and returns
// what is left, and how many are open.
func byWeight(claims []claim, r Resource, rest int64, k float64, out []Amounts) (int64, int) {
	for rest > 0 && len(claims) > 0 {
		sum := weigh(claims, k)
		pot, again, open := rest, false, 0
		for i := range claims {
			c := &claims[i]
			part, under := mulDiv(uint64(pot), uint64(c.part), sum)
			give := c.need
			if uint64(c.need) <= part {
				again = again || uint64(c.need) < part || under > 0
			} else {
				c.over, c.under = int64(part)%unit[r], under
				give = int64(part) - c.over
			}
			rest -= give
			out[c.queue][r] += give
			if c.need -= give; c.need > 0 {
				if i != open {
					claims[open] = *c
				}
				open++
			}
		}
		claims = claims[:open]
		if !again {
			break
		}
	}
	return rest, len(claims)
}

// byRemainder gives what rounding kept back, at most a unit to each, in the
// order of first. Nearly everyone gets a unit or nothing, so instead of sorting
// it looks for the one in the middle at whom the rest ends.
func byRemainder(claims []claim, r Resource, rest int64, out []Amounts) int64 {
	for rest > 0 && len(claims) > 0 {
		middle := claims[len(claims)/2]
		before, sum := 0, int64(0)
		for i := range claims {
			if claims[i].first(&middle) {
				sum += claims[i].roundUp(r)
				claims[i], claims[before] = claims[before], claims[i]
				before++
			}
		}
		if sum > rest {
			claims = claims[:before]
			continue
		}
		for i := range claims[:before] {
			out[claims[i].queue][r] += claims[i].roundUp(r)
		}
		rest -= sum
		give := min(middle.roundUp(r), rest)
		out[middle.queue][r] += give
		rest -= give
		claims = claims[before:]
		at := slices.IndexFunc(claims, func(c claim) bool { return c.queue == middle.queue })
		claims[at] = claims[0]
		claims = claims[1:]
	}
	return rest
}

// first reports whether c is rounded up before o.
func (c *claim) first(o *claim) bool {
	switch {
	case c.over != o.over:
		return c.over > o.over
	case c.under != o.under:
		return c.under > o.under
	}
	return c.rank < o.rank
}

// roundUp is what the claim gets if enough is left.
func (c *claim) roundUp(r Resource) int64 {
	if c.over == 0 && c.under == 0 {
		return 0
	}
	return min(unit[r], c.need)
}
