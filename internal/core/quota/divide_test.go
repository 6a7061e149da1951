package quota

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// gpus is a queue that is about whole GPUs only.
func gpus(priority int, age, quota, limit, weight, request int64) Queue {
	amount := func(n int64) Amounts {
		if n < 0 {
			return Amounts{Unlimited}
		}
		return Amounts{n * 1000}
	}
	return Queue{Parent: -1, Priority: priority, Age: age, Quota: amount(quota), Limit: amount(limit),
		Weight: [Resources]int64{weight}, Request: amount(request)}
}

func under(parent int, q Queue) Queue { q.Parent = parent; return q }

func lately(q Queue, share float64) Queue { q.Usage[GPU] = share; return q }

func TestWhoGetsWhat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		total  int64 // thousandths of GPUs
		k      float64
		queues []Queue
		want   []int64
	}{
		{"no queue", 8000, 0, nil, nil},
		{"quota comes before weight", 10000, 0, []Queue{gpus(0, 0, 6, -1, 0, 8), gpus(0, 1, 0, -1, 9, 9)}, []int64{6000, 4000}},
		{"quotas may promise more than there is", 4000, 0, []Queue{gpus(0, 0, 4, -1, 1, 9), gpus(0, 1, 4, -1, 1, 9)}, []int64{4000, 4000}},
		{"an unlimited quota is the whole", 4000, 0, []Queue{gpus(0, 0, -1, -1, 1, 9), gpus(0, 1, 0, -1, 1, 9)}, []int64{4000, 0}},
		{"no weight, nothing beside the quota", 9000, 0, []Queue{gpus(0, 0, 1, -1, 0, 9), gpus(0, 1, 1, -1, -5, 9)}, []int64{1000, 1000}},
		{"what a limit keeps out goes to others", 9000, 0, []Queue{gpus(0, 0, 0, 2, 9, 9), gpus(0, 1, 0, -1, 1, 9)}, []int64{2000, 7000}},
		{"a limit below the quota counts", 9000, 0, []Queue{gpus(0, 0, 5, 2, 1, 9)}, []int64{2000}},
		{"what is not wanted goes round again", 12000, 0, []Queue{gpus(0, 0, 0, -1, 1, 1), gpus(0, 1, 0, -1, 1, 2), gpus(0, 2, 0, -1, 1, 99)}, []int64{1000, 2000, 9000}},
		{"the largest remainder is rounded up", 10000, 0, []Queue{gpus(0, 0, 0, -1, 3, 99), gpus(0, 1, 0, -1, 6, 99)}, []int64{3000, 7000}},
		{"of equal remainders the older", 3000, 0, []Queue{gpus(0, 7, 0, -1, 1, 99), gpus(0, 3, 0, -1, 1, 99)}, []int64{1000, 2000}},
		{"of equals the first named", 3000, 0, []Queue{gpus(0, 3, 0, -1, 1, 99), gpus(0, 3, 0, -1, 1, 99)}, []int64{2000, 1000}},
		{"priority takes all that quotas leave", 9000, 0, []Queue{gpus(1, 0, 2, -1, 9, 99), gpus(2, 1, 2, -1, 1, 99)}, []int64{2000, 7000}},
		{"a satisfied priority leaves the rest", 9000, 0, []Queue{gpus(1, 0, 2, -1, 9, 99), gpus(2, 1, 2, -1, 1, 4)}, []int64{5000, 4000}},
		{"parts of devices only to the satisfied", 1000, 0, []Queue{gpus(0, 0, 0, -1, 1, 99), gpus(0, 1, 0, -1, 1, 99)}, []int64{1000, 0}},
		{"no more than is wanted is rounded up", 1500, 0,
			[]Queue{{Parent: -1, Weight: [Resources]int64{1}, Limit: Amounts{Unlimited}, Request: Amounts{900}}, gpus(0, 1, 0, -1, 1, 99)}, []int64{900, 600}},
		{"children divide what their parent has", 10000, 0,
			[]Queue{gpus(0, 0, 4, -1, 1, 99), gpus(0, 1, 6, -1, 1, 99), under(0, gpus(0, 0, 0, -1, 3, 99)), under(0, gpus(0, 1, 0, -1, 1, 99)), under(1, gpus(0, 0, 9, -1, 1, 99))},
			[]int64{4000, 6000, 3000, 1000, 9000}},
		{"parents may be listed after children", 6000, 0, []Queue{under(1, gpus(0, 0, 0, -1, 1, 5)), gpus(0, 0, 0, -1, 1, 5)}, []int64{5000, 5000}},
		{"circles and orphans get nothing", 6000, 0, []Queue{under(1, gpus(0, 0, 1, -1, 1, 5)), under(0, gpus(0, 0, 1, -1, 1, 5)), under(9, gpus(0, 0, 1, -1, 1, 5)), under(-7, gpus(0, 0, 1, -1, 1, 5)), under(4, gpus(0, 0, 1, -1, 1, 5))}, []int64{0, 0, 0, 0, 0}},
		{"use lately makes the weight less", 10000, 1, []Queue{lately(gpus(0, 0, 0, -1, 1, 99), 0.5), gpus(0, 1, 0, -1, 1, 99)}, []int64{3000, 7000}},
		{"by more, with more k; equal remainders stay equal", 10000, 2, []Queue{lately(gpus(0, 0, 0, -1, 1, 99), 0.5), gpus(0, 1, 0, -1, 1, 99)}, []int64{3000, 7000}},
		{"by half with k of 4", 8000, 4, []Queue{lately(gpus(0, 0, 0, -1, 1, 99), 0.5), lately(gpus(0, 1, 0, -1, 1, 99), 0.25)}, []int64{2000, 6000}},
		{"down to nothing", 10000, 4, []Queue{lately(gpus(0, 0, 0, -1, 1, 99), 0.9), gpus(0, 1, 0, -1, 1, 99)}, []int64{0, 10000}},
		{"use does not touch quotas", 10000, 9, []Queue{lately(gpus(0, 0, 5, -1, 1, 99), 0.9), gpus(0, 1, 0, -1, 1, 99)}, []int64{5000, 5000}},
		{"without k use is no matter", 10000, 0, []Queue{lately(gpus(0, 0, 0, -1, 1, 99), 0.9), gpus(0, 1, 0, -1, 1, 99)}, []int64{5000, 5000}},
		{"without use k is no matter", 9000, 7, []Queue{gpus(0, 0, 0, -1, 6, 99), gpus(0, 1, 0, -1, 2, 99), gpus(0, 2, 0, -1, 1, 99)}, []int64{6000, 2000, 1000}},
		{"if all have had too much, nobody has", 4000, 1, []Queue{lately(gpus(0, 0, 0, -1, 1, 99), 2), lately(gpus(0, 1, 0, -1, 3, 99), 2)}, []int64{1000, 3000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []int64
			for _, a := range Share(Amounts{c.total}, c.queues, c.k, nil) {
				got = append(got, a[GPU])
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("shares are %v, want %v", got, c.want)
			}
		})
	}
}

