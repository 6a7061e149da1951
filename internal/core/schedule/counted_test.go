package schedule_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestExtendedResourcesAreNoGPUs: whatever they are called, no quota counts them,
// and who asks for them alone is placed like work without GPUs.
func TestExtendedResourcesAreNoGPUs(t *testing.T) {
	st := state.NewState(schedule.Config{})
	for _, name := range []string{"rdma/hca", "example.org/card-2", "example.org/mig-2g.10gb", "1g.example.org/x"} {
		if a := st.AskOf(schedule.Need{Extended: name + "=3"}, nil, ledger.Pass{}); a.Slices != 0 || a.Gpus() || len(a.Migs) != 1 || ledger.Partitioned(a.Need.Extended) {
			t.Errorf("%s counts for %d thousandths of GPUs", name, a.Slices)
		}
	}
	if a := st.AskOf(schedule.Need{Extended: "2g.10gb=2,rdma/hca=1"}, nil, ledger.Pass{}); a.Slices != 4000 || len(a.Migs) != 2 || !ledger.Partitioned(a.Need.Extended) {
		t.Errorf("with partitions: %+v", a)
	}
	hca := map[string]int{"rdma/hca": 2}
	st.PutNode(schedule.Node{Node: core.Node{ID: "a-gpu", Ready: true, CPU: 8000, Devices: []core.Device{{ID: "0", Healthy: true}}, MIG: hca}})
	st.PutNode(schedule.Node{Node: core.Node{ID: "b", Ready: true, CPU: 8000, MIG: hca}})
	st.PutNode(schedule.Node{Node: core.Node{ID: "c", Ready: true, CPU: 8000}})
	none := schedule.Unlimited()
	none.Quota[quota.GPU], none.Limit[quota.GPU] = 0, 0
	st.SetQueues([]schedule.Queue{{ID: "q", Default: none}})
	st.PutJob(schedule.Job{ID: "w", Queue: "q", Shape: schedule.Flat(schedule.Group{Min: 1, Runs: []schedule.Run{{Need: schedule.Need{CPU: 1000, Extended: "rdma/hca=2"}, Count: 1}}})})
	placed := cycle.Run(st, 1).Placements
	if len(placed) != 1 {
		t.Fatalf("where GPUs have a limit of none it is not placed: %+v", placed)
	}
	if at := placed[0].Tasks[0].Place; at.Node != "b" || at.Extended != "rdma/hca=2" {
		t.Errorf("it is placed at %+v", at)
	}
}

// TestNodesThatOfferOtherThingsDiffer: as many of one thing as of another do not
// make two nodes alike in the search for a gang.
func TestNodesThatOfferOtherThingsDiffer(t *testing.T) {
	for _, names := range [][2]string{{"rdma/hca", "x/card"}, {"x/card", "rdma/hca"}} {
		st := state.NewState(schedule.Config{NoQuota: true})
		for i, name := range names {
			st.PutNode(schedule.Node{Node: core.Node{ID: core.NodeID(name), Ready: true, CPU: 4000, Devices: []core.Device{{ID: string(rune('a' + i)), Healthy: true}}, MIG: map[string]int{name: 1}}})
		}
		st.SetQueues([]schedule.Queue{{ID: "q", Default: schedule.Unlimited()}})
		plain, one := schedule.Need{CPU: 2000, Devices: 1, Milli: 1000}, schedule.Need{CPU: 1000, Devices: 1, Milli: 1000, Extended: "rdma/hca=1"}
		st.PutJob(schedule.Job{ID: "w", Queue: "q", Shape: schedule.Flat(
			schedule.Group{Name: "master", Min: 1, Runs: []schedule.Run{{Need: plain, Count: 1}}}, schedule.Group{Name: "tasks", Min: 1, Runs: []schedule.Run{{Need: one, Count: 1}}},
		)})
		if placed := cycle.Run(st, 1).Placements; len(placed) != 1 {
			t.Errorf("%q: there is room for both, and it is not placed: %v", names, explain.Why(st, st.Jobs["w"]))
		}
	}
}
