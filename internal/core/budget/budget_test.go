package budget

import (
	"math"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		period           core.BudgetPeriod
		now, from, until string
	}{
		{core.BudgetDay, "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{core.BudgetDay, "2026-03-01T01:30:00+02:00", "2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"},
		{core.BudgetWeek, "2026-03-01T23:59:59Z", "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"}, // a Sunday
		{core.BudgetWeek, "2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"},
		{core.BudgetMonth, "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{core.BudgetMonth, "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
	} {
		from, until := KeyOf("p", &core.Budget{Period: c.period}, "").Window(at(c.now))
		if !from.Equal(at(c.from)) || !until.Equal(at(c.until)) {
			t.Errorf("the %s of %s is from %v until %v", c.period, c.now, from, until)
		}
	}
}

// A price of a pool and type goes before one of a pool, that before one of a type, and
// that before any; of the same the last that has begun.
func TestRatesTakeWhatSaysMost(t *testing.T) {
	begin := at("2026-01-01T00:00:00Z")
	r := NewRates(&core.Prices{Currency: "EUR", Items: []core.Price{
		{PerGPUHour: 1}, {GPUType: "H100", PerGPUHour: 2}, {Pool: "big", PerGPUHour: 3}, {Pool: "big", GPUType: "H100", PerGPUHour: 4},
		{PerGPUHour: 10, From: begin.Add(time.Hour)},
	}})
	const h100 = "NVIDIA H100 80GB HBM3"
	for _, c := range []struct {
		s     Sort
		after time.Duration
		want  float64
	}{{Sort{"p", "x"}, 0, 1}, {Sort{"p", "x"}, time.Hour, 10}, {Sort{"p", h100}, time.Hour, 2}, {Sort{"big", "x"}, time.Hour, 3}, {Sort{"big", h100}, 0, 4}, {Sort{"p", ""}, 0, 1}} {
		if got := r.At(c.s, begin.Add(c.after)); got != c.want {
			t.Errorf("%+v costs %v after %v, want %v", c.s, got, c.after, c.want)
		}
	}
	if got := r.Cost(Sort{"p", "x"}, begin, begin.Add(3*time.Hour), 500); math.Abs(got-10.5) > 1e-9 {
		t.Errorf("half a device for 3 hours costs %v", got)
	}
	if got := NewRates(nil).Cost(Sort{"p", "x"}, begin, begin.Add(time.Hour), 1000); got != 0 {
		t.Errorf("without prices it costs %v", got)
	}
}

func TestBudgetForOnceCountsItsTimeOnly(t *testing.T) {
	begin := at("2026-01-01T00:00:00Z")
	b := core.Budget{GPUSeconds: 7200, Period: core.BudgetOnce, From: begin.Add(time.Hour), Until: begin.Add(5 * time.Hour), AtEnd: core.BudgetHold}
	a := NewAccount(KeyOf("p", &b, ""), begin, []core.Budget{b})
	s := SortOf("", "x")
	a.Hold(s, begin, 1000, 1)
	a.Plan(begin, Rates{})
	for _, c := range []struct {
		after time.Duration
		used  float64
		over  bool
		next  time.Duration // about
	}{{0, 0, false, time.Hour}, {time.Hour, 0, false, 2*time.Hour + 36*time.Minute}, {2 * time.Hour, 3600, false, 2*time.Hour + 36*time.Minute}, {3 * time.Hour, 7200, true, 5 * time.Hour}, {6 * time.Hour, 14400, false, 0}} {
		now := begin.Add(c.after)
		a.Judge(now, Rates{})
		next := begin.Add(c.next)
		if c.next == 0 {
			next = time.Time{}
		}
		if a.GPUSeconds(now) != c.used || a.Levels[0].Over != c.over || a.Next.Sub(next).Abs() > time.Second {
			t.Errorf("after %v %v is used, over %v, next at %v", c.after, a.GPUSeconds(now), a.Levels[0].Over, a.Next)
		}
	}
}

// What is told wrongly and taken back leaves nothing behind, also across periods.
func TestWhatIsTakenBackLeavesNothing(t *testing.T) {
	begin := at("2026-01-01T22:00:00Z")
	b := core.Budget{GPUSeconds: 1e9, Period: core.BudgetDay, AtEnd: core.BudgetWarn}
	a := NewAccount(KeyOf("p", &b, ""), begin, []core.Budget{b})
	s := SortOf("p", "x")
	a.Hold(s, begin, 1000, 1)
	a.Judge(begin.Add(time.Hour), Rates{})
	if got := a.GPUSeconds(begin.Add(time.Hour)); got != 3600 {
		t.Errorf("after an hour %v is used", got)
	}
	a.Judge(begin.Add(3*time.Hour), Rates{})
	if got := a.GPUSeconds(begin.Add(3 * time.Hour)); got != 3600 {
		t.Errorf("an hour into the next day %v is used", got)
	}
	a.Hold(s, begin, 1000, -1)
	if got := a.GPUSeconds(begin.Add(4 * time.Hour)); got != 0 || !a.Idle() {
		t.Errorf("once it is taken back %v is used", got)
	}
	a.Used(s, begin, begin.Add(150*time.Minute), 1000, 1)
	if got := a.GPUSeconds(begin.Add(4 * time.Hour)); got != 1800 {
		t.Errorf("of what ended half an hour into the day %v is used", got)
	}
}

// What is told after the fact may have reached a share already: that is seen at once.
func TestWhatIsToldLateIsSeenAtOnce(t *testing.T) {
	begin := at("2026-01-01T00:00:00Z")
	b := core.Budget{GPUSeconds: 3600, Period: core.BudgetDay, AtEnd: core.BudgetHold}
	a := NewAccount(KeyOf("p", &b, ""), begin, []core.Budget{b})
	a.Judge(begin, Rates{})
	now := begin.Add(2 * time.Hour)
	a.Used(SortOf("p", "x"), begin, now, 1000, 1)
	a.Plan(now, Rates{})
	if a.Next.Sub(now) > time.Second {
		t.Fatalf("it is looked at only at %v", a.Next)
	}
	if a.Judge(a.Next, Rates{}); !a.Levels[0].Over || !a.Next.Equal(begin.Add(24*time.Hour)) {
		t.Errorf("then it is over: %v, and looked at next at %v", a.Levels[0].Over, a.Next)
	}
}