// forest makes queues with all that may matter.
func forest(r *rand.Rand, n int) (Amounts, []Queue) {
	big := []int64{1, 1, 1, 1 << 20, 1 << 36}[r.IntN(5)]
	some := func(res Resource) int64 {
		v := r.Int64N(50) * unit[res] * big
		if r.IntN(3) == 0 {
			v += r.Int64N(unit[res])
		}
		return v
	}
	queues := make([]Queue, n)
	for i := range queues {
		q := Queue{Parent: -1, Priority: r.IntN(3), Age: int64(i)}
		if i > 0 && r.IntN(2) == 0 {
			q.Parent = r.IntN(i)
		}
		for res := range Resources {
			q.Quota[res], q.Limit[res] = some(res)/4, Unlimited
			if r.IntN(9) == 0 {
				q.Quota[res] = Unlimited
			}
			if r.IntN(4) == 0 {
				q.Limit[res] = some(res)
			}
			q.Weight[res] = r.Int64N(4) * 1000
			q.Request[res] = some(res)
			if r.IntN(2) == 0 {
				q.Usage[res] = r.Float64()
			}
		}
		queues[i] = q
	}
	return Amounts{some(GPU), some(CPU), some(Memory)}, queues
}

func TestSharesKeepTheirPromises(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		total, queues := forest(r, 1+r.IntN(40))
		k := []float64{0, 0, 1, 3}[r.IntN(4)]
		got := Share(total, queues, k, nil)
		for parent := -1; parent < len(queues); parent++ {
			pot := total
			if parent >= 0 {
				pot = got[parent]
			}
			for res := range Resources {
				checkSiblings(t, seed, queues, got, parent, res, pot[res])
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkSiblings(t *testing.T, seed uint64, queues []Queue, got []Amounts, parent int, res Resource, pot int64) {
	given, promised, wanted := new(big.Int), new(big.Int), false
	for i := range queues {
		q := &queues[i]
		if q.Parent != parent {
			continue
		}
		share, quota := got[i][res], q.Quota[res]
		if quota < 0 {
			quota = pot
		}
		quota = min(quota, q.demand(res))
		if share < quota || share > q.demand(res) {
			t.Errorf("seed %d: queue %d gets %d of %s, not between its quota %d and its demand %d", seed, i, share, res, quota, q.demand(res))
		}
		if share > quota && q.Weight[res] == 0 {
			t.Errorf("seed %d: queue %d gets more %s than its quota without a weight", seed, i, res)
		}
		wanted = wanted || share < q.demand(res) && q.Weight[res] > 0 && q.Usage[res] == 0
		given.Add(given, big.NewInt(share))
		promised.Add(promised, big.NewInt(quota))
	}
	whole := big.NewInt(pot)
	if promised.Cmp(whole) > 0 {
		whole = promised
	}
	if given.Cmp(whole) > 0 {
		t.Errorf("seed %d: %v of %s is given of %v under %d", seed, given, res, whole, parent)
	}
	if wanted && given.Cmp(whole) < 0 {
		t.Errorf("seed %d: somebody under %d wants more %s, but only %v of %v is given", seed, parent, res, given, whole)
	}
}

func TestSharesDoNotDependOnTheOrderOfQueues(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		total, queues := forest(r, 1+r.IntN(40))
		want := Share(total, queues, 1, nil)
		to := r.Perm(len(queues))
		shuffled := make([]Queue, len(queues))
		for i, q := range queues {
			if q.Parent >= 0 {
				q.Parent = to[q.Parent]
			}
			shuffled[to[i]] = q
		}
		got := Share(total, shuffled, 1, nil)
		for i := range queues {
			if got[to[i]] != want[i] {
				t.Fatalf("seed %d: queue %d gets %v, and %v after a shuffle", seed, i, want[i], got[to[i]])
			}
		}
	}
}

func TestMoreWeightIsNoLess(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		total, queues := forest(r, 2+r.IntN(10))
		for i := range queues {
			queues[i].Parent = -1
		}
		before := Share(total, queues, 0, nil)
		i, res := r.IntN(len(queues)), Resource(r.IntN(int(Resources)))
		queues[i].Weight[res] += 1 + r.Int64N(5000)
		after := Share(total, queues, 0, nil)
		// Whole units in several rounds: what rounding keeps back may fall to another.
		if after[i][res] < before[i][res]-unit[res] {
			t.Fatalf("seed %d: with more weight queue %d gets %d of %s, before %d", seed, i, after[i][res], res, before[i][res])
		}
	}
}

func TestABuffersLastUseDoesNotShow(t *testing.T) {
	t.Parallel()
	var d Divider
	var out []Amounts
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		total, queues := forest(r, r.IntN(30))
		out = d.Share(total, queues, 1, out)
		if want := Share(total, queues, 1, nil); !slices.Equal(out, want) {
			t.Fatalf("seed %d: shares are %v, want %v", seed, out, want)
		}
	}
}

