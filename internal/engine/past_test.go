package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// Two projects with nothing guaranteed want a device each: who had it for a day
// comes after who had nothing, and leaves if that is not in vain.
func TestPastUseCountsInFairShares(t *testing.T) {
	for _, c := range []struct {
		weight float64
		saves  bool
	}{{0, true}, {1, true}, {1, false}} {
		weight := c.weight
		cfg := schedule.NewPolicy(schedule.PastWeight(weight))
		o := &office{t: t, st: memstore.New(), policy: cfg}
		o.open()
		o.at(opens, organisation.Organise([]organisation.Edit{
			guaranteed("greedy", 0),
			guaranteed("late", 0),
		}, false))
		first := askAt(o, opens, o.submit(`{"name":"a","project":"greedy","command":["fake"],"resources":{"gpu":1}}`))
		day := opens.Add(24 * time.Hour)
		if c.saves {
			o.saves(day, first.Workload)
		}
		o.at(day, o.submit(`{"name":"b","project":"late","command":["fake"],"resources":{"gpu":1}}`))
		live, err := o.st.Live(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var got lifecycle.Phase
		for _, e := range live {
			if e.Workload.ID == first.Workload.ID {
				got = e.Workload.Phase
			}
		}
		if displaced := got == lifecycle.Terminating; displaced != (weight > 0 && c.saves) {
			t.Errorf("with weight %v of the past, checkpoints %v, who had the device for a day is %s", weight, c.saves, got)
		}
	}
}

// unreadable cannot say who had what; it counts how often it is asked.
type unreadable struct {
	store.Store
	asked int
}

func (u *unreadable) Spans(context.Context, time.Time, time.Time, func(core.Span) bool) error {
	u.asked++
	return errors.New("disk error")
}

// It is a walk over all tasks, inside the one writer.
func TestAPastThatCannotBeReadIsNotReadInEveryRound(t *testing.T) {
	cfg := schedule.NewPolicy(schedule.PastWeight(1))
	st := &unreadable{Store: memstore.New()}
	o := &office{t: t, st: st, policy: cfg}
	o.open()
	for i := range 20 {
		o.at(opens.Add(time.Duration(i)*time.Second), report.Cluster())
	}
	if st.asked != 1 {
		t.Errorf("within 20 seconds it was asked %d times", st.asked)
	}
	o.at(opens.Add(2*time.Minute), report.Cluster())
	if st.asked != 2 {
		t.Errorf("after 2 minutes it has been asked %d times in all", st.asked)
	}
}
