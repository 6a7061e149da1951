package schedule

import (
	"testing"

	"github.com/musterhq/muster/internal/core"
)

// TestSharesWaitForASharedDevice: a share goes to a device that others share, if
// one is about to have room, rather than open another; with room now in a shared
// one it does not wait, and a pool that spreads opens another.
func TestSharesWaitForASharedDevice(t *testing.T) {
	half, small := Need{Devices: 1, Milli: 500}, Need{Devices: 1, Milli: 300}
	held := func(n Need, device string, index int, leaving bool) Held {
		return Held{Need: n, Leaving: leaving, Place: Place{Node: "a", Devices: []core.Share{{Device: device, Index: index, Milli: n.Milli}}}}
	}
	for _, c := range []struct {
		name    string
		devices Strategy
		held    []Held
		want    Need
		device  int
		later   bool
	}{
		{"about to be free", BinPack, []Held{held(half, "2", 2, false), held(half, "2", 2, true)}, half, 2, true},
		{"free now", BinPack, []Held{held(half, "2", 2, false), held(half, "2", 2, true), held(small, "1", 1, false)}, half, 1, false},
		{"the fullest of those about to be free", BinPack, []Held{held(small, "1", 1, false), held(half, "1", 1, true), held(half, "2", 2, false), held(half, "2", 2, true)}, half, 2, true},
		{"nobody stays there", BinPack, []Held{held(half, "2", 2, true), held(half, "2", 2, true)}, half, 2, true},
		{"it was nobody's share", BinPack, []Held{held(Need{Devices: 1, Milli: 1000}, "2", 2, true)}, half, 0, false},
		{"for whole devices it does not matter", BinPack, []Held{held(half, "2", 2, true)}, Need{Devices: 1, Milli: 1000}, 0, false},
		{"a pool that spreads", Spread, []Held{held(half, "2", 2, false), held(half, "2", 2, true)}, half, 0, false},
		{"several each", BinPack, []Held{held(half, "1", 1, false), held(half, "1", 1, true), held(half, "2", 2, false), held(half, "2", 2, true)}, Need{Devices: 2, Milli: 500}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := NewState(Config{NoQuota: true})
			st.SetPools([]Pool{{Name: "", Devices: c.devices}})
			n := core.Node{ID: "a", Ready: true}
			for d, id := range []string{"0", "1", "2"} {
				n.Devices = append(n.Devices, core.Device{ID: id, Index: d, Healthy: true})
			}
			st.PutNode(Node{Node: n})
			st.SetQueues([]Queue{{ID: "q", Default: Unlimited()}})
			st.PutJob(Job{ID: "there", Queue: "q", Order: 1, Shape: Flat(Group{Min: 1}), Held: c.held})
			st.PutJob(Job{ID: "new", Queue: "q", Order: 2, Shape: Flat(Group{Min: 1, Runs: []Run{{Need: c.want, Count: 1}}})})
			plan := st.Cycle(1)
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
