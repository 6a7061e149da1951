package state

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Work counts the shapes of all tasks that are known, running and waiting: what
// is usual where nothing else has been learnt.
func (st *State) Work() []fragmentation.Shape {
	counts := map[string]*fragmentation.Shape{}
	add := func(n schedule.Need, count int) {
		if n.GPUMemory > 0 || ledger.Partitioned(n.Extended) || count == 0 {
			return
		}
		key := n.Key()
		if counts[key] == nil {
			s := ledger.ShapeOf(n)
			s.Count = 0
			counts[key] = &s
		}
		counts[key].Count += int64(count)
	}
	for _, j := range st.Jobs {
		for _, h := range j.Holds {
			add(h.Ask.Need, 1)
		}
		for g := range j.Shape.Groups {
			for _, r := range j.Shape.Groups[g].Runs {
				add(r.Need, r.Count)
			}
		}
	}
	out := make([]fragmentation.Shape, 0, len(counts))
	for _, key := range ledger.SortedKeys(counts) {
		out = append(out, *counts[key])
	}
	slices.SortStableFunc(out, func(a, b fragmentation.Shape) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
