package engine

import (
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/engine/workload"
)

// What the scheduler calls an eviction's cause is what transitions call it.
func TestEveryEvictionHasACauseThatTransitionsKnow(t *testing.T) {
	t.Parallel()
	for action, want := range map[schedule.Action]lifecycle.Cause{
		schedule.Reclaim: lifecycle.CauseReclaim, schedule.Preempt: lifecycle.CausePreempt, schedule.Consolidate: lifecycle.CauseConsolidate,
		displace.Relieve: lifecycle.CauseRelieve, schedule.Reserve: lifecycle.CauseReservation, schedule.StaleGang: lifecycle.CauseStaleGang,
	} {
		if got := workload.CauseOf(schedule.Eviction{Cause: action}); got != want || !got.Known() {
			t.Errorf("the cause of an eviction by %s is %q, want %q", action, got, want)
		}
	}
}
