package replay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestIDSetFindsTheNext(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 63, 64, 65, 5000} {
		r := rand.New(rand.NewPCG(uint64(n), 2))
		s, want := newIDSet(n), make([]bool, n)
		for range 3000 {
			i := r.IntN(n)
			if want[i] = r.IntN(3) == 0; want[i] {
				s.add(i)
			} else {
				s.remove(i)
			}
			from := r.IntN(n + 1)
			next := slices.Index(want[from:], true)
			if next >= 0 {
				next += from
			}
			if got := s.next(from); got != next {
				t.Fatalf("n %d: next(%d) = %d, want %d", n, from, got, next)
			}
		}
	}
}

func TestMinTreeFindsTheNextSmallOne(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 7, 64, 100} {
		r := rand.New(rand.NewPCG(uint64(n), 3))
		tree, want := newMinTree(n), make([]int64, n)
		for i := range want {
			want[i] = 1 << 62
		}
		for range 3000 {
			i := r.IntN(n)
			want[i] = int64(r.IntN(100))
			tree.set(i, want[i])
			from, limit := r.IntN(n+1), int64(r.IntN(20))
			next := slices.IndexFunc(want[from:], func(v int64) bool { return v <= limit })
			if next >= 0 {
				next += from
			}
			if got := tree.next(from, limit); got != next {
				t.Fatalf("n %d: next(%d, %d) = %d, want %d", n, from, limit, got, next)
			}
		}
	}
}

func TestPlacementKeepsNodesWhole(t *testing.T) {
	t.Parallel()
	s := newNodes(4, 8)
	s.take([]Part{{Node: 0, GPUs: 3}, {Node: 2, GPUs: 5}})
	for _, c := range []struct {
		gpus int
		want []Part
	}{
		{3, []Part{{2, 3}}},
		{4, []Part{{0, 4}}},
		{6, []Part{{1, 6}}},
		{8, []Part{{1, 8}}},
		{20, []Part{{1, 8}, {3, 8}, {0, 4}}},
		{22, nil},
	} {
		if got := s.place(c.gpus); !slices.Equal(got, c.want) || s.fits(c.gpus) != (c.want != nil) {
			t.Errorf("%d GPUs: placed %v (fits: %v), want %v", c.gpus, got, s.fits(c.gpus), c.want)
		}
	}
}

func TestEntitlementsFollowWeightAndWish(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ weights, wanted, want []float64 }{
		{[]float64{1, 1}, []float64{100, 100}, []float64{50, 50}},
		{[]float64{3, 1}, []float64{100, 100}, []float64{75, 25}},
		{[]float64{3, 1}, []float64{30, 100}, []float64{30, 70}},
		{[]float64{1, 1, 2}, []float64{10, 100, 100}, []float64{10, 30, 60}},
		{[]float64{1, 0, 0}, []float64{40, 50, 5}, []float64{40, 50, 5}},
		{[]float64{1, 0}, []float64{200, 50}, []float64{100, 0}},
	} {
		if got := entitled(100, c.weights, c.wanted); !slices.Equal(got, c.want) {
			t.Errorf("weights %v, wanted %v: %v, want %v", c.weights, c.wanted, got, c.want)
		}
	}
}
