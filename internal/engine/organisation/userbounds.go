package organisation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/engine/workload"
)

// UserBoundState is what a user may have over all projects, with what they have.
type UserBoundState struct {
	core.UserBound
	GPU             float64 // devices that their work holds; of AnyUser nothing is said
	Running, Queued int     // workloads
}

// UserBounds are all limits of users over all projects, that of each other first.
func UserBounds() draft.Command[[]UserBoundState] {
	return func(tx *draft.Tx) ([]UserBoundState, error) {
		all := draft.UserBounds(tx)
		out := make([]UserBoundState, 0, len(all))
		at := map[string]int{}
		for _, name := range slices.SortedFunc(maps.Keys(all), func(x, y string) int {
			return cmp.Or(-cmp.Compare(rankOf(x), rankOf(y)), cmp.Compare(x, y))
		}) {
			at[name] = len(out)
			out = append(out, UserBoundState{UserBound: all[name], Queued: tx.State.Queued.User(name)})
		}
		milli := make([]int64, len(out))
		for id := range tx.Workloads() {
			w, tasks, ok := tx.View(id)
			if !ok || w.Kind.Foreign() {
				continue
			}
			i, bounded := at[w.User]
			if !bounded || !workload.HoldsAny(w, tasks) {
				continue
			}
			out[i].Running++
			for _, t := range tasks.Open() {
				if workload.Holds(w, t) {
					milli[i] += t.Milli()
				}
			}
		}
		for i := range out { // whole numbers are added up: the order of sums is none
			out[i].GPU = float64(milli[i]) / 1000
		}
		return out, nil
	}
}

func rankOf(name string) int {
	if name == core.AnyUser {
		return 1
	}
	return 0
}

func editUserBound(tx *draft.Tx, e Edit, out *Edited) error {
	was, there := draft.UserBounds(tx)[e.Name]
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before.UserBound = &was
	}
	if e.Drop {
		draft.Put(&tx.Org.UserBounds, e.Name, nil)
		return nil
	}
	b := was
	if !there {
		b = core.UserBound{User: e.Name, CreatedAt: tx.Now}
	}
	if err := e.UserBound(&b); err != nil {
		return err
	}
	if err := org.CheckUserBound(&b); err != nil {
		return err
	}
	draft.Put(&tx.Org.UserBounds, e.Name, &b)
	out.After.UserBound = &b
	return nil
}

func editPrices(tx *draft.Tx, e Edit, out *Edited) error {
	if p := draft.Prices(tx); p != nil {
		out.Before.Prices = p
	}
	is, user := e.Prices()
	if err := spending.PutPrices(tx, is, user); err != nil {
		return err
	}
	out.After.Prices = draft.Prices(tx)
	return nil
}
