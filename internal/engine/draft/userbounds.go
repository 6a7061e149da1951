package draft

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

// UserBounds are what users may have over all projects, by name, as the draft has it.
func UserBounds(tx *Tx) map[string]core.UserBound {
	return Over(tx.State.bounds, tx.Org.UserBounds, func(x *core.UserBound) core.UserBound { return *x })
}

// UserBound is what holds for a user: of their own, or of each who has none; false:
// nothing.
func UserBound(tx *Tx, user string) (core.UserBound, bool) {
	all := UserBounds(tx)
	b, ok := all[user]
	if !ok {
		b, ok = all[core.AnyUser]
	}
	return b, ok && user != ""
}

// BoundsFor are the same as the scheduler counts them.
func BoundsFor(tx *Tx) []schedule.UserBound {
	all := UserBounds(tx)
	out := make([]schedule.UserBound, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b := schedule.UserBound{User: name, GPU: -1, Jobs: all[name].MaxRunning}
		if name == core.AnyUser {
			b.User = ""
		}
		if g := all[name].GPU; g != nil {
			b.GPU = int64(*g * 1000)
		}
		out = append(out, b)
	}
	return out
}
