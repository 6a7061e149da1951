package draft

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/store"
)

// UserBounds are what users may have over all projects, by name, as the draft has it.
func (tx *Tx) UserBounds() map[string]core.UserBound {
	return Over(tx.State.bounds, tx.Org.UserBounds, func(x *core.UserBound) core.UserBound { return *x })
}

// UserBound is what holds for a user: of their own, or of each who has none; false:
// nothing.
func (tx *Tx) UserBound(user string) (core.UserBound, bool) {
	all := tx.UserBounds()
	b, ok := all[user]
	if !ok {
		b, ok = all[core.AnyUser]
	}
	return b, ok && user != ""
}

// BoundsFor are the same as the scheduler counts them.
func (tx *Tx) BoundsFor() []schedule.UserBound {
	all := tx.UserBounds()
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

// loadBound reads a record of a UserBound.
func (e *State) loadBound(t *core.Template) {
	var b core.UserBound
	if len(t.Versions) == 0 || json.Unmarshal([]byte(t.Last().Document), &b) != nil {
		e.D.Log.Error("a limit of a user cannot be read, and does not hold", "user", t.Name)
		return
	}
	Put(&e.bounds, t.Name, b)
}

// writeBounds puts what changes of them into the batch.
func writeBounds(tx *Tx, b *store.Batch) {
	for _, name := range slices.Sorted(maps.Keys(tx.Org.UserBounds)) {
		is := tx.Org.UserBounds[name]
		if is == nil {
			b.DropTemplates = append(b.DropTemplates, core.TemplateID{Project: core.SystemScope, Kind: core.TemplateUserBound, Name: name})
			continue
		}
		t := core.Template{Project: core.SystemScope, Kind: core.TemplateUserBound, Name: name, CreatedAt: is.CreatedAt}
		t.Revise(text(is), "", tx.Now, 1)
		b.Templates = append(b.Templates, t)
	}
}
