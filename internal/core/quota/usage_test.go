package quota

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestUsageIsThePartOfTheCluster(t *testing.T) {
	t.Parallel()
	capacity := Amounts{8000, 16000, 0}
	u := NewUsage(64*time.Hour, 0)
	u.Add(day0, Amounts{9999, 9999, 9999}) // only sets the time
	u.Add(day0.Add(16*time.Hour), Amounts{4000, 4000, 4000})
	if got := u.Share(day0.Add(16*time.Hour), capacity); !near(got[GPU], 0.125) || !near(got[CPU], 0.0625) || got[Memory] != 0 {
		t.Errorf("half of the GPUs for a quarter of the window is %v", got)
	}
	u.Add(day0.Add(8*time.Hour), Amounts{8000}) // the past
	u.Add(day0.Add(64*time.Hour), Amounts{})
	if got := u.Share(day0.Add(64*time.Hour), capacity)[GPU]; !near(got, 0.125) {
		t.Errorf("at the end of the window it is %v", got)
	}
	if got := u.Share(day0.Add(72*time.Hour), capacity)[GPU]; !near(got, 0.0625) {
		t.Errorf("when half has left the window it is %v", got)
	}
	if got := u.Share(day0.Add(80*time.Hour), capacity)[GPU]; got != 0 {
		t.Errorf("when all has left the window it is %v", got)
	}
}

func TestUsageOfAllIsWhole(t *testing.T) {
	t.Parallel()
	for _, halfLife := range []time.Duration{0, time.Hour, 7 * time.Hour, 100 * time.Hour, time.Second} {
		u := NewUsage(50*time.Hour, halfLife)
		at := day0
		r := rand.New(rand.NewPCG(1, 9))
		for u.Add(at, Amounts{}); at.Before(day0.Add(500 * time.Hour)); u.Add(at, Amounts{5000, 1, 1 << 40}) {
			at = at.Add(time.Duration(r.Int64N(int64(3 * time.Hour))))
		}
		for res, got := range u.Share(at, Amounts{5000, 1, 1 << 40}) {
			// The oldest slot decays as if its use had been at its end.
			if math.Abs(got-1) > 1e-3 {
				t.Errorf("half-life %v: all of the %s for ever is %v of it", halfLife, Resource(res), got)
			}
		}
	}
}

func TestHalfIsForgottenInAHalfLife(t *testing.T) {
	t.Parallel()
	u := NewUsage(100*time.Hour, 10*time.Hour)
	u.Span(day0, day0.Add(time.Hour), Amounts{1000})
	first := u.Sum(day0.Add(time.Hour))[GPU]
	if first <= 0.9*3600*1000 || first >= 3600*1000 {
		t.Errorf("one device for an hour is %v", first)
	}
	for n := 1; n < 9; n++ {
		if got := u.Sum(day0.Add(time.Hour + time.Duration(n)*10*time.Hour))[GPU]; !near(got, first/math.Exp2(float64(n))) {
			t.Errorf("after %d half-lives %v is left of %v", n, got, first)
		}
	}
}

func TestSpansComeInAnyOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 10))
	type span struct {
		from, to time.Time
		held     Amounts
	}
	var spans []span
	for range 200 {
		from := day0.Add(time.Duration(r.Int64N(int64(40 * time.Hour))))
		spans = append(spans, span{from, from.Add(time.Duration(r.Int64N(int64(9 * time.Hour)))), Amounts{r.Int64N(9000), r.Int64N(9000), r.Int64N(1 << 40)}})
	}
	a, b := NewUsage(50*time.Hour, 5*time.Hour), NewUsage(50*time.Hour, 5*time.Hour)
	for _, s := range spans {
		a.Span(s.from, s.to, s.held)
	}
	for _, i := range r.Perm(len(spans)) {
		b.Span(spans[i].from, spans[i].to, spans[i].held)
	}
	at := day0.Add(49 * time.Hour)
	for res, want := range a.Sum(at) {
		if got := b.Sum(at)[res]; want <= 0 || !near(got, want) {
			t.Errorf("%v of %s is counted in one order, %v in another", want, Resource(res), got)
		}
	}
}

func TestWhatIsTooOldForUsageIsLost(t *testing.T) {
	t.Parallel()
	u := NewUsage(0, 0)
	if u.Window() > DefaultWindow || u.Window() < DefaultWindow-time.Minute {
		t.Fatalf("without a window it is %v", u.Window())
	}
	now := day0.Add(1000 * time.Hour)
	u.Span(day0, now, Amounts{1000}) // much longer than the window
	u.Span(day0, day0.Add(time.Hour), Amounts{1000})
	u.Span(now, day0, Amounts{1000}) // backwards
	if got := u.Share(now, Amounts{1000})[GPU]; !near(got, 1) {
		t.Errorf("one device for more than the window is %v of it", got)
	}
	if tiny := NewUsage(1, 1); tiny.Window() < time.Microsecond {
		t.Errorf("the smallest window is %v", tiny.Window())
	}
}
