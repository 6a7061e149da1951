package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// Uses implements store.Store. It is one reading: what is committed while each
// is called is not in it. It keeps a connection until it returns, so each
// should not wait for long.
func (s *Store) Uses(ctx context.Context, q store.UseQuery, each func(core.Use) bool) error {
	return s.fail("reading charged time", s.uses(ctx, q, each))
}

func (s *Store) uses(ctx context.Context, q store.UseQuery, each func(core.Use) bool) error {
	if err := q.Check(); err != nil {
		return err
	}
	t := charges(q, s.dialect)
	rows, err := s.readers.QueryContext(ctx, t.String(), t.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		more, err := charge(rows, q, each)
		if err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// charge reads one task.
func charge(rows *sql.Rows, q store.UseQuery, each func(core.Use) bool) (bool, error) {
	var u core.Use
	var project, kind string
	var placed, released sql.NullInt64
	var body sql.RawBytes
	err := rows.Scan((*string)(&u.Workload), &u.Name, &project, &u.User, &kind, &u.Attempt, &u.Task, &u.Run, &placed, &released, &body)
	if err != nil {
		return false, err
	}
	var held struct { // nothing else of the task is looked at
		Node    core.NodeID    `json:"node"`
		State   core.TaskState `json:"state"`
		Devices []core.Share   `json:"devices"`
		Counted string         `json:"counted"`
		Pool    string         `json:"pool"`
		Product string         `json:"product"`
	}
	if err := json.Unmarshal(body, &held); err != nil {
		return false, unreadable("task "+core.TaskID{Workload: u.Workload, Attempt: u.Attempt, Index: u.Task, Run: u.Run}.String(), err)
	}
	u.Project, u.Kind, u.Node, u.Succeeded = core.ProjectID(project), lifecycle.Kind(kind), held.Node, held.State == core.TaskSucceeded
	u.Pool, u.Product = held.Pool, held.Product
	return q.Charge(u, instant(placed), instant(released), held.Devices, held.Counted, each), nil
}

// charges reads the tasks that q may be about, in the order of its answer. A
// workload's own are looked up; all others are walked by the time at which they
// gave their devices back, and put in order by the engine, which does it on
// disk where they are many.
func charges(q store.UseQuery, d dialect) *statement {
	t := new(statement)
	from := "tasks t" + d.use("tasks_charged")
	if q.Workload != "" {
		from = "tasks t"
	}
	t.WriteString("SELECT w.id, w.name, w.project, w.user_name, w.kind, t.attempt, t.idx, t.run, t.placed_us, t.released_us, t.body FROM " +
		from + " CROSS JOIN workloads w WHERE t.milli > 0 AND t.placed_us IS NOT NULL AND w.id = t.workload")
	first, last := int64(math.MinInt64), int64(math.MaxInt64)
	if !q.From.IsZero() {
		first = q.From.UnixMicro()
	}
	if !q.To.IsZero() {
		last = q.To.UnixMicro()
	}
	t.WriteString(" AND COALESCE(t.released_us, 9223372036854775807) > " + t.arg(first))
	if q.Workload != "" {
		t.WriteString(" AND t.workload = " + t.arg(clean(q.Workload)))
	}
	if q.Project != "" {
		t.WriteString(" AND w.project = " + t.arg(clean(q.Project)))
	}
	if q.User != "" {
		t.WriteString(" AND w.user_name = " + t.arg(clean(q.User)))
	}
	t.WriteString(" AND t.placed_us < " + t.arg(last) + " ORDER BY w.seq, t.attempt, t.idx, t.run")
	return t
}

// Spans implements store.Store. It keeps a connection until it returns.
func (s *Store) Spans(ctx context.Context, from, now time.Time, each func(core.Span) bool) error {
	return s.fail("reading who had what", s.spans(ctx, from, now, each))
}

func (s *Store) spans(ctx context.Context, from, now time.Time, each func(core.Span) bool) error {
	first := int64(math.MinInt64)
	if !from.IsZero() {
		first = from.UnixMicro()
	}
	rows, err := s.r.spans.QueryContext(ctx, first)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var project string
		var placed, released sql.NullInt64
		var body sql.RawBytes
		if err := rows.Scan(&project, &placed, &released, &body); err != nil {
			return err
		}
		var held struct { // nothing else of the task is looked at
			Pool    string       `json:"pool"`
			Devices []core.Share `json:"devices"`
			Counted string       `json:"counted"`
			CPU     int64        `json:"cpuMilli"`
			Memory  int64        `json:"memoryBytes"`
		}
		if err := json.Unmarshal(body, &held); err != nil {
			return unreadable("a task of project "+project, err)
		}
		t := core.Task{
			Pool: held.Pool, Devices: held.Devices, Counted: held.Counted, CPU: held.CPU, Memory: held.Memory,
			PlacedAt: instant(placed), ReleasedAt: instant(released),
		}
		if p, ok := store.SpanOf(core.ProjectID(project), &t, now); ok && p.To.After(from) && !each(p) {
			return nil
		}
	}
	return rows.Err()
}
