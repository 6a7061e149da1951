package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// oldDatabase makes the database of testdata/format1.sql.
func oldDatabase(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "format1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "muster.db")
	change(t, path, string(text))
	return path
}

// since1 is a time of testdata/format1.sql, in microseconds after its noon.
func since1(us int64) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(us) * time.Microsecond)
}

// TestFirstFormatIsCharged: tasks that an older version has written know when
// they gave their devices back, in the column and in the record.
func TestFirstFormatIsCharged(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, oldDatabase(t))
	const never, now = 0, 100_000_000
	var got, want []string
	for _, c := range []struct {
		task             string
		placed, released int64
		devices          []string
	}{
		{"old1/0/0", 1_250_000, 10_500_000, []string{"GPU-0 1000"}},                // until the end of its attempt, not its own
		{"old1/1/0", 12_000_001, 30_999_999, []string{"GPU-0 1000", "GPU-1 1000"}}, // not rounded to 31 s
		{"old2/0/0", 1_000_000, 7_000_003, []string{"GPU-0 1000"}},                 // of an array: until its own
		{"old2/0/1", 8_000_000, never, []string{"GPU-0 1000"}},
		{"old2/0/3", 1_000_000, 4_000_000, []string{"GPU-1 1000"}},
		{"old3/0/0", 2_000_000, never, []string{"GPU-2 1000"}},
		{"old3/0/1", 2_000_000, never, []string{"GPU-3 1000"}}, // of a gang that runs: it has ended and holds its place
		{"old5/0/0", 3_500_000, 60_120_000, []string{"GPU-4 1000"}},
		{"old5/0/1", 3_500_000, 60_120_000, []string{"GPU-5 500"}},
		{"old6/0/0", 2_000_000, 3_000_000, []string{"GPU-6 1000"}}, // its attempt has no end
		{"old6/1/0", 12_000_000, 12_000_000, nil},                  // nor has it itself
		{"old7/0/0", 2_000_000, 30_100_000, []string{"GPU-7 1000"}},
		{"old7/0/1", 2_000_000, 50_000_000, []string{"GPU-0 1000"}}, // of an array that was stopped before it had ended
	} {
		id, err := core.ParseTaskID(c.task)
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := s.Tasks(t.Context(), id.Workload, id.Attempt)
		i := slices.IndexFunc(tasks, func(k core.Task) bool { return k.ID == id })
		if err != nil || i < 0 {
			t.Fatalf("task %s: %v", c.task, err)
		}
		released := since1(c.released)
		if c.released == never {
			released = time.Time{}
		}
		if k := tasks[i]; !k.PlacedAt.Equal(since1(c.placed)) || !k.ReleasedAt.Equal(released) {
			t.Errorf("task %s: placed %v, released %v; want %v and %v", c.task, k.PlacedAt, k.ReleasedAt, since1(c.placed), released)
		}
		if c.released == never {
			released = since1(now)
		}
		for _, d := range c.devices {
			want = append(want, fmt.Sprintf("%s %s %v %v", c.task, d, since1(c.placed), released))
		}
	}
	err := s.Uses(t.Context(), store.UseQuery{Now: since1(now)}, func(u core.Use) bool {
		id := core.TaskID{Workload: u.Workload, Attempt: u.Attempt, Index: u.Task}
		got = append(got, fmt.Sprintf("%s %s %d %v %v", id, u.Device, u.Milli, u.From, u.To))
		return true
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Uses: %v\n%q\nwant\n%q", err, got, want)
	}
	// What has no place yet, or no devices, is as it was.
	for _, id := range []core.WorkloadID{"old2", "old4"} {
		tasks, err := s.Tasks(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range tasks {
			if k.PlacedAt.IsZero() && !k.ReleasedAt.IsZero() {
				t.Errorf("task %s was never placed and is released at %v", k.ID, k.ReleasedAt)
			}
		}
	}
}

// TestFirstFormatGoesOn: everything else of it is there, and can be changed.
func TestFirstFormatGoesOn(t *testing.T) {
	t.Parallel()
	path := oldDatabase(t)
	s := mustOpen(t, path)
	term := mustAcquire(t, s)
	if c, err := s.Counters(t.Context()); err != nil || c != (store.Counters{Workload: 7, Transition: 1, Revision: 1}) || term != 2 {
		t.Errorf("Counters: %+v, %v, term %d", c, err, term)
	}
	projects, err := s.Projects(t.Context())
	if err != nil || len(projects) != 2 || projects[0].StopMode != core.StopNone || projects[0].Priority != core.UsualPriority ||
		projects[1].StopMode != core.StopHold || projects[1].Note != "by ada" {
		t.Errorf("Projects: %+v, %v; want an open one and one on hold", projects, err)
	}
	live, err := s.Live(t.Context())
	if err != nil || len(live) != 2 || len(live[0].Tasks) != 4 || len(live[1].Tasks) != 2 {
		t.Fatalf("Live: %d entries, %v; want 2 with 4 and 2 tasks", len(live), err)
	}
	array := *live[0].Workload
	array.Version++
	array.Spec = &spec.Document{Name: "array", Labels: map[string]string{"team": "b"}}
	mustCommit(t, s, term, &store.Batch{
		Workloads: []*core.Workload{&array}, Edited: []core.WorkloadID{array.ID},
		Secrets: []core.Secret{{User: "ada", Name: "s", Sealed: []byte{1}}},
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path) // nothing is migrated twice
	for value, want := range map[string]int{"a": 4, "b": 1} {
		page, err := s.List(t.Context(), store.Query{Labels: map[string]string{"team": value}})
		if err != nil || len(page.Items) != want {
			t.Errorf("List by team=%s: %d, %v; want %d", value, len(page.Items), err, want)
		}
	}
	tasks, err := s.Tasks(t.Context(), array.ID, 0)
	if err != nil || len(tasks) != 4 || !tasks[0].ReleasedAt.Equal(since1(7_000_003)) {
		t.Errorf("Tasks: %+v, %v", tasks, err)
	}
}
