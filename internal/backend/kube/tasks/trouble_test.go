package tasks

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// What has begun a step of its start between being found late and being looked at
// is in no trouble; what cannot be created for a passing reason is.
func TestWhatGoesOnIsInNoTrouble(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		waiting string
		blank   bool
		want    lifecycle.Reason
	}{
		{"ContainerCreating", true, lifecycle.ReasonNone},
		{"Init:0/2", false, lifecycle.ReasonNone},
		{"Init:1/2", false, lifecycle.ReasonNone},
		{"PodInitializing", false, lifecycle.ReasonNone},
		{"CreateContainerError", false, lifecycle.ReasonContainerCannot},
		{"ImagePullBackOff", false, lifecycle.ReasonFailedImagePull},
	} {
		var x Task
		x.Waits(&backend.Observation{State: core.TaskStarting, Waiting: c.waiting}, c.blank, now)
		if got := x.Troubled(nil, now.Add(time.Minute)); got != c.want {
			t.Errorf("%s is ended as %q, want %q", c.waiting, got, c.want)
		}
		if c.want == lifecycle.ReasonNone && !x.Trouble.IsZero() {
			t.Errorf("%s is in trouble since %s", c.waiting, x.Trouble)
		}
	}
}
