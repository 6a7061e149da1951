// Package predecessor names what workloads wait for.
package predecessor

import "github.com/musterhq/muster/internal/core/spec"

// Name is what the check is called that a dependency makes, as engine and command
// lines have it alike.
func Name(a spec.Dependency) string {
	name := "after-" + a.Workload
	if a.Event() != spec.AfterSucceeded {
		name += "-" + a.Event()
	}
	if a.Delay > 0 {
		name += "-" + a.Delay.String()
	}
	if a.PerTask {
		name += "-per-task"
	}
	if a.Tasks != "" {
		name += "-tasks-" + a.Tasks
	}
	return name
}
