package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// Tasks implements store.Store.
func (s *Store) Tasks(ctx context.Context, id core.WorkloadID, attempt int) ([]core.Task, error) {
	var rows *sql.Rows
	var err error
	if attempt < 0 {
		rows, err = s.r.tasksOfAll.QueryContext(ctx, clean(id))
	} else {
		rows, err = s.r.tasks.QueryContext(ctx, clean(id), int64(attempt))
	}
	all, err := collect(rows, err, scanTask)
	return all, s.fail("reading the tasks of workload "+string(id), err)
}

// FindTasks implements store.Store.
func (s *Store) FindTasks(ctx context.Context, q store.TaskQuery) ([]core.Task, error) {
	to, most, states := int64(math.MaxInt64), int64(math.MaxInt64), ""
	if q.To > 0 {
		to = int64(q.To)
	}
	if q.Limit > 0 {
		most = int64(q.Limit)
	}
	if len(q.States) > 0 {
		states = "," + strings.Join(texts(q.States), ",") + ","
	}
	rows, err := s.r.findTasks.QueryContext(ctx, clean(q.Workload), int64(q.Attempt), int64(q.From), to, states, most)
	all, err := collect(rows, err, scanTask)
	return all, s.fail("reading tasks of workload "+string(q.Workload), err)
}

// CountTasks implements store.Store.
func (s *Store) CountTasks(ctx context.Context, id core.WorkloadID, attempt int) (map[core.TaskState]int, error) {
	n := map[core.TaskState]int{}
	rows, err := s.r.countTasks.QueryContext(ctx, clean(id), int64(attempt))
	_, err = collect(rows, err, func(rows *sql.Rows) (struct{}, error) {
		var state string
		var count int
		err := rows.Scan(&state, &count)
		n[core.TaskState(state)] = count
		return struct{}{}, err
	})
	return n, s.fail("counting the tasks of workload "+string(id), err)
}

func scanTask(rows *sql.Rows) (core.Task, error) {
	var t core.Task
	var body []byte
	if err := rows.Scan((*string)(&t.ID.Workload), &t.ID.Attempt, &t.ID.Index, &t.ID.Run, &body); err != nil {
		return t, err
	}
	if err := json.Unmarshal(body, &t); err != nil {
		return t, unreadable("task "+t.ID.String(), err)
	}
	if t.Class == lifecycle.NoFailure && t.State.Ended() { // of an old record
		t.Class = lifecycle.Classify(lifecycle.Reason(t.Reason))
	}
	return t, nil
}

// Transitions implements store.Store.
func (s *Store) Transitions(ctx context.Context, id core.WorkloadID, after int64, limit int) ([]core.Transition, error) {
	most := int64(limit)
	if limit <= 0 {
		most = math.MaxInt64
	}
	var rows *sql.Rows
	var err error
	if id == "" {
		rows, err = s.r.transitions.QueryContext(ctx, after, most)
	} else {
		rows, err = s.r.transitionsOf.QueryContext(ctx, clean(id), after, most)
	}
	all, err := collect(rows, err, scanTransition)
	return all, s.fail("reading transitions", err)
}

func scanTransition(rows *sql.Rows) (core.Transition, error) {
	var t core.Transition
	var from, event, to, target, reason, cause string
	var at sql.NullInt64
	err := rows.Scan(&t.Seq, (*string)(&t.Workload), &t.Attempt, &from, &event, &to, &target, &reason,
		&t.Message, &t.Actor, &at, &cause, (*string)(&t.For))
	t.From, t.Event, t.To, t.Target = lifecycle.Phase(from), lifecycle.Event(event), lifecycle.Phase(to), lifecycle.Phase(target)
	t.Reason, t.Cause, t.At = lifecycle.Reason(reason), lifecycle.Cause(cause), instant(at)
	return t, err
}

// Promises implements store.Store.
func (s *Store) Promises(ctx context.Context) ([]core.Promise, error) {
	rows, err := s.r.promises.QueryContext(ctx)
	all, err := collect(rows, err, func(rows *sql.Rows) (core.Promise, error) {
		var p core.Promise
		err := rows.Scan((*string)(&p.Workload), &p.Tasks)
		return p, err
	})
	return all, s.fail("reading the promises", err)
}

// Secrets implements store.Store.
func (s *Store) Secrets(ctx context.Context) ([]core.Secret, error) {
	rows, err := s.r.secrets.QueryContext(ctx)
	all, err := collect(rows, err, func(rows *sql.Rows) (core.Secret, error) {
		var k core.Secret
		var user, name string
		var body []byte
		if err := rows.Scan(&user, &name, &body); err != nil {
			return k, err
		}
		if err := json.Unmarshal(body, &k); err != nil {
			return k, unreadable(fmt.Sprintf("secret %q of user %q", name, user), err)
		}
		if len(k.Sealed) == 0 {
			k.Sealed = nil
		}
		return k, nil
	})
	return all, s.fail("reading the secrets", err)
}
