//go:build linux

package taskdir

import (
	"testing"

	"github.com/musterhq/muster/internal/core"
)

func TestNamesOfTasksAreReadBack(t *testing.T) {
	t.Parallel()
	seen := map[string]core.TaskID{}
	for _, id := range []core.TaskID{
		{Workload: "w"}, {Workload: "w", Index: 1}, {Workload: "w", Attempt: 1}, {Workload: "w", Run: 1}, {Workload: "w", Index: 1, Run: 12},
		{Workload: "with.dots.0.1", Attempt: 2, Index: 3, Run: 4}, {Workload: "with-dashes-3", Attempt: 2, Index: 3}, {Workload: "with-dashes", Index: 3, Run: 3},
	} {
		name := Name(id)
		if other, twice := seen[name]; twice {
			t.Errorf("%s and %s are both named %q", id, other, name)
		}
		seen[name] = id
		if got, err := Parse(name); err != nil || got != id {
			t.Errorf("%q is read as %v, %v; want %v", name, got, err, id)
		}
		if got, err := core.ParseTaskID(id.String()); err != nil || got != id {
			t.Errorf("%q is read as %v, %v; want %v", id, got, err, id)
		}
	}
	for _, name := range []string{"", "w", "w.1", "w.1.2-0", "w.1.2-", "w.1.2-3-4", "w.1.-2", "w.1.2--3", ".1.2"} {
		if id, err := Parse(name); err == nil {
			t.Errorf("%q is read as %v", name, id)
		}
	}
}
