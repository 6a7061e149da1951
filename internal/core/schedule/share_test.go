package schedule_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestSharesWaitForASharedDevice: a share goes to a device that others share, if
// one is about to have room, rather than open another; with room now in a shared
// one it does not wait, and a pool that spreads opens another.
func TestSharesWaitForASharedDevice(t *testing.T) {
	half, small := schedule.Need{Devices: 1, Milli: 500}, schedule.Need{Devices: 1, Milli: 300}
	held := func(n schedule.Need, device string, index int, leaving bool) schedule.Held {
		return schedule.Held{Need: n, Leaving: leaving, Place: schedule.Place{Node: "a", Devices: []core.Share{{Device: device, Index: index, Milli: n.Milli}}}}
	}
	for _, c := range []struct {
		name    string
		devices schedule.Strategy
		held    []schedule.Held
		want    schedule.Need
		device  int
		later   bool
	}{
		{"about to be free", schedule.BinPack, []schedule.Held{held(half, "2", 2, false), held(half, "2", 2, true)}, half, 2, true},
		{"free now", schedule.BinPack, []schedule.Held{held(half, "2", 2, false), held(half, "2", 2, true), held(small, "1", 1, false)}, half, 1, false},
		{"the fullest of those about to be free", schedule.BinPack, []schedule.Held{held(small, "1", 1, false), held(half, "1", 1, true), held(half, "2", 2, false), held(half, "2", 2, true)}, half, 2, true},
		{"nobody stays there", schedule.BinPack, []schedule.Held{held(half, "2", 2, true), held(half, "2", 2, true)}, half, 2, true},
		{"it was nobody's share", schedule.BinPack, []schedule.Held{held(schedule.Need{Devices: 1, Milli: 1000}, "2", 2, true)}, half, 0, false},
		{"for whole devices it does not matter", schedule.BinPack, []schedule.Held{held(half, "2", 2, true)}, schedule.Need{Devices: 1, Milli: 1000}, 0, false},
		{"a pool that spreads", schedule.Spread, []schedule.Held{held(half, "2", 2, false), held(half, "2", 2, true)}, half, 0, false},
		{"several each", schedule.BinPack, []schedule.Held{held(half, "1", 1, false), held(half, "1", 1, true), held(half, "2", 2, false), held(half, "2", 2, true)}, schedule.Need{Devices: 2, Milli: 500}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := state.NewState(schedule.Config{NoQuota: true})
			st.SetPools([]schedule.Pool{{Name: "", Devices: c.devices}})
			n := core.Node{ID: "a", Ready: true}
			for d, id := range []string{"0", "1", "2"} {
				n.Devices = append(n.Devices, core.Device{ID: id, Index: d, Healthy: true})
			}
			st.PutNode(schedule.Node{Node: n})
			st.SetQueues([]schedule.Queue{{ID: "q", Default: schedule.Unlimited()}})
			st.PutJob(schedule.Job{ID: "there", Queue: "q", Order: 1, Shape: schedule.Flat(schedule.Group{Min: 1}), Held: c.held})
			st.PutJob(schedule.Job{ID: "new", Queue: "q", Order: 2, Shape: schedule.Flat(schedule.Group{Min: 1, Runs: []schedule.Run{{Need: c.want, Count: 1}}})})
			plan := cycle.Run(st, 1)
			all := append(plan.Placements, plan.Promises...)
			if len(all) != 1 {
				t.Fatalf("placed or promised: %+v", all)
			}
			if got := all[0].Tasks[0]; got.Place.Devices[0].Index != c.device || got.Later != c.later {
				t.Errorf("it gets device %d, later %v; want %d, %v", got.Place.Devices[0].Index, got.Later, c.device, c.later)
			}
		})
	}
}
