package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
)

// load rebuilds the memory from the store; also after a failed commit, whose
// draft has touched the indexes.
func (e *Engine) load(ctx context.Context) error {
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
	e.seq = counters
	if err := e.loadPromises(ctx); err != nil {
		return err
	}
	live := make(map[core.WorkloadID]*entry, len(entries))
	for _, en := range entries {
		live[en.Workload.ID] = &entry{w: en.Workload, tasks: latest(en.Tasks, en.Workload.Attempt), seen: map[int]time.Time{}}
	}
	e.live = live
	e.reindex()
	return nil
}

// loadOrganisation reads departments, projects, pools, licenses, reservations and what is said
// of nodes.
func (e *Engine) loadOrganisation(ctx context.Context) error {
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
	e.projects = map[core.ProjectID]core.Project{core.DefaultProject: core.NewProject(core.DefaultProject, time.Time{})}
	for _, p := range projects {
		e.projects[p.ID] = p
	}
	e.pools = map[string]core.Pool{core.DefaultPool: {Name: core.DefaultPool}}
	for _, p := range pools {
		e.pools[p.Name] = p
	}
	e.licenses = make(map[string]core.License, len(licenses))
	for _, l := range licenses {
		e.licenses[l.Name] = l
	}
	e.reserved = make(map[string]core.Reservation, len(reservations))
	for _, r := range reservations {
		e.reserved[r.Name] = r
	}
	e.settings = make(map[core.NodeID]core.NodeSetting, len(nodes))
	for _, n := range nodes {
		e.settings[n.ID] = n
	}
	return nil
}

// reindex derives every index from the committed state.
func (e *Engine) reindex() {
	e.names = make(map[name]core.WorkloadID, len(e.live))
	e.sched, e.bare, e.stale, e.regroup = e.newState(), explain.Bare(nil), true, true
	e.tree = func(id core.ProjectID) (core.Project, bool) { p, ok := e.projects[id]; return p, ok }
	e.usage = map[core.NodeID]*usage{}
	e.held = map[core.WorkloadID]struct{}{}
	e.timers, e.instants, e.past.told = nil, instants{past: e.instants.past}, time.Time{}
	e.wanting, e.awaited = map[core.WorkloadID]struct{}{}, awaitedBy{}
	e.dirty = true
	for _, en := range e.live {
		e.names[name{en.w.Project, en.w.Name}] = en.w.ID
		if en.w.Kind == lifecycle.External {
			e.Claims.workloads[keyOf(en.w)] = en.w.ID
		}
		e.index(en.w, en.tasks)
	}
}

// index adds a workload to every index that its state belongs to.
func (e *Engine) index(w *core.Workload, tasks map[int]*core.Task) {
	if w.Phase.Held() {
		e.held[w.ID] = struct{}{}
		for _, t := range tasks {
			if holds(w, t) {
				e.charge(w, t, 1)
			}
		}
	}
	e.comesUp(w)
	if j, ok := e.job(w, tasks); ok {
		e.sched.PutJob(j)
		e.expect(&j)
	}
	if e.wants(w, tasks) {
		e.wanting[w.ID] = struct{}{}
	}
	if !w.WakeAt.IsZero() {
		e.timers.push(w.WakeAt, w.ID)
	}
	e.awaited.index(w)
}

// unindex takes a workload out of every index, exactly as index put it in.
func (e *Engine) unindex(w *core.Workload, tasks map[int]*core.Task) {
	if w.Phase.Held() {
		delete(e.held, w.ID)
		for _, t := range tasks {
			if holds(w, t) {
				e.charge(w, t, -1)
			}
		}
	}
	e.sched.DropJob(w.ID)
	delete(e.wanting, w.ID)
	e.awaited.unindex(w)
}
