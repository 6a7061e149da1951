package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// little is a cluster so small that every way to arrange it can be looked at:
// jobs of one task that run, and one that waits.
type little struct {
	free []int // GPUs, by node
	node []int // of each that runs
	gpus []int // of each that runs
	want int   // of the one that waits
}

func drawnLittle(r *rand.Rand) *little {
	p := &little{}
	size := []int{2, 4, 8}[r.IntN(3)]
	for range 2 + r.IntN(3) {
		p.free = append(p.free, size)
	}
	for range 12 {
		g, n := 1+r.IntN(size), r.IntN(len(p.free))
		if len(p.node) < 6 && p.free[n] >= g {
			p.free[n] -= g
			p.node, p.gpus = append(p.node, n), append(p.gpus, g)
		}
	}
	p.want = 1 + r.IntN(size)
	return p
}

// state is it for a scheduler that takes these actions; the one that
// waits has that priority, those that run 50.
func (p *little) state(r *rand.Rand, priority int, actions ...schedule.Action) *state.State {
	cfg := Default()
	cfg.Actions, cfg.Quantum = actions, 0
	st := state.NewState(cfg)
	st.SetPools([]schedule.Pool{{Name: "default", GPU: []schedule.Strategy{schedule.BinPack, schedule.Fill, schedule.Spread}[r.IntN(3)]}})
	st.SetQueues([]schedule.Queue{plainQueue("q", 1, quota.Unlimited), plainQueue("o", 2, quota.Unlimited)})
	all := nodes(len(p.free), 8)
	next := make([]int, len(p.free))
	for i := range all {
		total := p.free[i]
		for k, n := range p.node {
			if n == i {
				total += p.gpus[k]
			}
		}
		all[i].Devices = all[i].Devices[:total]
		st.PutNode(all[i])
	}
	for k, n := range p.node {
		queue := "q"
		if actions[1] == schedule.Consolidate && r.IntN(2) == 0 {
			queue = "o"
		}
		at := schedule.Place{Node: all[n].ID, CPU: 1000, Memory: 1 << 30}
		for d := range p.gpus[k] {
			at.Devices = append(at.Devices, shares(next[n]+d)...)
		}
		next[n] += p.gpus[k]
		j := run(gpuJob(fmt.Sprintf("r%d", k), queue, int64(k+1), 1, p.gpus[k]), at)
		j.Priority, j.Started = 50, 1
		st.PutJob(j)
	}
	j := gpuJob("waits", "q", 100, 1, p.want)
	j.Priority = priority
	st.PutJob(j)
	return st
}

// least is the smallest number of those who run that have to go from their place
// so that the one that waits has one, or -1: where moves is set each has to have
// another one.
func (p *little) least(moves bool) int {
	best := -1
	free := append([]int(nil), p.free...)
	var look func(k, gone int)
	look = func(k, gone int) {
		if best >= 0 && gone >= best {
			return
		}
		if k == len(p.node) {
			for _, f := range free {
				if f >= p.want {
					best = gone
					return
				}
			}
			return
		}
		if free[p.node[k]] >= p.gpus[k] {
			free[p.node[k]] -= p.gpus[k]
			look(k+1, gone)
			free[p.node[k]] += p.gpus[k]
		}
		if !moves {
			look(k+1, gone+1)
			return
		}
		for n := range free {
			if n != p.node[k] && free[n] >= p.gpus[k] {
				free[n] -= p.gpus[k]
				look(k+1, gone+1)
				free[n] += p.gpus[k]
			}
		}
	}
	for k, n := range p.node { // all are in nobody's place
		free[n] += p.gpus[k]
	}
	look(0, 0)
	return best
}

// TestConsolidationAgainstEveryArrangement: that nothing can be moved is told
// only where it is true, where one move would do always, and where several that
// depend on each other are needed nearly so; and no more are moved than have to
// be.
func TestConsolidationAgainstEveryArrangement(t *testing.T) {
	t.Parallel()
	possible, no, more, fits := 0, 0, 0, 0
	for seed := range uint64(12_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := drawnLittle(r)
		least := p.least(true)
		plan := cycle.Run(p.state(r, 50, schedule.Allocate, schedule.Consolidate), 100*hour)
		switch starts := len(plan.Placements) > 0; {
		case starts != (least == 0):
			t.Errorf("seed %d: %+v: starts %v, and %d have to move", seed, p, starts, least)
		case least == 0:
			fits++
		case least < 0 && len(plan.Evictions) > 0:
			t.Errorf("seed %d: %+v: %s, although it can never fit", seed, p, brief(plan))
		case least < 0:
		default:
			possible++
			switch moved := len(plan.Evictions); {
			case moved == 0:
				no++
				t.Logf("seed %d: %+v: told no, and %d would have to move", seed, p, least)
				if least == 1 {
					t.Errorf("seed %d: %+v: told no, and one move would do", seed, p)
				}
			case moved < least:
				t.Errorf("seed %d: %+v: %s, and not even %d are enough", seed, p, brief(plan), least)
			case moved > least:
				more++
			}
		}
	}
	t.Logf("%d fit at once; of %d that others could make room for by moving, %d were told no, and for %d (%.2f %%) more moved than had to", fits, possible, no, more, 100*float64(more)/float64(possible))
	if possible < 500 || 100*more > possible || 200*no > possible {
		t.Errorf("of %d, %d were told no, and for %d more moved than had to", possible, no, more)
	}
}

// TestPreemptionAgainstEveryArrangement: whoever comes first gets its room where
// there is any way, and no more leave than the fewest that have to.
func TestPreemptionAgainstEveryArrangement(t *testing.T) {
	t.Parallel()
	possible, more := 0, 0
	for seed := range uint64(6000) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := drawnLittle(r)
		least := p.least(false)
		plan := cycle.Run(p.state(r, 100, schedule.Allocate, schedule.Preempt), 100*hour)
		gets := func(all []schedule.Placement) bool { return len(all) > 0 && all[0].ID == core.WorkloadID("waits") }
		switch {
		case gets(plan.Placements) != (least == 0), least > 0 != (len(plan.Evictions) > 0):
			t.Errorf("seed %d: %+v: %s, and %d have to leave", seed, p, brief(plan), least)
		case least > 0:
			possible++
			left := 0
			for _, e := range plan.Evictions {
				left += ledger.Bit(!e.Moves)
			}
			more += ledger.Bit(left > least)
		}
	}
	t.Logf("for %d of %d more left than the fewest that had to (%.1f %%): the least important leave first, however many that takes", more, possible, 100*float64(more)/float64(possible))
	if possible < 500 || more*4 > possible {
		t.Errorf("more left than had to for %d of %d", more, possible)
	}
}
