package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// Commit implements store.Store. Rows count in the order of the batch, after
// ForgetKeysBefore; a later version of a workload may follow an earlier one.
func (s *Store) Commit(ctx context.Context, term store.Term, b *store.Batch) (core.Revision, error) {
	if b == nil {
		b = new(store.Batch)
	}
	if err := check(b); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	// Copied before the lock: readers wait for maps, not for copying.
	ws := make([]*core.Workload, len(b.Workloads))
	for i, w := range b.Workloads {
		ws[i] = keptWorkload(w)
		ws[i].Spec = nil // follows gives it what was written before
		if w.Version == 1 || slices.Contains(b.Edited, w.ID) {
			ws[i].Spec = w.Spec.Clone()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if term != s.term {
		return 0, fmt.Errorf("commit: term %d is over, term %d is held by %q: %w", term, s.term, s.holder, store.ErrTermLost)
	}
	trial := trial{s: s, byID: map[core.WorkloadID]*core.Workload{}, byName: map[name]core.WorkloadID{}, seqs: map[int64]core.WorkloadID{}}
	if err := errors.Join(trial.workloads(ws), s.freeSteps(b.Transitions), s.freeKeys(b), s.freeSecrets(b), s.auditFollows(b)); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	s.write(b, ws)
	return s.seq.Revision, nil
}

// check refuses what could be written and not be trusted when read.
func check(b *store.Batch) error {
	for _, w := range b.Workloads {
		switch {
		case w == nil:
			return errors.New("a workload of the batch is nil")
		case w.ID == "" || w.Seq <= 0 || w.Version <= 0:
			return fmt.Errorf("workload %q: ID must be set, Seq (%d) and Version (%d) count from 1", w.ID, w.Seq, w.Version)
		case !w.Phase.Known():
			return fmt.Errorf("workload %s: Phase %q is none of lifecycle.Phases", w.ID, w.Phase)
		case w.Spec == nil && (w.Version == 1 || slices.Contains(b.Edited, w.ID)):
			return fmt.Errorf("workload %s: Spec is nil; the first version and an edited one carry it", w.ID)
		case math.IsNaN(w.GPUSeconds) || math.IsInf(w.GPUSeconds, 0):
			return fmt.Errorf("workload %s: GPUSeconds is %g; it must be a number", w.ID, w.GPUSeconds)
		}
	}
	for _, id := range b.Edited {
		if !slices.ContainsFunc(b.Workloads, func(w *core.Workload) bool { return w.ID == id }) {
			return fmt.Errorf("edited workload %q is not among the workloads of the batch; add its next version", id)
		}
	}
	for i, t := range b.Tasks {
		if t == nil || t.ID.Workload == "" || t.ID.Attempt < 0 || t.ID.Index < 0 || t.ID.Run < 0 {
			return fmt.Errorf("task %d of the batch: it has no complete id", i)
		}
	}
	if err := store.CheckPromises(b.Promises); err != nil {
		return err
	}
	if err := store.CheckTemplates(b); err != nil {
		return err
	}
	if err := store.CheckAccess(b); err != nil {
		return err
	}
	if err := checkOrganisation(b); err != nil {
		return err
	}
	if err := store.CheckNotifications(b); err != nil {
		return err
	}
	for i := range b.Secrets {
		if b.Secrets[i].Name == "" {
			return fmt.Errorf("secret %d of the batch: it has no name", i)
		}
	}
	for i := range b.Transitions {
		if t := &b.Transitions[i]; t.Seq <= 0 || t.Workload == "" {
			return fmt.Errorf("transition %d of the batch: seq %d of workload %q; seq must be positive and the workload named", i, t.Seq, t.Workload)
		}
	}
	return nil
}

// trial is what the workloads of a batch would make of the store.
type trial struct {
	s      *Store
	byID   map[core.WorkloadID]*core.Workload
	byName map[name]core.WorkloadID // empty: given back
	seqs   map[int64]core.WorkloadID
}

func (t *trial) workloads(ws []*core.Workload) error {
	for _, w := range ws {
		if err := t.follows(w); err != nil {
			return err
		}
		if err := t.named(w); err != nil {
			return err
		}
		t.byID[w.ID] = w
		t.seqs[w.Seq] = w.ID
	}
	return nil
}

// follows checks that w is the next version of what is stored, and gives it
// the document that was written last.
func (t *trial) follows(w *core.Workload) error {
	old, ok := t.byID[w.ID]
	if !ok {
		old = t.s.byID[w.ID]
	}
	owner, taken := t.seqs[w.Seq]
	if !taken {
		if i, ok := t.s.find(w.Seq); ok {
			owner, taken = t.s.byAge[i].ID, true
		}
	}
	switch {
	case old == nil && w.Version > 1:
		return fmt.Errorf("workload %s: version %d of a workload that is not stored: %w", w.ID, w.Version, store.ErrConflict)
	case old != nil && old.Version != w.Version-1:
		return fmt.Errorf("workload %s: version %d does not follow the stored version %d: %w", w.ID, w.Version, old.Version, store.ErrConflict)
	case taken && owner != w.ID:
		return fmt.Errorf("workload %s: Seq %d belongs to workload %s: %w", w.ID, w.Seq, owner, store.ErrConflict)
	case old == nil:
		return nil
	case old.Seq != w.Seq || old.Project != w.Project || old.Name != w.Name || old.Kind != w.Kind || old.User != w.User:
		return fmt.Errorf("workload %s: its Seq, Project, Name, Kind and User were written once as %d, %q, %q, %q, %q; version %d says %d, %q, %q, %q, %q",
			w.ID, old.Seq, old.Project, old.Name, old.Kind, old.User, w.Version, w.Seq, w.Project, w.Name, w.Kind, w.User)
	}
	if w.Spec == nil {
		w.Spec = old.Spec
	}
	return nil
}

// named checks that nobody else has the name of w, and takes or frees it.
func (t *trial) named(w *core.Workload) error {
	n := name{w.Project, w.Name}
	owner, ok := t.byName[n]
	if !ok {
		owner = t.s.byName[n]
	}
	switch {
	case w.Phase == lifecycle.Deleted && owner == w.ID:
		t.byName[n] = ""
	case w.Phase == lifecycle.Deleted:
	case owner != "" && owner != w.ID:
		return fmt.Errorf("workload %s: the name %q of project %q belongs to workload %s: %w", w.ID, w.Name, w.Project, owner, store.ErrExists)
	default:
		t.byName[n] = w.ID
	}
	return nil
}

func (s *Store) freeSteps(steps []core.Transition) error {
	seen := map[int64]bool{}
	for i := range steps {
		_, taken := slices.BinarySearchFunc(s.steps, steps[i].Seq, bySeq)
		if taken || seen[steps[i].Seq] {
			return fmt.Errorf("transition %d of workload %s: its Seq is taken: %w", steps[i].Seq, steps[i].Workload, store.ErrConflict)
		}
		seen[steps[i].Seq] = true
	}
	return nil
}

func bySeq(t core.Transition, seq int64) int { return cmp.Compare(t.Seq, seq) }

func (s *Store) freeKeys(b *store.Batch) error {
	seen := map[user]bool{}
	for _, k := range b.Keys {
		u := user{k.User, k.Key}
		old, taken := s.keys[u]
		taken = taken && (b.ForgetKeysBefore.IsZero() || !old.At.Before(kept(b.ForgetKeysBefore)))
		if taken || seen[u] {
			return fmt.Errorf("idempotency key %q of user %q: %w", k.Key, k.User, store.ErrExists)
		}
		seen[u] = true
	}
	return nil
}

func (s *Store) freeSecrets(b *store.Batch) error {
	seen := map[core.SecretID]bool{}
	for i := range b.Secrets {
		id := core.SecretID{User: b.Secrets[i].User, Name: b.Secrets[i].Name}
		_, taken := s.secrets[id]
		taken = taken && !slices.Contains(b.DropSecrets, id)
		if taken || seen[id] {
			return fmt.Errorf("secret %q of user %q: %w", id.Name, id.User, store.ErrExists)
		}
		seen[id] = true
	}
	return nil
}

// write applies a batch that trial has found good.
func (s *Store) write(b *store.Batch, ws []*core.Workload) {
	s.seq.Revision++
	for u, k := range s.keys {
		if k.At.Before(kept(b.ForgetKeysBefore)) {
			delete(s.keys, u)
		}
	}
	for _, w := range ws {
		s.put(w)
	}
	for _, t := range b.Tasks {
		s.putTask(keptTask(t))
	}
	s.organise(b)
	s.notify(b)
	s.keepTemplates(b)
	s.keepAccess(b)
	if b.Promises != nil {
		s.promises = keptList(b.Promises)
	}
	for _, id := range b.DropSecrets {
		delete(s.secrets, id)
	}
	for _, k := range b.Secrets {
		s.secrets[core.SecretID{User: k.User, Name: k.Name}] = keptSecret(k)
	}
	for _, t := range b.Transitions {
		t.At = kept(t.At)
		s.steps = insertStep(s.steps, t)
		s.stepsOf[t.Workload] = insertStep(s.stepsOf[t.Workload], t)
		s.seq.Transition = max(s.seq.Transition, t.Seq)
	}
	for _, k := range b.Keys {
		k.At = kept(k.At)
		s.keys[user{k.User, k.Key}] = k
	}
}

func insertStep(steps []core.Transition, t core.Transition) []core.Transition {
	i, _ := slices.BinarySearchFunc(steps, t.Seq, bySeq)
	return slices.Insert(steps, i, t)
}

func (s *Store) put(w *core.Workload) {
	w.Rev = s.seq.Revision
	if i, ok := s.find(w.Seq); ok {
		s.byAge[i] = w
	} else {
		s.byAge = slices.Insert(s.byAge, i, w)
	}
	s.byID[w.ID] = w
	s.seq.Workload = max(s.seq.Workload, w.Seq)
	n := name{w.Project, w.Name}
	switch {
	case w.Phase != lifecycle.Deleted:
		s.byName[n] = w.ID
	case s.byName[n] == w.ID:
		delete(s.byName, n)
	}
}

func (s *Store) putTask(t core.Task) {
	all := s.tasks[t.ID.Workload]
	i, ok := slices.BinarySearchFunc(all, t.ID, func(x core.Task, id core.TaskID) int {
		return cmp.Or(cmp.Compare(x.ID.Attempt, id.Attempt), cmp.Compare(x.ID.Index, id.Index), cmp.Compare(x.ID.Run, id.Run))
	})
	if ok {
		all[i] = t
		return
	}
	s.tasks[t.ID.Workload] = slices.Insert(all, i, t)
}

// find returns where in byAge the workload of that Seq is, or belongs.
func (s *Store) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(s.byAge, seq, func(w *core.Workload, seq int64) int { return cmp.Compare(w.Seq, seq) })
}
