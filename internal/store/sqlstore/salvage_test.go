package sqlstore

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// TestSalvageTakesOutWhatCannotBeRead, after it was kept elsewhere, and nothing
// else; looking changes nothing.
func TestSalvageTakesOutWhatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "muster.db")
	s := mustOpen(t, path)
	b := new(store.Batch)
	for i := range int64(5) {
		w := job(i + 1)
		b.Workloads = append(b.Workloads, w)
		for _, index := range []int{0, 1} {
			b.Tasks = append(b.Tasks, &core.Task{ID: core.TaskID{Workload: w.ID, Index: index}, Role: "task", State: core.TaskRunning})
		}
	}
	b.Projects = []core.Project{core.NewProject("good", b.Workloads[0].CreatedAt), core.NewProject("bad", b.Workloads[0].CreatedAt)}
	mustCommit(t, s, mustAcquire(t, s), b)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := Salvage(t.Context(), path, nil); err != nil || len(found) != 0 {
		t.Fatalf("in a good database it finds %v, %v", found, err)
	}
	change(t, path, `UPDATE projects SET body = '{"id":' WHERE id = 'bad';
		UPDATE workloads SET status = x'00ff' WHERE seq = 1;
		UPDATE specs SET document = 'no document' WHERE seq = 2;
		UPDATE tasks SET body = '[]' WHERE idx = 1 AND workload = (SELECT id FROM workloads WHERE seq = 3);
		UPDATE workloads SET awake = 0, live = 0 WHERE seq = 4;
		UPDATE tasks SET body = '' WHERE idx = 1 AND workload = (SELECT id FROM workloads WHERE seq = 4)`)
	if _, err := mustOpen(t, path).Live(t.Context()); err == nil {
		t.Fatal("what cannot be read is read")
	}
	var kept []Unreadable
	refused := errors.New("no room")
	if _, err := Salvage(t.Context(), path, func([]Unreadable) error { return refused }); !errors.Is(err, refused) {
		t.Fatalf("what could not be kept was taken out: %v", err)
	}
	looked, err := Salvage(t.Context(), path, nil)
	if err != nil || len(looked) != 5 {
		t.Fatalf("it finds %+v, %v", looked, err)
	}
	if _, err := Salvage(t.Context(), path, func(all []Unreadable) error { kept = all; return nil }); err != nil || len(kept) != 5 {
		t.Fatalf("it takes out %+v, %v", kept, err)
	}
	for i, want := range []struct {
		table string
		rows  int
	}{{"projects", 1}, {"tasks", 2}, {"specs", 1}, {"workloads", 1}, {"tasks", 1}} {
		if got := len(kept[i].Rows[want.table]); got != want.rows || kept[i].Why == "" {
			t.Errorf("of %s it keeps %d rows of %s, want %d: %+v", kept[i].What, got, want.table, want.rows, kept[i])
		}
	}
	s = mustOpen(t, path)
	live, err := s.Live(t.Context())
	if err != nil || len(live) != 1 || live[0].Workload.Seq != 5 || len(live[0].Tasks) != 2 {
		t.Errorf("left of what is live: %+v, %v", live, err)
	}
	tasks, err := s.Tasks(t.Context(), b.Workloads[3].ID, 0)
	if err != nil || len(tasks) != 1 {
		t.Errorf("left of the tasks of what is over: %+v, %v", tasks, err)
	}
	projects, err := s.Projects(t.Context())
	if err != nil || !slices.ContainsFunc(projects, func(p core.Project) bool { return p.ID == "good" }) || len(projects) != 1 {
		t.Errorf("left of the projects: %+v, %v", projects, err)
	}
}
