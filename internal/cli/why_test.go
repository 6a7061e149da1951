package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/session"
)

// whyOf is the answer of the sample server.
func whyOf(w api.Workload) api.Why {
	y := api.Why{ID: w.ID, Name: w.Name, Project: w.Project, Phase: w.Phase, Since: w.Since, EvaluatedAt: before(8 * time.Second)}
	y.Reasons = []api.PendingReason{}
	if w.Pending == nil {
		return y
	}
	y.Waits = true
	y.Forecast = api.Forecast{
		Position: 3, Waiting: 9,
		Reasons: []api.PendingReason{
			{Token: "TopologyUnsatisfied", Message: "its 4 tasks must be in one rack: the best has room for 3 now, while 40 GPUs are free in all (r1 has 24 GPUs free, r2 has 16 GPUs free)", Act: "change", Hint: "wait, or let its tasks be in more than one rack"},
			{Token: "WaitingForQuota", Message: "vision holds 48 GPU of 32 GPU guaranteed", Act: "wait", Hint: "wait until work of vision or of others ends"},
		},
		Checked:  []api.Checked{{What: "priority", Note: "nobody of a higher priority waits in vision"}, {What: "cpu"}, {What: "memory"}},
		Ahead:    []api.RelatedWorkload{{Name: "tok-3", GPUs: 2, Start: ptr(before(-20 * time.Minute))}, {Name: "tok-4"}},
		Frees:    []api.RelatedWorkload{{Name: "llama-sft", GPUs: 16, End: ptr(before(-25 * time.Minute)), Early: ptr(before(-5 * time.Minute)), Late: ptr(before(-45 * time.Minute))}},
		Estimate: &api.Estimate{Early: ptr(before(-10 * time.Minute)), Likely: ptr(before(-30 * time.Minute)), Late: ptr(before(-100 * time.Minute)), Learnt: 3, Limits: 1, Unknown: 2, Inside: 17, Scored: 25},
		Suggestions: []api.Suggestion{
			{Flags: "--workers 3", Now: true},
			{Flags: "--priority high", Displaces: []api.RelatedWorkload{{Name: "sweep-1", Project: "nlp", User: "ben", GPUs: 8}}},
		},
	}
	return y
}

func TestEstimatesSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	m := session.Moments{Now: noon}
	in := func(d time.Duration) *api.Time { return ptr(before(-d)) }
	for want, e := range map[string]api.Estimate{
		"12:30 (likely 12:10–13:40)":                   {Early: in(10 * time.Minute), Likely: in(30 * time.Minute), Late: in(100 * time.Minute)},
		"12:30 (not before 12:10, perhaps much later)": {Early: in(10 * time.Minute), Likely: in(30 * time.Minute)},
		"not before 12:10; nobody can tell more":       {Early: in(10 * time.Minute)},
		"12:30":                                        {Likely: in(30 * time.Minute), Simple: true},
		"after 14:00, up to which was looked":          {After: in(2 * time.Hour)},
		"by 14:00 at the latest: by then it has waited for so long that others have to give way": {Late: in(2 * time.Hour)},
		"nobody can tell": {Unknown: 3},
	} {
		if got := inspect.When(&e, m); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	if got, want := inspect.Record(&api.Estimate{Inside: 2, Scored: 3}), "too few past estimates to say how good they are (n=3)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := inspect.Record(&api.Estimate{Inside: 88, Scored: 100, Width: 2400, Wait: 3000}), "88 % of past estimates were inside the range (n=100), typically 40m wide where the wait was 50m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := inspect.Record(&api.Estimate{Inside: 17, Scored: 25}), "68 % of past estimates were inside the range (n=25)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatADryRunSays(t *testing.T) {
	t.Parallel()
	s := newWorld(t, nil).s
	for name, c := range map[string]struct {
		plan api.Plan
		want []string
	}{
		"now": {
			api.Plan{Fits: true, Now: true, Pool: "h100", Tasks: []api.Placement{{Node: "a", Devices: []string{"g0"}}, {Node: "a", Devices: []string{"g1"}}, {Node: "b"}}},
			[]string{"It would start now in pool h100: a ×2 (g0 g1), b\n"},
		},
		"displaces": {
			api.Plan{Fits: true, Pool: "h100", Tasks: []api.Placement{{Node: "a"}}, Displaces: []api.RelatedWorkload{{Name: "x", GPUs: 2, Project: "p", User: "u"}}},
			[]string{"once others have made room in pool h100: a\n", "It would displace x (2 GPUs, project p, u)\n"},
		},
		"waits": {
			api.Plan{Checks: []string{"legal"}, Forecast: api.Forecast{Position: 2, Waiting: 5}},
			[]string{"It has to be approved first: legal\n", "It would wait, 2nd of 5 in its queue\n"},
		},
	} {
		var b strings.Builder
		inspect.Plan(s, &b, &c.plan)
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q does not say %q", name, b.String(), want)
			}
		}
	}
}

func TestOrdinals(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 111: "111th"} {
		if got := inspect.Ordinal(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
