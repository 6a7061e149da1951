package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule/booking"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// keptFrom is a job that keeps out of a pool.
type keptFrom struct {
	job  *ledger.Job
	pool *ledger.Pool
}

// allKept reports whether j, and all others of its job class, have room in p, and
// keep out of it for the sake of those who have a time to start: they need nobody
// to make any.
func (c *Pass) allKept(p *ledger.Pool, j *ledger.Job) bool {
	return j.JobClass != nil && slices.Contains(j.JobClass.Keeps, ledger.Room{Pool: p, Cycle: c.Id})
}

// keptAlike is the class of which all would be kept from p's room as j is, for
// the sake of those who have a time to start, or nil. They are alike where none
// of them leaves by itself, or would be made to, before somebody starts.
func (c *Pass) keptAlike(p *ledger.Pool, j *ledger.Job) *ledger.Class {
	l := j.JobClass
	if l == nil || l.Class == nil || l.Class.Key.Own || l.Limited > 0 || len(j.Holds) > 0 || len(j.Options()) != 1 || c.St.Forgetful {
		return nil
	}
	if slices.ContainsFunc(c.Booked[p], func(b *booking.Booking) bool { return b.J.Leaf == j.Leaf }) {
		return nil
	}
	return l.Class
}
