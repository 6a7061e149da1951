//go:build linux

package local

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// TestThousandTasks holds a thousand tasks at once, loses its supervisor, and ends
// them all. The figures it logs are for reading, not for failing.
func TestThousandTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves it out: it starts a thousand processes")
	}
	p := open(t, Options{})
	const n = 1000
	var tasks []backend.Assignment
	var ids []core.TaskID
	for i := range n {
		id := core.TaskID{Workload: "crowd", Index: i}
		ids = append(ids, id)
		tasks = append(tasks, backend.Assignment{ID: id, Argv: []string{"sleep", "1000"}})
	}
	count := func(is func(core.TaskState) bool) (k int) {
		seen, err := p.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range seen {
			if is(o.State) {
				k++
			}
		}
		return k
	}
	running := func(s core.TaskState) bool { return s == core.TaskRunning }
	begun := time.Now()
	start(t, p, tasks...)
	if got := count(running); got != n {
		t.Fatalf("%d tasks run, want %d", got, n)
	}
	t.Logf("started %d in %s; the supervisor has %.1f MiB", n, time.Since(begun), rss(t, p))
	killSupervisor(t, p)
	begun = time.Now()
	if got := count(running); got != n {
		t.Fatalf("%d tasks run under the next supervisor, want %d", got, n)
	}
	t.Logf("taken over in %s; the supervisor has %.1f MiB", time.Since(begun), rss(t, p))
	begun = time.Now()
	if err := p.Stop(t.Context(), ids, time.Minute); err != nil {
		t.Fatal(err)
	}
	until(t, "all have ended", func() bool { return count(core.TaskState.Ended) == n })
	t.Logf("stopped in %s", time.Since(begun))
	if err := p.Forget(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if got := count(func(core.TaskState) bool { return true }); got != 0 {
		t.Errorf("%d tasks are held after Forget", got)
	}
}
