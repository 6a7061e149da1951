package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

func TestFullDiskWritesNothing(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	term := mustAcquire(t, s)
	mustCommit(t, s, term, &store.Batch{Workloads: []*core.Workload{job(1)}})
	pragma := func(text string) {
		t.Helper()
		if _, err := s.w.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	pragma("PRAGMA max_page_count = 1") // as many as there are
	big := job(2, func(w *core.Workload) { w.Message = strings.Repeat("x", 1<<20) })
	for range 2 {
		_, err := s.Commit(t.Context(), term, &store.Batch{Workloads: []*core.Workload{job(3), big}})
		if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "free space") {
			t.Fatalf("Commit: %v; want ErrFull", err)
		}
	}
	for _, seq := range []int64{2, 3} {
		if _, err := s.Workload(t.Context(), job(seq).ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("workload %d: %v, want ErrNotFound", seq, err)
		}
	}
	pragma("PRAGMA max_page_count = 1000000")
	if rev, err := s.Commit(t.Context(), term, &store.Batch{Workloads: []*core.Workload{job(3), big}}); err != nil || rev != 2 {
		t.Errorf("Commit with space again: revision %d, %v", rev, err)
	}
}

// A record of a server that knew no causes says by its reason what ended it.
func TestRecordsWithoutCausesAreRead(t *testing.T) {
	var w core.Workload
	old := `{"reason":"Moved","attempts":[{"reason":"StoppedByUser"},{"reason":"Preempted"},{}]}`
	if err := decodeStatus([]byte(old), &w); err != nil {
		t.Fatal(err)
	}
	if w.Event != lifecycle.Move {
		t.Errorf("the state was led to by %q, want move", w.Event)
	}
	a := w.Attempts
	if a[0].Event != lifecycle.Stop || a[0].Cause != lifecycle.CauseStop || a[1].Event != lifecycle.Preempt || a[2].Event != "" {
		t.Errorf("attempts %+v", a)
	}
	if err := decodeStatus([]byte(`{"conditions":[{"type":"Unreachable","reason":"NodeUnreachable"}]}`), &w); err != nil || w.Conditions[0].Cause != lifecycle.NodeSilent {
		t.Errorf("conditions %+v, %v", w.Conditions, err)
	}
	now := `{"reason":"Preempted","event":"move","cause":"drain"}`
	if err := decodeStatus([]byte(now), &w); err != nil || w.Event != lifecycle.Move || w.Cause != lifecycle.CauseDrain {
		t.Errorf("what the record says does not count: %q %q, %v", w.Event, w.Cause, err)
	}
}

func TestReadersDoNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	term := mustAcquire(t, s)
	mustCommit(t, s, term, &store.Batch{Workloads: []*core.Workload{job(1)}})
	err := s.w.transact(t.Context(), func() error { // the writer is in the middle of a commit
		if err := run(s.w.stamp, int64(term)); err != nil {
			return err
		}
		if err := run(s.w.insertSpec, int64(2), "{}"); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		page, err1 := s.List(ctx, store.Query{})
		live, err2 := s.Live(ctx)
		c, err3 := s.Counters(ctx)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if len(page.Items) != 1 || len(live) != 1 || c.Revision != 1 {
			return fmt.Errorf("%d listed, %d live, revision %d; want 1, 1, 1", len(page.Items), len(live), c.Revision)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	// And the writer does not wait for them.
	tx, err := s.readers.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	count := func() (n int) {
		if err := tx.QueryRow("SELECT COUNT(*) FROM workloads").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	mustCommit(t, s, term, &store.Batch{Workloads: []*core.Workload{job(5)}})
	if after := count(); after != before {
		t.Errorf("a snapshot had %d workloads and has %d", before, after)
	}
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	for range 2 * readConnections {
		if _, err := s.readers.Exec("DELETE FROM meta"); err == nil {
			t.Fatal("a reading connection wrote")
		}
	}
}

func TestCommitsAreSynced(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "mmap_size": "0"} {
		var got string
		if err := s.w.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", pragma, got, err, want)
		}
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	term := mustAcquire(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), term, &store.Batch{}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Commit after Close: %v", err)
	}
	if _, err := s.List(t.Context(), store.Query{}); err == nil {
		t.Error("List after Close succeeded")
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// TestListingsGoByAnIndex reads the plans of the usual listings: none sorts
// and none looks at a row of workloads before the page is found.
func TestListingsGoByAnIndex(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	term := mustAcquire(t, s)
	// More rows than a probe counts, so that size decides nothing.
	b := new(store.Batch)
	for i := range int64(fewRows + 100) {
		b.Workloads = append(b.Workloads, job(i+1, func(w *core.Workload) {
			w.Spec.Labels = map[string]string{"a": "b"}
			if w.Seq%2 == 0 {
				w.Phase = lifecycle.Completed
			}
		}))
	}
	mustCommit(t, s, term, b)
	for _, c := range []struct {
		q    store.Query
		want string
	}{
		{store.Query{}, "SCAN w USING COVERING INDEX workloads_present"},
		{store.Query{Cursor: 9}, "SEARCH w USING COVERING INDEX workloads_present (seq<?)"},
		{store.Query{Project: "default"}, "SEARCH w USING COVERING INDEX workloads_project (project=?)"},
		{store.Query{Project: "default", Cursor: 9}, "SEARCH w USING COVERING INDEX workloads_project (project=? AND seq<?)"},
		{store.Query{User: "ada"}, "SEARCH w USING COVERING INDEX workloads_user (user_name=?)"},
		{store.Query{Kinds: []lifecycle.Kind{lifecycle.Training}}, "SEARCH w USING COVERING INDEX workloads_kind (kind=?)"},
		{store.Query{Phases: []lifecycle.Phase{lifecycle.Completed, lifecycle.Failed}, Deleted: true}, "SEARCH w USING COVERING INDEX workloads_phase (phase=?)"},
		{store.Query{Phases: []lifecycle.Phase{lifecycle.Completed}}, "SEARCH w USING INDEX workloads_phase (phase=?)"},
		{store.Query{Live: true}, "USING INDEX workloads_live"},
		{store.Query{Labels: map[string]string{"a": "b"}}, "SEARCH l USING PRIMARY KEY (name=? AND value=?)"},
	} {
		w, err := s.chooseWay(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		plan := planOf(t, s, w.listing(c.q, s.dialect, 101))
		// The page itself is put in order once more; before that nothing is.
		inner, _, _ := strings.Cut(plan, "SCAN p")
		if !strings.Contains(inner, c.want) || strings.Contains(inner, "TEMP B-TREE") || strings.Contains(plan, "SCAN s") {
			t.Errorf("List(%+v) goes by\n%s\nwant %s", c.q, plan, c.want)
		}
	}
}

// TestTheRarestFilterIsWalked: which filter is rare is counted, not guessed.
func TestTheRarestFilterIsWalked(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	b := new(store.Batch)
	for i := range int64(fewRows + 100) {
		b.Workloads = append(b.Workloads, job(i+1, func(w *core.Workload) {
			switch w.Seq {
			case 1:
				w.User = "rare"
			case 2:
				w.Project = "rare"
			case 3:
				w.Phase = lifecycle.Failed
			}
		}))
	}
	mustCommit(t, s, mustAcquire(t, s), b)
	for _, c := range []struct {
		q    store.Query
		want string
	}{
		{store.Query{Project: "default", User: "rare"}, "workloads_user"},
		{store.Query{Project: "rare", User: "ada"}, "workloads_project"},
		{store.Query{Project: "default", User: "ada", Phases: []lifecycle.Phase{lifecycle.Failed}}, "workloads_phase"},
		{store.Query{Live: true, Since: job(fewRows).CreatedAt}, "workloads_created"},
		{store.Query{User: "ada", Prefix: job(7).Name}, "workloads_name"},
	} {
		w, err := s.chooseWay(t.Context(), c.q)
		if err != nil || w.index != c.want {
			t.Errorf("List(%+v) goes by %q, %v; want %q", c.q, w.index, err, c.want)
		}
	}
}

func planOf(t *testing.T, s *Store, q *statement) string {
	t.Helper()
	rows, err := s.readers.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.String(), q.args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

func TestOtherReadingsGoByAnIndex(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	d := s.dialect
	seen, r := 0, new(reader)
	for _, q := range readerQueries(r, d) {
		if q.to == &r.spans {
			continue // asked once by who begins, and not worth an index of every task
		}
		receivers := q.to == &r.deliveriesDue       // walks them, which are few, and sorts them
		sorts := receivers || q.to == &r.countTasks // into a handful of states
		var marks int
		for strings.Contains(q.text, fmt.Sprintf("$%d", marks+1)) {
			marks++
		}
		e := &statement{args: make([]any, marks)}
		e.WriteString(q.text)
		for i := range e.args {
			e.args[i] = int64(1)
		}
		plan := planOf(t, s, e)
		for _, line := range strings.Split(plan, "\n") {
			if strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "USING") && !strings.Contains(line, "CONSTANT ROW") &&
				!strings.Contains(line, "projects") && !strings.Contains(line, "licenses") && !strings.Contains(line, "promises") && !strings.Contains(line, "subscriptions") && !strings.Contains(line, "templates") && !strings.Contains(line, "SCAN access") && !(receivers && line == "SCAN r") || strings.Contains(line, "TEMP B-TREE") && !sorts {
				t.Errorf("%s\ngoes by\n%s", q.text, plan)
			}
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("%d queries looked at, want all", seen)
	}
}

func TestAfterPrefix(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]string{"": "", "a": "b", "ab": "ac", "aä": "aå", "a\U0010FFFF": "b", "\U0010FFFF": "", "x\uD7FF": "x\uE000", "\x7f": "\u0080"} {
		if got := afterPrefix(p); got != want {
			t.Errorf("afterPrefix(%q) = %q, want %q", p, got, want)
		}
	}
}

// TestChargedTimeGoesByAnIndex: by the time of release, so that a recent span
// costs what it holds and not the whole history; a workload's by its own tasks.
func TestChargedTimeGoesByAnIndex(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "muster.db"))
	for _, c := range []struct {
		q    store.UseQuery
		want string
	}{
		{store.UseQuery{}, "SEARCH t USING INDEX tasks_charged (<expr>>?)"},
		{store.UseQuery{From: time.Unix(1, 0), To: time.Unix(2, 0), Project: "p", User: "u"}, "SEARCH t USING INDEX tasks_charged (<expr>>?)"},
		{store.UseQuery{Workload: "w", From: time.Unix(1, 0)}, "SEARCH t USING PRIMARY KEY (workload=?)"},
	} {
		plan := planOf(t, s, charges(c.q, s.dialect))
		if !strings.Contains(plan, c.want) || strings.Contains(plan, "SCAN") {
			t.Errorf("Uses(%+v) goes by\n%s\nwant %s", c.q, plan, c.want)
		}
	}
}
