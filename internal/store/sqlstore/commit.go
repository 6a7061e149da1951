package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// Commit implements store.Store. Rows are written in the order of the batch,
// after ForgetKeysBefore; a later version of a workload may follow an earlier
// one in the same batch. A key that is remembered already, a name that is
// taken and a project's second workload of a name fail with store.ErrExists; a
// transition whose Seq is taken fails with store.ErrConflict.
func (s *Store) Commit(ctx context.Context, term store.Term, b *store.Batch) (core.Revision, error) {
	if b == nil {
		b = new(store.Batch)
	}
	// Encoded before it is one's turn: the transaction is as short as can be.
	rows, err := encode(b)
	if err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	c := commit{w: s.w, ctx: ctx, rows: rows}
	if err := s.w.transact(ctx, func() error { return c.write(term, b) }); err != nil {
		return 0, s.fail("commit", err)
	}
	s.room.renew()
	return core.Revision(c.revision), nil
}

// commit is one Commit in its transaction.
type commit struct {
	w        *writer
	ctx      context.Context // asked between rows, see transact
	rows     rows
	revision int64
}

func (c *commit) write(term store.Term, b *store.Batch) error {
	err := c.w.stamp.QueryRowContext(context.Background(), int64(term)).Scan(&c.revision)
	if errors.Is(err, sql.ErrNoRows) {
		return c.termLost(term)
	}
	if err != nil {
		return err
	}
	if !b.ForgetKeysBefore.IsZero() {
		if err := run(c.w.forget, b.ForgetKeysBefore.UnixMicro()); err != nil {
			return err
		}
	}
	for i, w := range b.Workloads {
		if err := c.workload(w, c.rows.statuses[i], c.rows.specs[i]); err != nil {
			return err
		}
	}
	for i, t := range b.Tasks {
		if err := c.task(t, c.rows.tasks[i]); err != nil {
			return err
		}
	}
	if err := c.organise(b); err != nil {
		return err
	}
	if err := c.secrets(b); err != nil {
		return err
	}
	if err := c.templates(b); err != nil {
		return err
	}
	if err := c.notifications(b); err != nil {
		return err
	}
	if err := c.access(b); err != nil {
		return err
	}
	if err := c.transitions(b.Transitions); err != nil {
		return err
	}
	if err := c.promises(b.Promises); err != nil {
		return err
	}
	return c.keys(b.Keys)
}

