package wire

import (
	"cmp"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/engine/explanation"
)

// deadline is how a workload stands to its deadline; nil: it has none.
func deadline(y *explanation.Why) *api.DeadlineState {
	d := y.Deadline
	if d == nil {
		return nil
	}
	out := &api.DeadlineState{At: api.Time(d.At), LatestStart: At(d.Start), LengthFrom: d.From, ExpectedEnd: At(d.Expected), Missed: d.Missed, Action: cmp.Or(y.Workload.Spec.DeadlineAction, "warn")}
	if d.Length > 0 {
		out.Length = d.Length.Round(time.Second).String()
	}
	if d.Left > 0 {
		out.Left = d.Left.Round(time.Second).String()
	}
	if !d.Expected.IsZero() {
		out.InTime = &d.InTime
	}
	return out
}
