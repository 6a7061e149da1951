package engine_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
)

// A pool that spreads does so over the devices of its nodes too: parts of GPUs
// share none while another is empty.
func TestAPoolThatSpreadsGivesEachPartAGPUOfItsOwn(t *testing.T) {
	for strategy, want := range map[core.Strategy]int{core.PlaceSpread: 8, core.PlaceBinPack: 4} {
		h := newHall(t, 8) // of the node that is tried first
		for _, nodes := range h.backend {
			nodes[0].Pool = core.DefaultPool
		}
		h.restart("p", "q")
		h.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordPool, Name: "default", Pool: func(p *core.Pool) error {
			p.Placement.GPU = strategy
			return nil
		}}}, false))
		used := map[string]int{}
		for i := range 8 {
			name := fmt.Sprintf("half%d", i)
			h.run(name, `"resources":{"gpu":0.5,"cpu":0.1}`)
			for _, task := range h.tasks(name) {
				for _, d := range task.Devices {
					used[string(task.Node)+"/"+d.Device]++
				}
			}
		}
		if len(used) != want {
			t.Errorf("%q: eight halves are on %d GPUs: %v; want %d", strategy, len(used), used, want)
		}
	}
}
