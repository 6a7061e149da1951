package mcli

import (
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// A run that began and ended between two looks did start: its log says so.
func TestWhatEndedAtOnceHadStarted(t *testing.T) {
	t.Parallel()
	code := 17
	w := &api.Workload{Attempts: []api.Attempt{{ExitCode: &code}, {}}}
	for _, c := range []struct {
		attempt int
		to      lifecycle.Phase
		want    bool
	}{
		{0, lifecycle.Backoff, true}, {0, lifecycle.Failed, true}, {0, lifecycle.Completed, true},
		{0, lifecycle.Running, false}, {0, lifecycle.Queued, false},
		{1, lifecycle.Failed, false}, // it could not be started
		{2, lifecycle.Failed, false},
	} {
		if got := endedAtOnce(w, &api.Transition{Attempt: c.attempt, To: string(c.to)}); got != c.want {
			t.Errorf("attempt %d to %s: %t", c.attempt, c.to, got)
		}
	}
}