func TestProductsAreExact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 5))
	word := func() uint64 {
		switch r.IntN(4) {
		case 0:
			return ^uint64(0) - r.Uint64N(3)
		case 1:
			return r.Uint64N(4)
		}
		return r.Uint64() >> r.IntN(64)
	}
	for range 300000 {
		a, b, c := word(), word(), word()
		b, c = min(b, c), max(b, c, 1)
		q, rest := new(big.Int).QuoRem(new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)), new(big.Int).SetUint64(c), new(big.Int))
		if gq, gr := mulDiv(a, b, c); gq != q.Uint64() || gr != rest.Uint64() {
			t.Fatalf("%d*%d/%d = %d rest %d, want %v rest %v", a, b, c, gq, gr, q, rest)
		}
	}
}

func TestTheUnheardOfDoesNoHarm(t *testing.T) {
	t.Parallel()
	const most = 1<<63 - 1
	all := Amounts{most, most, most}
	q := Queue{Parent: -1, Quota: all, Limit: all, Request: all, Weight: [Resources]int64{most, most, most}}
	queues := slices.Repeat([]Queue{q}, 100)
	for _, total := range []Amounts{all, {}, {-5, -5, -5}} {
		for i, s := range Share(total, queues, 1, nil) {
			if s != all {
				t.Fatalf("queue %d gets %v of its quota", i, s)
			}
		}
	}
	for i := range queues {
		queues[i].Quota, queues[i].Age = Amounts{}, int64(i)
	}
	// Whatever is no number or none that can be, the whole is given all the same.
	for _, usage := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e308, 5e-324} {
		for _, k := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e308, 5e-324} {
			queues[0].Usage[GPU], queues[1].Usage[GPU] = usage, 0.5
			if got := sumOf(queues, Share(Amounts{5000}, queues, k, nil)); got[GPU] != 5000 {
				t.Errorf("with usage %v and k %v %d of 5000 is given", usage, k, got[GPU])
			}
		}
	}
	queues[0].Usage, queues[1].Usage = [Resources]float64{}, [Resources]float64{}
	shares := Share(all, queues, 0, nil)
	for i, s := range shares {
		if s[GPU]/1000 != most/1000/100 && s[GPU]/1000 != most/1000/100+1 {
			t.Errorf("queue %d gets %d GPU thousandths, want a hundredth of %d", i, s[GPU], int64(most))
		}
	}
}

