package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// row is one row of columns, before its JSON is read.
type row struct {
	w                *core.Workload
	status, document []byte
}

type scanner interface{ Scan(to ...any) error }

func scanRow(from scanner) (row, error) {
	var created, ended sql.NullInt64
	var project, kind, phase string
	r := row{w: new(core.Workload)}
	w := r.w
	err := from.Scan(&w.Seq, (*string)(&w.ID), (*int64)(&w.Rev), &w.Version, &project, &w.Name, &kind, &w.User,
		&phase, &w.Attempt, &created, &ended, &r.status, &r.document)
	w.Project, w.Kind, w.Phase = core.ProjectID(project), lifecycle.Kind(kind), lifecycle.Phase(phase)
	w.CreatedAt, w.EndedAt = instant(created), instant(ended)
	return r, err
}

// read fills in what the row holds as JSON.
func (r row) read() error {
	if err := decodeStatus(r.status, r.w); err != nil {
		return unreadable("workload "+string(r.w.ID), err)
	}
	var err error
	if r.w.Spec, err = decodeSpec(r.document); err != nil {
		return unreadable("the document of workload "+string(r.w.ID), err)
	}
	return nil
}

func scanWorkload(from scanner) (*core.Workload, error) {
	r, err := scanRow(from)
	if err != nil {
		return nil, err
	}
	return r.w, r.read()
}

func scanWorkloads(rows *sql.Rows) (*core.Workload, error) { return scanWorkload(rows) }

func instant(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return time.UnixMicro(us.Int64).UTC()
}

// Workload implements store.Store.
func (s *Store) Workload(ctx context.Context, id core.WorkloadID) (*core.Workload, error) {
	w, err := scanWorkload(s.r.workload.QueryRowContext(ctx, clean(id)))
	if err != nil {
		return nil, s.fail("workload "+string(id), err)
	}
	return w, nil
}

// ByName implements store.Store.
func (s *Store) ByName(ctx context.Context, p core.ProjectID, name string) (*core.Workload, error) {
	w, err := scanWorkload(s.r.byName.QueryRowContext(ctx, clean(name), clean(p)))
	if err != nil {
		return nil, s.fail("workload "+name+" of project "+string(p), err)
	}
	return w, nil
}

// ChangedSince implements store.Store. A page holds whole revisions: it goes
// on beyond limit to the end of its last revision, so that a caller who
// continues with the Rev of the last item misses none. Zero: no limit.
func (s *Store) ChangedSince(ctx context.Context, rev core.Revision, limit int) ([]*core.Workload, error) {
	skip := int64(limit) - 1
	if limit <= 0 {
		skip = math.MaxInt32
	}
	rows, err := s.r.changed.QueryContext(ctx, int64(rev), skip)
	all, err := collect(rows, err, scanWorkloads)
	return all, s.fail("reading what has changed", err)
}

// Live implements store.Store.
func (s *Store) Live(ctx context.Context) ([]store.Entry, error) {
	entries, err := s.live(ctx)
	return entries, s.fail("reading the live workloads", err)
}

func (s *Store) live(ctx context.Context) ([]store.Entry, error) {
	// One transaction: tasks must be of the commit that the workloads are of.
	tx, err := s.readers.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // it has read only
	rows, err := tx.StmtContext(ctx, s.r.awake).QueryContext(ctx)
	found, err := collect(rows, err, func(rows *sql.Rows) (row, error) { return scanRow(rows) })
	if err != nil {
		return nil, err
	}
	entries := make([]store.Entry, len(found))
	decoded := background(found)
	at := 0
	rows, err = tx.StmtContext(ctx, s.r.awakeTasks).QueryContext(ctx)
	_, err = collect(rows, err, func(rows *sql.Rows) (struct{}, error) {
		t, err := scanTask(rows)
		if err != nil {
			return struct{}{}, err
		}
		for found[at].w.ID != t.ID.Workload { // both are in the order of Seq
			at++
		}
		entries[at].Tasks = append(entries[at].Tasks, t)
		return struct{}{}, nil
	})
	if err := errors.Join(err, decoded()); err != nil {
		return nil, err
	}
	for i := range found {
		entries[i].Workload = found[i].w
	}
	return entries, nil
}

// background reads the JSON of rows on all cores, because a restart waits for
// it; the function that it returns waits for the end.
func background(rows []row) (wait func() error) {
	workers := min(runtime.GOMAXPROCS(0), 8)
	errs := make([]error, workers)
	var group sync.WaitGroup
	for n := range workers {
		group.Go(func() {
			for i := n; i < len(rows); i += workers {
				if err := rows[i].read(); err != nil {
					errs[n] = err
					return
				}
			}
		})
	}
	return func() error {
		group.Wait()
		return errors.Join(errs...)
	}
}
