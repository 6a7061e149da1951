package quota

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// side is a queue with what it holds and would get next.
type side struct {
	priority                        int
	age                             int64
	quota, limit, share, held, next Amounts
}

func (s *side) standing() *Standing {
	may, with := Entitlement(s.limit, s.quota, s.share), s.held.Add(s.next)
	return &Standing{Priority: s.priority, Age: s.age, Quota: &s.quota, Share: &s.share, May: &may, Has: &s.held, Due: &with, Part: &with}
}

func TestWhoIsServedFirst(t *testing.T) {
	t.Parallel()
	total := Amounts{8000, 8000, 8000}
	free := Amounts{Unlimited, Unlimited, Unlimited}
	base := side{100, 5, Amounts{2000, Unlimited, Unlimited}, free, Amounts{4000, 8000, 8000}, Amounts{1000, 1000, 1000}, Amounts{1000}}
	for _, c := range []struct {
		name  string
		first func(*side)
		then  func(*side)
	}{
		{"who is not over its share", func(*side) {}, func(s *side) { s.held = Amounts{4001, 8001, 8001}; s.priority = 900 }},
		{"over in one resource is not over", func(s *side) {
			s.held = Amounts{4001, 8000, 8001}
			s.next = Amounts{}
			s.priority = 101
			s.quota = free
		},
			func(s *side) { s.next = Amounts{} }},
		{"who stays in quota", func(*side) {}, func(s *side) { s.next[GPU] = 1001; s.priority = 900 }},
		{"priority", func(s *side) { s.priority = 101; s.held[GPU] = 1000 }, func(s *side) { s.held[GPU] = 0 }},
		{"who uses nothing that it has no share of", func(s *side) { s.held[CPU] = 7000 },
			func(s *side) {
				s.share[Memory], s.limit[Memory] = 0, 0
				s.held = Amounts{0, 1000, 1}
			}},
		{"less of its share with the next job", func(s *side) { s.held[GPU] = 900 }, func(*side) {}},
		{"whose share is larger", func(s *side) { s.share[GPU] = 5000 }, func(*side) {}},
		{"less of its share without the next job", func(s *side) { s.held[GPU], s.next[GPU] = 900, 1100; s.age = 9 }, func(*side) {}},
		{"the smaller entitlement", func(s *side) { s.share[GPU], s.held[GPU], s.next[GPU] = 3000, 750, 750; s.age = 9 }, func(*side) {}},
		{"the smaller entitlement, and none is smaller than unlimited", func(s *side) {
			s.held[GPU], s.next[GPU], s.age = 750, 250, 9
			s.quota, s.share = free, Amounts{8000, 8000, 8000}
			s.limit[GPU] = 8000
		},
			func(s *side) { s.held[GPU], s.next[GPU] = 750, 250; s.quota, s.share = free, Amounts{8000, 8000, 8000} }},
		{"the older", func(s *side) { s.age = 4 }, func(*side) {}},
	} {
		a, b := base, base
		c.first(&a)
		c.then(&b)
		if Compare(a.standing(), b.standing(), total) >= 0 || Compare(b.standing(), a.standing(), total) <= 0 {
			t.Errorf("%s: not first", c.name)
		}
	}
	if same := base; Compare(base.standing(), same.standing(), total) != 0 {
		t.Error("a queue differs from itself")
	}
}

// TestWhoLostMoreIsStillOverItsShare: taking from a queue must not make it one
// that is in its share, or the search for victims would turn to its sibling half-way.
func TestWhoLostMoreIsStillOverItsShare(t *testing.T) {
	t.Parallel()
	total := Amounts{8000, 8000, 8000}
	share := Amounts{2000, 2000, 2000}
	of := func(before, left int64) *Standing {
		had, has := Amounts{before, before, before}, Amounts{left, left, left}
		return &Standing{Quota: &share, Share: &share, May: &share, Has: &had, Due: &had, Part: &has}
	}
	over, within := of(4000, 1000), of(2000, 2000)
	if Compare(over, within, total) <= 0 {
		t.Error("who was over its share before the search is served before who was not")
	}
	more, less := of(4000, 3000), of(4000, 2500)
	if Compare(more, less, total) <= 0 {
		t.Error("of two that were equal, who has more left is served first")
	}
}

func TestTheOrderIsOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 8))
	from := func(least int64) *Amounts {
		a := new(Amounts)
		for i := range a {
			a[i] = least + r.Int64N(4)
		}
		return a
	}
	for range 20000 {
		var s [3]*Standing
		for i := range s {
			s[i] = &Standing{Priority: r.IntN(2), Age: int64(i), Quota: from(Unlimited), Share: from(0), Has: from(0), Due: from(0), Part: from(0)}
			may := Entitlement(*from(Unlimited), *s[i].Quota, *s[i].Share)
			s[i].May = &may
		}
		total := Amounts{3, 3, 3}
		ab, bc, ac := Compare(s[0], s[1], total), Compare(s[1], s[2], total), Compare(s[0], s[2], total)
		if ab == 0 || bc == 0 || ac == 0 {
			t.Fatalf("queues of different age are equal: %+v, %+v, %+v", s[0], s[1], s[2])
		}
		if ab < 0 && bc < 0 && ac > 0 || ab > 0 && bc > 0 && ac < 0 {
			t.Fatalf("the order goes round: %+v, %+v, %+v", s[0], s[1], s[2])
		}
	}
}

func TestEntitlementIsQuotaOrShareWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, quota, share, want int64 }{
		{Unlimited, 2, 3, 3}, {Unlimited, 4, 3, 4}, {3, 4, 5, 3}, {9, 4, 5, 5},
		{7, Unlimited, 3, 7}, {Unlimited, Unlimited, 3, Unlimited}, {-9, -9, 3, Unlimited}, {0, 4, 5, 0},
	} {
		if got := Entitlement(Amounts{c.limit}, Amounts{c.quota}, Amounts{c.share})[GPU]; got != c.want {
			t.Errorf("limit %d, quota %d and share %d entitle to %d, want %d", c.limit, c.quota, c.share, got, c.want)
		}
	}
}

func TestDominantShareIsTheLargest(t *testing.T) {
	t.Parallel()
	total := Amounts{10000, 10000, 10000}
	for _, c := range []struct {
		held, entitlement Amounts
		want              float64
	}{
		{Amounts{}, Amounts{}, 0},
		{Amounts{1000, 1000, 1000}, Amounts{2000, 4000, 8000}, 0.5},
		{Amounts{1000, 5000, 1000}, Amounts{2000, 4000, 8000}, 1.25},
		{Amounts{1000, 9000, 0}, Amounts{2000, Unlimited, 8000}, 0.9},
		{Amounts{1000, 0, 0}, Amounts{0, 1, 1}, 1000}, // one device
		{Amounts{0, 3, 0}, Amounts{1, 0, 1}, 3000},
	} {
		if got := DominantShare(c.held, c.entitlement, total); got != c.want {
			t.Errorf("%v of %v is %v, want %v", c.held, c.entitlement, got, c.want)
		}
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	a, b := Amounts{1, 2, 3}, Amounts{10, 20, 30}
	if a.Add(b) != (Amounts{11, 22, 33}) || b.Sub(a) != (Amounts{9, 18, 27}) {
		t.Error("sums are wrong")
	}
	if !a.Within(Amounts{1, Unlimited, 3}) || a.Within(Amounts{1, 1, 3}) {
		t.Error("limits are wrong")
	}
	var names []string
	for r := range Resources + 1 {
		names = append(names, r.String())
	}
	if !slices.Equal(names, []string{"GPU", "CPU", "memory", "unknown resource"}) {
		t.Errorf("resources are %q", names)
	}
}
