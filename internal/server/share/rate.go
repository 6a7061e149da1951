package share

import (
	"sync"
	"time"
)

// A token has 256 bits, so that nobody guesses one: the bound is for the work that
// strangers can cause, and for the audit log.
const (
	opensMost = 30 // a minute, of one address
	allMost   = 600
	fromMost  = 10_000 // addresses that are remembered
)

// rate counts requests of the present minute by address.
type rate struct {
	mu     sync.Mutex
	minute int64
	all    int
	of     map[string]int
}

// allows counts a request and reports whether it is answered.
func (r *rate) allows(address string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := now.Unix() / 60; m != r.minute || r.of == nil {
		r.minute, r.all, r.of = m, 0, map[string]int{}
	}
	r.all++
	if _, known := r.of[address]; !known && len(r.of) >= fromMost {
		return false
	}
	r.of[address]++
	return r.of[address] <= opensMost && r.all <= allMost
}
