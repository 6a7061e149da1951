package firsterror_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core/firsterror"
)

type placed struct {
	name string
	echo bool
	task int
	at   time.Duration // after the first; negative: unknown
}

func TestWhatExplainsTheOthersComesFirst(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	culprit := 2
	for _, c := range []struct {
		about string
		found []placed
		want  string
	}{
		{"time", []placed{{"late", false, 0, time.Second}, {"early", false, 1, 0}}, "early"},
		{"an echo after its cause", []placed{{"echo", true, 0, 0}, {"cause", false, 1, 2 * time.Second}}, "cause"},
		{"what came long after is no cause", []placed{{"echo", true, 0, 0}, {"other", false, 1, time.Minute}}, "echo"},
		{"the culprit where times are equal", []placed{{"a", false, 0, 0}, {"b", false, 2, 0}}, "b"},
		{"the lowest index else", []placed{{"b", false, 3, 0}, {"a", false, 1, 0}}, "a"},
	} {
		firsterror.Order(c.found, &culprit, func(p placed) (*firsterror.Finding, int, time.Time) {
			at := time.Time{}
			if p.at >= 0 {
				at = begin.Add(p.at)
			}
			return &firsterror.Finding{Echo: p.echo}, p.task, at
		})
		if c.found[0].name != c.want {
			t.Errorf("%s: %s came first, want %s", c.about, c.found[0].name, c.want)
		}
	}
	for _, k := range firsterror.Kinds() {
		if k.Hint() == "" {
			t.Errorf("%s has no hint", k)
		}
	}
}
