package displace

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// row is the children of one queue as a heap: on top whoever is to be taken from
// next.
type row struct {
	heap  []int32
	taken bool // from the top, since it came there
	log   int  // the cycle's journal when the row was made
}

type rowKey struct {
	pool   *ledger.Pool
	parent int32
}

// ranked is the row of a queue's children in this search. All searches begin with the
// same one until somebody gets a place.
func (h *victimSearch) ranked(parent int32) *row {
	if r := h.rows[parent]; r != nil {
		return r
	}
	c, key := h.c, rowKey{h.pool, parent}
	first, known := c.rows[key]
	if !known || first.log != h.mark {
		first = row{heap: slices.Clone(childrenOf(c.St, parent)), log: h.mark}
		for i := len(first.heap)/2 - 1; i >= 0; i-- {
			first.down(h, i)
		}
		if c.rows == nil {
			c.rows = map[rowKey]row{}
		}
		c.rows[key] = first // nobody below was told to go yet
	}
	r := &row{heap: slices.Clone(first.heap)}
	h.rows[parent] = r
	return r
}

func (r *row) down(h *victimSearch, i int) {
	for q := r.heap; ; {
		k := 2*i + 1
		if k >= len(q) {
			return
		}
		if k+1 < len(q) && h.poorer(q[k], q[k+1]) < 0 {
			k++
		}
		if h.poorer(q[i], q[k]) >= 0 {
			return
		}
		q[i], q[k] = q[k], q[i]
		i = k
	}
}
