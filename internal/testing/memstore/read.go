package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// usualPage is the size of a page that asks for none.
const usualPage = 100

// reading begins a read: it fails when the caller has given up.
func (s *Store) reading(ctx context.Context, what string) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	s.mu.RLock()
	return s.mu.RUnlock, nil
}

// Live implements store.Store.
func (s *Store) Live(ctx context.Context) ([]store.Entry, error) {
	done, err := s.reading(ctx, "reading the live workloads")
	if err != nil {
		return nil, err
	}
	defer done()
	var all []store.Entry
	for _, w := range s.byAge {
		if !w.Phase.End() || !w.WakeAt.IsZero() {
			all = append(all, store.Entry{Workload: shown(w), Tasks: s.tasksOf(w.ID, w.Attempt)})
		}
	}
	return all, nil
}

// Counters implements store.Store.
func (s *Store) Counters(ctx context.Context) (store.Counters, error) {
	done, err := s.reading(ctx, "reading the counters")
	if err != nil {
		return store.Counters{}, err
	}
	defer done()
	return s.seq, nil
}

// Installation implements store.Store.
func (s *Store) Installation(ctx context.Context) (string, error) {
	done, err := s.reading(ctx, "reading the installation")
	if err != nil {
		return "", err
	}
	defer done()
	return s.installation, nil
}

// Workload implements store.Store.
func (s *Store) Workload(ctx context.Context, id core.WorkloadID) (*core.Workload, error) {
	done, err := s.reading(ctx, "workload "+string(id))
	if err != nil {
		return nil, err
	}
	defer done()
	w, ok := s.byID[id]
	if !ok {
		return nil, fmt.Errorf("workload %s: %w", id, store.ErrNotFound)
	}
	return shown(w), nil
}

// ByName implements store.Store.
func (s *Store) ByName(ctx context.Context, p core.ProjectID, n string) (*core.Workload, error) {
	done, err := s.reading(ctx, "workload "+n+" of project "+string(p))
	if err != nil {
		return nil, err
	}
	defer done()
	id, ok := s.byName[name{p, n}]
	if !ok {
		return nil, fmt.Errorf("workload %s of project %s: %w", n, p, store.ErrNotFound)
	}
	return shown(s.byID[id]), nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	done, err := s.reading(ctx, "listing workloads")
	if err != nil {
		return store.Page{}, err
	}
	defer done()
	limit := q.Limit
	if limit <= 0 {
		limit = usualPage
	}
	var page store.Page
	for _, w := range slices.Backward(s.byAge) {
		if !matches(w, q) {
			continue
		}
		if len(page.Items) == limit { // one more tells that another page follows
			page.Next = page.Items[limit-1].Seq
			break
		}
		page.Items = append(page.Items, shown(w))
	}
	return page, nil
}

