package schedule_test

import (
	"github.com/musterhq/muster/internal/core/schedule"
)

// Default is the configuration of a server that is told nothing else.
func Default() schedule.Config { return schedule.NewPolicy().Config }
