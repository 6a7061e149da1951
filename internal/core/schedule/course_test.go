package schedule_test

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// holdsOf are the holds of a job as (node, device, from, to), times after clock.
func holdsOf(c forecast.Course, id core.WorkloadID) (out [][4]any) {
	after := func(t int64) int64 {
		if t == 0 {
			return 0
		}
		return t - clock
	}
	for _, h := range c.Holds {
		if h.ID == id {
			out = append(out, [4]any{string(h.Node), h.Share.Device, after(h.From), after(h.To)})
		}
	}
	return out
}

// A course has what runs until its likely end, and in its place what comes then.
func TestACourseTellsWhoHoldsWhatWhen(t *testing.T) {
	t.Parallel()
	s := floor(1)
	s.Jobs = []schedule.Job{runs("a", 1, "n0", 0, 1), runs("b", 2, "n0", 2, 3), wide("next", 3, 1, 2), wide("wide", 4, 1, 4)}
	spans := map[core.WorkloadID]forecast.Span{
		"a": ends(1, 100_000, 200_000), "b": ends(1, 5_000_000, 9_000_000), "next": {Early: 1, Likely: 50_000, Late: 60_000}, "wide": {Early: 1, Likely: 10_000, Late: 20_000},
	}
	from := state.Load(s, schedule.Config{}).Copy(clock, nil)
	c := forecast.CourseOf(from, spans, clock+10_000_000)
	if want := [][4]any{{"n0", "0", int64(0), int64(100_000)}, {"n0", "1", int64(0), int64(100_000)}}; !slices.Equal(holdsOf(c, "a"), want) {
		t.Errorf("a: %v", holdsOf(c, "a"))
	}
	if want := [][4]any{{"n0", "0", int64(100_000), int64(150_000)}, {"n0", "1", int64(100_000), int64(150_000)}}; !slices.Equal(holdsOf(c, "next"), want) {
		t.Errorf("next: %v", holdsOf(c, "next"))
	}
	if w := holdsOf(c, "wide"); len(w) != 4 || w[0] != [4]any{"n0", "0", int64(5_000_000), int64(5_010_000)} {
		t.Errorf("wide comes once both have ended: %v", w)
	}
	if c.Until != 0 || c.Simple {
		t.Errorf("%+v", c)
	}
	// No further than asked: what ends later has no end in it.
	if b := holdsOf(forecast.CourseOf(from, spans, clock+1_000_000), "b"); len(b) != 2 || b[0][3] != int64(0) {
		t.Errorf("b: %v", b)
	}
}

// Who is displaced is gone from its place, and comes back to one.
func TestACourseFollowsWhoIsDisplaced(t *testing.T) {
	t.Parallel()
	s := floor(1)
	victim, high := runs("victim", 1, "n0", 0, 1, 2, 3), wide("high", 2, 1, 4)
	high.Priority = 10
	s.Jobs = []schedule.Job{victim, high}
	c := forecast.CourseOf(state.Load(s, schedule.Config{}).Copy(clock, nil), map[core.WorkloadID]forecast.Span{"victim": ends(9_000, 9_000, 9_000), "high": {Early: 100_000, Likely: 100_000, Late: 100_000}}, clock+1_000_000)
	if h := holdsOf(c, "high"); len(h) != 4 || h[0][2] != int64(0) || h[0][3] != int64(100_000) {
		t.Errorf("high: %v", h)
	}
	if v := holdsOf(c, "victim"); len(v) != 8 || v[0][2] != int64(0) || v[4][2] != int64(100_000) {
		t.Errorf("victim: %v", v)
	}
}
