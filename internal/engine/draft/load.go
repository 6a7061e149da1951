package draft

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/engine/accounts"
	"github.com/musterhq/muster/internal/engine/workload"
)

// load rebuilds the memory from the store; also after a failed commit, whose
// draft has touched the indexes.
func (e *State) load(ctx context.Context) error {
	counters, err := e.D.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	if err := e.loadOrganisation(ctx); err != nil {
		return err
	}
	entries, err := e.D.Store.Live(ctx)
	if err != nil {
		return fmt.Errorf("read live workloads: %w", err)
	}
	secrets, err := e.D.Store.Secrets(ctx)
	if err != nil {
		return fmt.Errorf("read secrets: %w", err)
	}
	e.secrets = make(map[core.SecretID]core.Secret, len(secrets))
	for _, s := range secrets {
		e.secrets[core.SecretID{User: s.User, Name: s.Name}] = s
	}
	if err := e.loadSubscriptions(ctx); err != nil {
		return err
	}
	if err := e.loadTemplates(ctx); err != nil {
		return err
	}
	if err := e.loadAccess(ctx); err != nil {
		return err
	}
	e.Seq = counters
	if err := e.loadPromises(ctx); err != nil {
		return err
	}
	live := make(map[core.WorkloadID]*Entry, len(entries))
	for _, en := range entries {
		live[en.Workload.ID] = &Entry{W: en.Workload, Tasks: workload.Latest(en.Tasks, en.Workload.Attempt), Seen: map[int]time.Time{}}
	}
	e.Live = live
	e.Reindex()
	return nil
}

// loadOrganisation reads departments, projects, pools, licenses, reservations and what is said
// of nodes.
func (e *State) loadOrganisation(ctx context.Context) error {
	projects, err := e.D.Store.Projects(ctx)
	if err != nil {
		return fmt.Errorf("read projects: %w", err)
	}
	pools, err := e.D.Store.Pools(ctx)
	if err != nil {
		return fmt.Errorf("read pools: %w", err)
	}
	licenses, err := e.D.Store.Licenses(ctx)
	if err != nil {
		return fmt.Errorf("read licenses: %w", err)
	}
	reservations, err := e.D.Store.Reservations(ctx)
	if err != nil {
		return fmt.Errorf("read reservations: %w", err)
	}
	nodes, err := e.D.Store.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("read what is said of nodes: %w", err)
	}
	e.Projects = map[core.ProjectID]core.Project{core.DefaultProject: core.NewProject(core.DefaultProject, time.Time{})}
	for _, p := range projects {
		e.Projects[p.ID] = p
	}
	e.Pools = map[string]core.Pool{core.DefaultPool: {Name: core.DefaultPool}}
	for _, p := range pools {
		e.Pools[p.Name] = p
	}
	e.licenses = make(map[string]core.License, len(licenses))
	for _, l := range licenses {
		e.licenses[l.Name] = l
	}
	e.Reserved = make(map[string]core.Reservation, len(reservations))
	for _, r := range reservations {
		e.Reserved[r.Name] = r
	}
	e.Settings = make(map[core.NodeID]core.NodeSetting, len(nodes))
	for _, n := range nodes {
		e.Settings[n.ID] = n
	}
	return nil
}

// Reindex derives every index from the committed state.
func (e *State) Reindex() {
	e.Names = make(map[FullName]core.WorkloadID, len(e.Live))
	e.Sched, e.Bare, e.Stale, e.Regroup = e.NewState(), explain.Bare(nil), true, true
	e.Tree = func(id core.ProjectID) (core.Project, bool) { p, ok := e.Projects[id]; return p, ok }
	e.Usage = map[core.NodeID]*Usage{}
	e.Held = map[core.WorkloadID]struct{}{}
	e.Timers, e.Instants, e.Past.PassedAt = nil, instants{past: e.Instants.past}, time.Time{}
	e.Wanting, e.Awaited = map[core.WorkloadID]struct{}{}, awaitedBy{}
	e.Dirty, e.Spending, e.Queued, e.Waiting = true, accounts.Spending{}, accounts.Queued{}, accounts.NewWaiting()
	for _, en := range e.Live {
		e.Names[FullName{en.W.Project, en.W.Name}] = en.W.ID
		if en.W.Kind.Foreign() {
			e.Claims.Workloads[KeyOf(en.W)] = en.W.ID
		}
		e.Index(en.W, en.Tasks)
	}
}

// Index adds a workload to every index that its state belongs to.
func (e *State) Index(w *core.Workload, tasks *workload.Tasks) {
	if w.Phase.Held() {
		e.Held[w.ID] = struct{}{}
		for _, t := range tasks.Open() {
			if workload.Holds(w, t) {
				e.charge(w, t, 1)
			}
		}
	}
	e.comesUp(w)
	e.Queued.Count(w, 1)
	e.Waiting.Count(w, 1)
	waits := waits(w, tasks)
	if j, ok := e.job(w, tasks, waits); ok {
		e.Sched.PutJob(j)
		e.Expect(&j)
	}
	if waits || w.Kind.Foreign() && e.Wants(w, tasks) {
		e.Wanting[w.ID] = struct{}{}
	}
	if !w.WakeAt.IsZero() {
		e.Timers.Add(w.WakeAt, w.ID)
	}
	e.Awaited.index(w)
}

// Unindex takes a workload out of every index, exactly as index put it in.
func (e *State) Unindex(w *core.Workload, tasks *workload.Tasks) {
	if w.Phase.Held() {
		delete(e.Held, w.ID)
		for _, t := range tasks.Open() {
			if workload.Holds(w, t) {
				e.charge(w, t, -1)
			}
		}
	}
	e.Queued.Count(w, -1)
	e.Waiting.Count(w, -1)
	e.Sched.DropJob(w.ID)
	delete(e.Wanting, w.ID)
	e.Awaited.unindex(w)
}
