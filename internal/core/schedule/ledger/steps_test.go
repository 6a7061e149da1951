package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStepsAreInOrder inserts and removes steps at random, more than are kept
// together, and compares with a list that is sorted each time it is asked.
func TestStepsAreInOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 7))
	var o forecast
	var all []step
	for range 3000 {
		all = append(all, step{r.Int64N(5000), r.Int32N(50), r.Int32N(4)})
	}
	o.steps.fill(slices.Clone(all))
	for n := range 12_000 {
		if k := r.IntN(len(all) + 1); k < len(all) && (n/3000%2 == 1 || r.IntN(3) == 0) {
			o.steps.remove(all[k])
			all = slices.Delete(all, k, k+1)
		} else {
			x := step{r.Int64N(5000), r.Int32N(50), r.Int32N(4)}
			o.steps.insert(x)
			all = append(all, x)
		}
		if n%500 != 0 && n != 5999 {
			continue
		}
		slices.SortFunc(all, compareSteps)
		o.total = roomOf(all)
		var kept []step
		for _, k := range o.steps.chunks {
			if k.room != roomOf(k.list) || len(k.list) == 0 || len(k.list) > mostSteps {
				t.Fatalf("after %d: a chunk of %d steps says it has room for %d, it has %d", n, len(k.list), k.room, roomOf(k.list))
			}
			kept = append(kept, k.list...)
		}
		if !slices.Equal(kept, all) {
			t.Fatalf("after %d: %d steps, want %d in order", n, len(kept), len(all))
		}
		most := 1 + r.IntN(len(all))
		var back []step
		o.steps.back(most, func(x step) bool { back = append(back, x); return true })
		slices.Reverse(back)
		if !slices.Equal(back, all[:most]) {
			t.Fatalf("after %d: the first %d steps are %d others", n, most, len(back))
		}
		want := 1 + r.IntN(o.total)
		left, i := want, 0
		for ; left > int(all[i].room); i++ {
			left -= int(all[i].room)
		}
		if at, steps, ok := o.From(want); !ok || at != all[i].at || steps != i+1 {
			t.Fatalf("after %d: %d have room from %d on, after %d steps (%v); want %d, %d", n, want, at, steps, ok, all[i].at, i+1)
		}
	}
}