func BenchmarkShare(b *testing.B) {
	for _, c := range []struct{ top, below int }{{10000, 0}, {100, 99}, {10, 999}} {
		for _, k := range []float64{0, 1} {
			b.Run(fmt.Sprintf("%dx%d/k=%v", c.top, c.below, k), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 6))
				var queues []Queue
				for i := range c.top {
					at := len(queues)
					queues = append(queues, Queue{Parent: -1, Age: int64(i)})
					for j := range c.below {
						queues = append(queues, Queue{Parent: at, Age: int64(j)})
					}
				}
				for i := len(queues) - 1; i >= 0; i-- { // children first
					q := &queues[i]
					for res := range Resources {
						q.Quota[res], q.Limit[res] = r.Int64N(4)*unit[res], Unlimited
						q.Weight[res], q.Usage[res] = 1000+r.Int64N(3)*1000, r.Float64()/float64(len(queues))
						if q.Request[res] == 0 {
							q.Request[res] = r.Int64N(40) * unit[res]
						}
						if q.Parent >= 0 {
							queues[q.Parent].Request[res] += q.Request[res]
						}
					}
				}
				// Less than is wanted, more than the quotas.
				total := Amounts{60_000 * unit[GPU], 60_000 * unit[CPU], 60_000 * unit[Memory]}
				var d Divider
				out := d.Share(total, queues, k, nil)
				b.ReportAllocs()
				for b.Loop() {
					out = d.Share(total, queues, k, out)
				}
				if left := total.Sub(sumOf(queues, out)); left[GPU] != 0 {
					b.Fatalf("%d GPU thousandths are not given", left[GPU])
				}
			})
		}
	}
}

// sumOf adds up the shares at the top.
func sumOf(queues []Queue, shares []Amounts) (sum Amounts) {
	for i, q := range queues {
		if q.Parent < 0 {
			sum = sum.Add(shares[i])
		}
	}
	return sum
}

// TestWhatIsKeptIsNobodyElses has queues keep parts of their quotas: nobody gets
// less of its own for it, and what all get together leaves room for what is kept
// and not wanted.
func TestWhatIsKeptIsNobodyElses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 4))
		total, queues := forest(r, 1+r.IntN(12))
		for i := range queues {
			queues[i].Parent = -1
			for res, n := range queues[i].Quota {
				if n > 0 && r.IntN(2) == 0 {
					queues[i].Keep[res] = r.Int64N(n + 1)
				}
			}
		}
		got := Share(total, queues, 0, nil)
		for res := range Resources {
			given, reserved := int64(0), int64(0)
			for i := range queues {
				q := &queues[i]
				own := q.Quota[res]
				if own < 0 {
					own = total[res]
				}
				if own = min(own, q.demand(res)); got[i][res] < own {
					t.Fatalf("seed %d: queue %d gets %d of %s, less than %d that it is promised and wants", seed, i, got[i][res], res, own)
				}
				given += got[i][res] - own
				reserved += max(own, q.Keep[res])
			}
			if given > max(total[res]-reserved, 0) {
				t.Fatalf("seed %d: %d of %s beyond quotas is given, and %d of %d is promised or kept", seed, given, res, reserved, total[res])
			}
		}
	}
}
