package ledger

import (
	"cmp"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Held is what the account's queue has places for.
func (a *Account) Held() quota.Amounts { return a.Alloc.Sub(a.Marked) }

// Account is what one queue has in one pool.
type Account struct {
	schedule.Quota
	Alloc   quota.Amounts // held, without what leaves, or marked
	Fixed   quota.Amounts // of that, by jobs that are never displaced
	Marked  quota.Amounts // of alloc, what is reserved for jobs that hold nothing yet
	Wanted  quota.Amounts // by those who wait, where it is first for them
	Request quota.Amounts // held and wanted
	Share   quota.Amounts // fair share
	Kept    quota.Amounts // of Quota, what others never get; of those below it too
	May     quota.Amounts // min(limit, max(quota, share)): what it may claim
	Victims []*Job        // preemptible, who leaves first at the front
	News    News          // sites on which those of the queue hold something, or did
	Gone    int           // how many of victims, from the front, hold nothing any more in this cycle
}

// Plus is a + sign·b.
func Plus(a, b quota.Amounts, sign int64) quota.Amounts {
	for r := range a {
		a[r] += sign * b[r]
	}
	return a
}

// VictimOrder is the order in which jobs of one queue are taken from: the
// reverse of the order in which they are served.
func VictimOrder(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Level(), a.Level()), Older(b, a))
}

// AddVictim notes that j may be made to leave.
func (a *Account) AddVictim(j *Job) {
	i := sort.Search(len(a.Victims), func(i int) bool { return VictimOrder(a.Victims[i], j) >= 0 })
	a.Victims = slices.Insert(a.Victims, i, j)
}

// DropVictim notes that j may not be made to leave any more.
func (a *Account) DropVictim(j *Job) {
	i := sort.Search(len(a.Victims), func(i int) bool { return VictimOrder(a.Victims[i], j) >= 0 })
	for i < len(a.Victims) && a.Victims[i] != j {
		i++
	}
	if i == len(a.Victims) { // its level has changed since
		i = slices.Index(a.Victims, j)
	}
	if i >= 0 {
		a.Victims = slices.Delete(a.Victims, i, i+1)
	}
}
