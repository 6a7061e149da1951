package quota

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainly divides as the rule is told, with fractions and without any art.
func plainly(total Amounts, queues []Queue) []Amounts {
	out := make([]Amounts, len(queues))
	var below func(parent int, pot Amounts)
	below = func(parent int, pot Amounts) {
		var children []int
		for i, q := range queues {
			if q.Parent == parent {
				children = append(children, i)
			}
		}
		for r := range Resources {
			for i, share := range plainlyOne(pot[r], queues, children, r) {
				out[i][r] = share
			}
		}
		for _, c := range children {
			below(c, out[c])
		}
	}
	below(-1, total)
	return out
}

func plainlyOne(pot int64, queues []Queue, children []int, r Resource) map[int]int64 {
	share := map[int]int64{}
	rest := pot
	bands := map[int][]int{}
	for _, c := range children {
		quota := queues[c].Quota[r]
		if quota < 0 {
			quota = pot
		}
		share[c] = min(quota, queues[c].demand(r))
		if rest >= 0 {
			rest -= share[c]
		}
		bands[queues[c].Priority] = append(bands[queues[c].Priority], c)
	}
	var priorities []int
	for p := range bands {
		priorities = append(priorities, p)
	}
	slices.SortFunc(priorities, func(a, b int) int { return b - a })
	kept := map[int]*big.Rat{}
	for _, p := range priorities {
		for again := true; again && rest > 0; {
			again = false
			var open []int
			var sum int64
			for _, c := range bands[p] {
				if share[c] < queues[c].demand(r) && queues[c].Weight[r] > 0 {
					open = append(open, c)
					sum += queues[c].Weight[r]
				}
			}
			atStart := rest
			for _, c := range open {
				part := new(big.Rat).Mul(new(big.Rat).SetInt64(atStart), big.NewRat(queues[c].Weight[r], sum))
				need := queues[c].demand(r) - share[c]
				give := need
				kept[c] = new(big.Rat)
				if by := new(big.Rat).SetInt64(need).Cmp(part); by > 0 {
					units := new(big.Int).Quo(part.Num(), new(big.Int).Mul(part.Denom(), big.NewInt(unit[r])))
					give = units.Int64() * unit[r]
					kept[c].Sub(part, new(big.Rat).SetInt64(give))
				} else if by < 0 {
					again = true
				}
				share[c] += give
				rest -= give
			}
		}
	}
	for _, p := range priorities {
		bands[p] = slices.DeleteFunc(bands[p], func(c int) bool { return kept[c] == nil || kept[c].Sign() == 0 })
		slices.SortFunc(bands[p], func(a, b int) int {
			return cmp.Or(kept[b].Cmp(kept[a]), cmp.Compare(queues[a].Age, queues[b].Age), cmp.Compare(a, b))
		})
		for _, c := range bands[p] {
			give := min(unit[r], queues[c].demand(r)-share[c], max(rest, 0))
			share[c] += give
			rest -= give
		}
	}
	return share
}

func TestSharesAreAsTheRuleIsTold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		total, queues := forest(r, 1+r.IntN(60))
		if want, got := plainly(total, queues), Share(total, queues, 0, nil); !slices.Equal(got, want) {
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("queue %d gets %v, want %v", i, got[i], want[i])
				}
			}
			t.Fatalf("seed %d", seed)
		}
	}
}