func (c *commit) secrets(b *store.Batch) error {
	for _, id := range b.DropSecrets {
		if err := c.row(c.w.dropSecret, clean(id.User), clean(id.Name)); err != nil {
			return err
		}
	}
	for i := range b.Secrets {
		k := &b.Secrets[i]
		err := c.row(c.w.insertSecret, clean(k.User), clean(k.Name), c.rows.secrets[i])
		if isDuplicate(err) {
			return fmt.Errorf("secret %q of user %q: %w", k.Name, k.User, store.ErrExists)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) transitions(all []core.Transition) error {
	for i := range all {
		t := &all[i]
		err := c.row(c.w.insertTransition, t.Seq, clean(t.Workload), int64(t.Attempt), clean(t.From), clean(t.Event),
			clean(t.To), clean(t.Target), clean(t.Reason), clean(t.Message), clean(t.Actor), micros(t.At), clean(t.Cause), clean(t.For))
		if isDuplicate(err) {
			return fmt.Errorf("transition %d of workload %s: its Seq is taken: %w", t.Seq, t.Workload, store.ErrConflict)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) promises(all []core.Promise) error {
	if all == nil {
		return nil
	}
	if err := c.row(c.w.dropPromises); err != nil {
		return err
	}
	for i, p := range all {
		if err := c.row(c.w.insertPromise, int64(i+1), clean(p.Workload), int64(p.Tasks)); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) keys(all []store.Key) error {
	for i := range all {
		k := &all[i]
		err := c.row(c.w.insertKey, clean(k.User), clean(k.Key), clean(k.Hash), clean(k.Workload), k.At.UnixMicro())
		if isDuplicate(err) {
			return fmt.Errorf("idempotency key %q of user %q: %w", k.Key, k.User, store.ErrExists)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row writes one row, unless the caller has given up.
func (c *commit) row(s *sql.Stmt, args ...any) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return run(s, args...)
}

func (c *commit) termLost(term store.Term) error {
	var now int64
	var holder string
	if err := c.w.held.QueryRowContext(context.Background()).Scan(&now, &holder); err != nil {
		return err
	}
	return fmt.Errorf("term %d is over, term %d is held by %q: %w", term, now, holder, store.ErrTermLost)
}

func (c *commit) workload(w *core.Workload, status, document string) error {
	live := !w.Phase.End()
	awake, deleted := number(live || !w.WakeAt.IsZero()), number(w.Phase == lifecycle.Deleted)
	if w.Version > 1 {
		if err := c.update(w, number(live), awake, deleted, status); err != nil || document == "" {
			return err
		}
		return c.edit(w, document)
	}
	err := c.row(c.w.insertWorkload, w.Seq, clean(w.ID), c.revision, w.Version, clean(w.Project), clean(w.Name),
		clean(w.Kind), clean(w.User), string(w.Phase), number(live), awake, deleted, int64(w.Attempt),
		micros(w.CreatedAt), micros(w.EndedAt), status)
	if isDuplicate(err) {
		return c.taken(w)
	}
	if err != nil {
		return err
	}
	if err := c.row(c.w.insertSpec, w.Seq, document); err != nil {
		return err
	}
	return c.labels(w)
}

// edit replaces the document of a workload. Its labels are found by the former
// document: an index of labels by workload would cost every new workload more.
func (c *commit) edit(w *core.Workload, document string) error {
	var former []byte
	if err := c.w.document.QueryRowContext(context.Background(), w.Seq).Scan(&former); err != nil {
		return err
	}
	var old struct {
		Labels map[string]string `json:"labels"`
	}
	if err := json.Unmarshal(former, &old); err != nil {
		return unreadable("the document of workload "+string(w.ID), err)
	}
	for name, value := range old.Labels {
		if err := c.row(c.w.dropLabel, name, value, w.Seq); err != nil {
			return err
		}
	}
	if err := c.row(c.w.updateSpec, document, w.Seq); err != nil {
		return err
	}
	return c.labels(w)
}

func (c *commit) labels(w *core.Workload) error {
	for name, value := range w.Spec.Labels {
		if err := c.row(c.w.insertLabel, cleanLabel(name), cleanLabel(value), w.Seq); err != nil && !isDuplicate(err) {
			return err // a duplicate: two names that differ only in invalid text
		}
	}
	return nil
}

func (c *commit) update(w *core.Workload, live, awake, deleted int64, status string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	args := []any{
		c.revision, w.Version, string(w.Phase), live, awake, deleted, int64(w.Attempt), micros(w.EndedAt), status,
		w.Seq, clean(w.ID), w.Version - 1, clean(w.Project), clean(w.Name), clean(w.Kind), clean(w.User),
	}
	if live == 1 { // most likely it was before
		if changed, err := updated(c.w.stepWorkload, args...); err != nil || changed {
			return err
		}
	}
	changed, err := updated(c.w.updateWorkload, args...)
	if isDuplicate(err) {
		return c.taken(w)
	}
	if err != nil || changed {
		return err
	}
	return c.explain(w)
}

// task writes a task. What it holds seldom changes: when it is placed, and
// when it gives its devices back.
func (c *commit) task(t *core.Task, body string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	args := []any{
		clean(t.ID.Workload), int64(t.ID.Attempt), int64(t.ID.Index), body, micros(t.PlacedAt), micros(t.ReleasedAt), t.Milli(), int64(t.ID.Run),
		clean(t.Stands()),
	}
	if t.ReleasedAt.IsZero() && !t.StartedAt.IsZero() {
		if changed, err := updated(c.w.stepTask, args...); err != nil || changed {
			return err
		}
	}
	return run(c.w.putTask, args...)
}

// taken says what of w another row has already.
func (c *commit) taken(w *core.Workload) error {
	// A stored version comes first: where w is a workload that is there, who
	// has its name says nothing.
	if w.Version == 1 {
		if err := c.explain(w); !errors.Is(err, errNotStored) {
			return err
		}
	}
	var other string
	err := c.w.sameName.QueryRowContext(context.Background(), clean(w.Name), clean(w.Project)).Scan(&other)
	if err != nil {
		return err
	}
	return fmt.Errorf("workload %s: the name %q of project %q belongs to workload %s: %w",
		w.ID, w.Name, w.Project, other, store.ErrExists)
}

// errNotStored is a conflict with nothing: there is no such workload.
var errNotStored = fmt.Errorf("no version is stored: %w", store.ErrConflict)

// explain says why w does not follow what is stored.
func (c *commit) explain(w *core.Workload) error {
	var seq, version int64
	var id, project, name, kind, user string
	err := c.w.sameID.QueryRowContext(context.Background(), clean(w.ID), w.Seq).
		Scan(&seq, &id, &version, &project, &name, &kind, &user)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("workload %s: version %d: %w", w.ID, w.Version, errNotStored)
	case err != nil:
		return err
	case id != clean(w.ID):
		return fmt.Errorf("workload %s: Seq %d belongs to workload %s: %w", w.ID, w.Seq, id, store.ErrConflict)
	case version != w.Version-1:
		return fmt.Errorf("workload %s: version %d does not follow the stored version %d: %w",
			w.ID, w.Version, version, store.ErrConflict)
	}
	return fmt.Errorf("workload %s: its Seq, Project, Name, Kind and User were written once as %d, %q, %q, %q, %q; "+
		"version %d says %d, %q, %q, %q, %q", w.ID, seq, project, name, kind, user,
		w.Version, w.Seq, w.Project, w.Name, w.Kind, w.User)
}
