package control_test

import (
	"context"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/store/memstore"
)

// Two projects with nothing guaranteed want a device each: who had it for a day
// comes after who had nothing.
func TestPastUseCountsInFairShares(t *testing.T) {
	for _, weight := range []float64{0, 1} {
		cfg := schedule.Default()
		cfg.K = weight
		o := &office{t: t, st: memstore.New(), schedule: cfg}
		o.open()
		o.at(opens, control.Organise([]control.Edit{
			guaranteed("greedy", 0),
			guaranteed("late", 0),
		}, false))
		first := o.at(opens, o.submit(`{"name":"a","project":"greedy","command":["fake"],"resources":{"gpu":1}}`)).(*control.Submitted)
		day := opens.Add(24 * time.Hour)
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
		if displaced := got == lifecycle.Terminating; displaced != (weight > 0) {
			t.Errorf("with weight %v of the past, who had the device for a day is %s", weight, got)
		}
	}
}
