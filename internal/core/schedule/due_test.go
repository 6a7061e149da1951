package schedule_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// However many wait that have had to leave before, and keep their age, whose
// patience is over is helped: the one who is due for longest.
func TestPatienceEndsBehindAnyNumberOfTheDisplaced(t *testing.T) {
	t.Parallel()
	for _, displaced := range []int{0, 63, 64, 65, 1000} {
		st := state.NewState(Default())
		for _, n := range nodes(1, 1) {
			st.PutNode(n)
		}
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, quota.Unlimited)})
		now := 1000 * hour
		has := run(gpuJob("has", "q", 1, 1, 1), schedule.Place{Node: nodes(1, 1)[0].ID, Devices: shares(0), CPU: 1000})
		has.Started = now - 48*hour
		st.PutJob(has)
		for i := range displaced {
			j := gpuJob(fmt.Sprintf("displaced%d", i), "q", int64(2+i), 1, 1)
			j.Attained, j.Due = hour, now+80*hour
			st.PutJob(j)
		}
		for i := range 100 {
			j := gpuJob(fmt.Sprintf("due%02d", i), "q", int64(5000+i), 1, 1)
			j.Due = now - hour + int64(i*i%7)
			st.PutJob(j)
		}
		last := gpuJob("longest", "q", 9000, 1, 1)
		last.Due = now - 2*hour
		st.PutJob(last)
		p := cycle.Run(st, now)
		if len(p.Evictions) != 1 || p.Evictions[0].Cause != displace.Relieve || p.Evictions[0].For != "longest" {
			t.Errorf("with %d displaced in front: %s", displaced, brief(p))
		}
		st.DropJob("longest")
		for i := range 100 { // nor is anyone forgotten, or remembered
			st.DropJob(gpuJob(fmt.Sprintf("due%02d", i), "q", 0, 1, 1).ID)
		}
		if p := cycle.Run(st, now); len(p.Evictions) != 0 {
			t.Errorf("with %d displaced, and nobody due: %s", displaced, brief(p))
		}
	}
}