func matches(w *core.Workload, q store.Query) bool {
	switch {
	case w.Phase == lifecycle.Deleted && !q.Deleted,
		q.Live && w.Phase.End(),
		q.Cursor > 0 && w.Seq >= q.Cursor,
		q.Project != "" && w.Project != q.Project,
		q.User != "" && w.User != q.User,
		!strings.HasPrefix(w.Name, q.Prefix),
		len(q.Kinds) > 0 && !slices.Contains(q.Kinds, w.Kind),
		len(q.Phases) > 0 && !slices.Contains(q.Phases, w.Phase),
		!q.Since.IsZero() && w.CreatedAt.Before(q.Since),
		!q.Before.IsZero() && !w.CreatedAt.Before(q.Before):
		return false
	}
	for k, v := range q.Labels {
		if have, ok := w.Spec.Labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// Tasks implements store.Store.
func (s *Store) Tasks(ctx context.Context, id core.WorkloadID, attempt int) ([]core.Task, error) {
	done, err := s.reading(ctx, "reading the tasks of workload "+string(id))
	if err != nil {
		return nil, err
	}
	defer done()
	return s.tasksOf(id, attempt), nil
}

func (s *Store) tasksOf(id core.WorkloadID, attempt int) []core.Task {
	var of []core.Task
	for i := range s.tasks[id] {
		if t := &s.tasks[id][i]; attempt < 0 || t.ID.Attempt == attempt {
			of = append(of, *t)
		}
	}
	return of
}

// FindTasks implements store.Store.
func (s *Store) FindTasks(ctx context.Context, q store.TaskQuery) ([]core.Task, error) {
	done, err := s.reading(ctx, "reading tasks of workload "+string(q.Workload))
	if err != nil {
		return nil, err
	}
	defer done()
	var found []core.Task
	for _, t := range standing(s.tasksOf(q.Workload, q.Attempt)) {
		if t.ID.Index < q.From || q.To > 0 && t.ID.Index >= q.To || len(q.States) > 0 && !slices.Contains(q.States, t.Stands()) {
			continue
		}
		if found = append(found, t); len(found) == q.Limit {
			break
		}
	}
	return found, nil
}

// CountTasks implements store.Store.
func (s *Store) CountTasks(ctx context.Context, id core.WorkloadID, attempt int) (map[core.TaskState]int, error) {
	done, err := s.reading(ctx, "counting the tasks of workload "+string(id))
	if err != nil {
		return nil, err
	}
	defer done()
	n := map[core.TaskState]int{}
	for _, t := range standing(s.tasksOf(id, attempt)) {
		n[t.Stands()]++
	}
	return n, nil
}

// standing are the last runs of tasks, of those that nobody has replaced.
func standing(tasks []core.Task) []core.Task {
	var all []core.Task
	for i, t := range tasks {
		if (i+1 == len(tasks) || tasks[i+1].ID.Index != t.ID.Index) && t.Stands() != "" {
			all = append(all, t)
		}
	}
	return all
}

// Transitions implements store.Store.
func (s *Store) Transitions(ctx context.Context, id core.WorkloadID, after int64, limit int) ([]core.Transition, error) {
	done, err := s.reading(ctx, "reading transitions")
	if err != nil {
		return nil, err
	}
	defer done()
	all := s.steps
	if id != "" {
		all = s.stepsOf[id]
	}
	i, _ := slices.BinarySearchFunc(all, after+1, bySeq)
	all = all[i:]
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return keptList(all), nil
}

// ChangedSince implements store.Store. As in a database, a page goes on beyond
// limit to the end of its last revision.
func (s *Store) ChangedSince(ctx context.Context, rev core.Revision, limit int) ([]*core.Workload, error) {
	done, err := s.reading(ctx, "reading what has changed")
	if err != nil {
		return nil, err
	}
	defer done()
	var all []*core.Workload
	for _, w := range s.byAge {
		if w.Rev > rev {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *core.Workload) int { return cmp.Or(cmp.Compare(a.Rev, b.Rev), cmp.Compare(a.Seq, b.Seq)) })
	if limit > 0 && len(all) > limit {
		end := limit
		for end < len(all) && all[end].Rev == all[limit-1].Rev {
			end++
		}
		all = all[:end]
	}
	for i := range all {
		all[i] = shown(all[i])
	}
	return all, nil
}

// Secrets implements store.Store.
func (s *Store) Secrets(ctx context.Context) ([]core.Secret, error) {
	return listed(ctx, s, "reading the secrets", s.secrets, func(a, b core.SecretID) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name))
	}, keptSecret)
}

// Uses implements store.Store. It is collected before each is called, so that
// each may commit.
func (s *Store) Uses(ctx context.Context, q store.UseQuery, each func(core.Use) bool) error {
	if err := q.Check(); err != nil {
		return fmt.Errorf("reading charged time: %w", err)
	}
	done, err := s.reading(ctx, "reading charged time")
	if err != nil {
		return err
	}
	var all []core.Use
	for _, w := range s.byAge {
		if q.Workload != "" && w.ID != q.Workload || q.Project != "" && w.Project != q.Project || q.User != "" && w.User != q.User {
			continue
		}
		for i := range s.tasks[w.ID] {
			t := &s.tasks[w.ID][i]
			u := core.Use{
				Workload: w.ID, Name: w.Name, Project: w.Project, User: w.User, Kind: w.Kind,
				Attempt: t.ID.Attempt, Task: t.ID.Index, Run: t.ID.Run, Succeeded: t.State == core.TaskSucceeded, Node: t.Node,
				Pool: t.Pool, Product: t.Product,
			}
			q.Charge(u, t.PlacedAt, t.ReleasedAt, t.Devices, t.Counted, func(u core.Use) bool {
				all = append(all, u)
				return true
			})
		}
	}
	done()
	for _, u := range all {
		if !each(u) {
			break
		}
	}
	return nil
}

// Spans implements store.Store.
func (s *Store) Spans(ctx context.Context, from, now time.Time, each func(core.Span) bool) error {
	done, err := s.reading(ctx, "reading who had what")
	if err != nil {
		return err
	}
	var all []core.Span
	for _, w := range s.byAge {
		for i := range s.tasks[w.ID] {
			t := &s.tasks[w.ID][i]
			if p, ok := store.SpanOf(w.Project, t, now); ok && p.To.After(from) {
				all = append(all, p)
			}
		}
	}
	done()
	for _, p := range all {
		if !each(p) {
			break
		}
	}
	return nil
}

// Promises implements store.Store.
func (s *Store) Promises(ctx context.Context) ([]core.Promise, error) {
	done, err := s.reading(ctx, "reading the promises")
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Clone(s.promises), nil
}

// Remembered implements store.Store.
func (s *Store) Remembered(ctx context.Context, by, key string) (core.WorkloadID, string, error) {
	done, err := s.reading(ctx, "an idempotency key of "+by)
	if err != nil {
		return "", "", err
	}
	defer done()
	k, ok := s.keys[user{by, key}]
	if !ok {
		return "", "", fmt.Errorf("idempotency key %q of user %q: %w", key, by, store.ErrNotFound)
	}
	return k.Workload, k.Hash, nil
}
