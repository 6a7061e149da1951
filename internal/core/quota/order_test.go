package quota

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWhoIsServedFirst(t *testing.T) {
	t.Parallel()
	total := Amounts{8000, 8000, 8000}
	free := Amounts{Unlimited, Unlimited, Unlimited}
	base := Standing{Priority: 100, Age: 5, Quota: Amounts{2000, Unlimited, Unlimited}, Limit: free,
		Share: Amounts{4000, 8000, 8000}, Held: Amounts{1000, 1000, 1000}, Next: Amounts{1000}}
	for _, c := range []struct {
		name  string
		first func(*Standing)
		then  func(*Standing)
	}{
		{"who is not over its share", func(*Standing) {}, func(s *Standing) { s.Held = Amounts{4001, 8001, 8001}; s.Priority = 900 }},
		{"over in one resource is not over", func(s *Standing) {
			s.Held = Amounts{4001, 8000, 8001}
			s.Next = Amounts{}
			s.Priority = 101
			s.Quota = free
		},
			func(s *Standing) { s.Next = Amounts{} }},
		{"who stays in quota", func(*Standing) {}, func(s *Standing) { s.Next[GPU] = 1001; s.Priority = 900 }},
		{"priority", func(s *Standing) { s.Priority = 101; s.Held[GPU] = 1000 }, func(s *Standing) { s.Held[GPU] = 0 }},
		{"who uses nothing that it has no share of", func(s *Standing) { s.Held[CPU] = 7000 },
			func(s *Standing) {
				s.Quota[Memory], s.Share[Memory] = 0, 0
				s.Held[Memory] = 0
				s.Next[Memory] = 0
				s.Held[GPU] = 0
				s.Limit[Memory] = 0
				s.Held[Memory] = 1
			}},
		{"less of its share with the next job", func(s *Standing) { s.Held[GPU] = 900 }, func(*Standing) {}},
		{"whose share is larger", func(s *Standing) { s.Share[GPU] = 5000 }, func(*Standing) {}},
		{"less of its share without the next job", func(s *Standing) { s.Held[GPU], s.Next[GPU] = 900, 1100; s.Age = 9 }, func(*Standing) {}},
		{"the smaller entitlement", func(s *Standing) { s.Share[GPU], s.Held[GPU], s.Next[GPU] = 3000, 750, 750; s.Age = 9 }, func(*Standing) {}},
		{"the older", func(s *Standing) { s.Age = 4 }, func(*Standing) {}},
	} {
		a, b := base, base
		c.first(&a)
		c.then(&b)
		if Compare(&a, &b, total) >= 0 || Compare(&b, &a, total) <= 0 {
			t.Errorf("%s: not first", c.name)
		}
	}
	if same := base; Compare(&base, &same, total) != 0 {
		t.Error("a queue differs from itself")
	}
}

func TestTheOrderIsOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 8))
	terms := func() (a Amounts) {
		for i := range a {
			a[i] = r.Int64N(4) - 1
		}
		return a
	}
	some := func() Amounts { a := terms(); return Amounts{max(a[0], 0), max(a[1], 0), max(a[2], 0)} }
	for range 20000 {
		var s [3]Standing
		for i := range s {
			s[i] = Standing{Priority: r.IntN(2), Age: int64(i), Quota: terms(), Limit: terms(), Share: some(), Held: some(), Next: some()}
		}
		total := Amounts{3, 3, 3}
		ab, bc, ac := Compare(&s[0], &s[1], total), Compare(&s[1], &s[2], total), Compare(&s[0], &s[2], total)
		if ab == 0 || bc == 0 || ac == 0 {
			t.Fatalf("queues of different age are equal: %+v", s)
		}
		if ab < 0 && bc < 0 && ac > 0 || ab > 0 && bc > 0 && ac < 0 {
			t.Fatalf("the order goes round: %+v", s)
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
