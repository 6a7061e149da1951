package review

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/checking"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Waiting is a check of a workload that waits for people.
type Waiting struct {
	Workload *core.Workload
	Check    core.CheckState
	// Refusal is why who asks may not decide it; empty: they may. On is for whom they
	// would; empty: for themselves.
	Refusal string
	On      string
}

// Approvals are all checks that wait for people now, those first that end first.
func Approvals(name string, owner bool) draft.Command[[]Waiting] {
	return func(tx *draft.Tx) ([]Waiting, error) {
		var out []Waiting
		for id := range tx.Workloads() {
			w, _, ok := tx.View(id)
			if !ok || !w.Phase.Checking() {
				continue
			}
			when := workload.AtQueue
			if w.Phase == lifecycle.Reserved {
				when = workload.AtReservation
			}
			for _, c := range w.Checks {
				if c.When != when || c.Verdict == core.CheckApproved || !admission.Person(c.Type) {
					continue
				}
				x := Waiting{Workload: w, Check: c}
				if c.Scope == "" {
					if len(c.Users) > 0 && !slices.Contains(c.Users, name) {
						x.Refusal = name + " is not one of those who may decide it"
					}
				} else if on, refused := admission.Voter(&c, w.User, name, checking.People(tx, w, name, owner)); refused != nil {
					x.Refusal = refused.Message
				} else {
					x.On = on
				}
				out = append(out, x)
			}
		}
		slices.SortStableFunc(out, func(a, b Waiting) int {
			return cmp.Or(cmp.Compare(late(a.Check.Deadline.IsZero()), late(b.Check.Deadline.IsZero())), a.Check.Deadline.Compare(b.Check.Deadline), cmp.Compare(a.Workload.Seq, b.Workload.Seq))
		})
		return out, nil
	}
}

func late(never bool) int { return core.Bit(never) }
