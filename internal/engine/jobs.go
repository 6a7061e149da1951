package engine

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/core/spec"
)

// job is w in the scheduler's words, and whether it concerns the scheduler at
// all: whether it holds or wants anything.
func (e *Engine) job(w *core.Workload, tasks map[int]*core.Task) (schedule.Job, bool) {
	if w.Kind == lifecycle.External {
		return e.externalJob(w, tasks)
	}
	wants := waiting(w, tasks) && !e.astray(w, tasks) && !e.growsAt(w, tasks).After(e.now)
	if !wants && !w.Phase.Held() && earmark(w) == nil {
		return schedule.Job{}, false
	}
	j := e.outline(w)
	groups, rule := groupsOf(w), e.rule(w)
	if segmented(w) {
		groups = e.segments(w, j.Pools, rule)
	}
	switch {
	case wants && !segmented(w):
		want(w, tasks, groups, rule)
	case !wants && segmented(w):
		unwant(groups)
	}
	if w.Phase.Held() {
		for _, t := range sortedTasks(tasks) {
			if holds(w, t) {
				j.Held = append(j.Held, heldBy(w, t, groups, rule))
			}
		}
	}
	switch {
	case grows(w): // its tasks come and go one by one
		groups[0].Min = min(1, len(j.Held)+wantedIn(groups))
	case w.Spec.Elastic() && settled(tasks): // some of it is done, and needs the rest
		groups[len(groups)-1].Min = len(j.Held) - (len(groups) - 1)
	}
	j.Shape = schedule.NewShape([]schedule.Set{{Parent: -1, Topology: e.topology(w, j.Pools)}}, groups)
	return j, true
}

// outline is what of w matters to the scheduler beside its tasks.
func (e *Engine) outline(w *core.Workload) schedule.Job {
	j := schedule.Job{
		ID: w.ID, Queue: w.Project, User: w.User, Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible, Order: w.Seq,
		Promised: e.promised[w.ID].rank > 0 || w.Phase == lifecycle.Reserved, Rank: e.promised[w.ID].rank, Owed: e.promised[w.ID].tasks,
		Moved: w.Phase == lifecycle.Reserved && w.Event == lifecycle.Move,
	}
	if a, ok := e.aside[w.ID]; ok && !a.back {
		j.Aside, j.AsideUntil = true, a.until.UnixMilli()
	}
	j.Earmark = earmarkFor(w)
	a := &w.Attempts[len(w.Attempts)-1]
	if !a.StartedAt.IsZero() && w.Phase.Held() {
		j.Started = a.StartedAt.UnixMilli()
	}
	j.MaxRun = e.longest(w).Milliseconds()
	if j.MaxRun > 0 && !a.RunningAt.IsZero() {
		j.EndsBy = a.RunningAt.UnixMilli() + j.MaxRun
	}
	j.Booked, j.Likely = bookingOf(w), e.likely(w)
	if d := time.Duration(w.Spec.Patience); d > 0 && !w.PhaseAt.IsZero() {
		j.Patient = w.PhaseAt.Add(d).UnixMilli()
	}
	e.D.Policy.Take(&j, course(w))
	j.Window = w.Spec.Reservation
	j.Licenses = licensesOf(w.Spec)
	j.StartBy = e.startBy(w)
	j.Pools = w.Spec.Pools
	if len(j.Pools) == 0 {
		j.Pools = e.tree.Pools(w.Project)
	}
	return j
}

// topology is how near one another w's tasks must be.
func (e *Engine) topology(w *core.Workload, pools []string) *schedule.Topology {
	t := w.Spec.Topology
	return e.levels(pools, t, t.Required, t.Preferred)
}

// levels is a topology with the levels of the first of the pools that has all
// that t names.
func (e *Engine) levels(pools []string, t spec.Topology, required, preferred string) *schedule.Topology {
	if required == "" && preferred == "" {
		return nil
	}
	out := &schedule.Topology{Required: required, Preferred: preferred}
	if len(pools) == 0 {
		pools = SortedKeys(e.pools)
	}
	for _, name := range pools {
		levels, all := e.pools[name].Topology, true
		for _, level := range []string{t.Required, t.Preferred, t.Segment.Required, t.Segment.Preferred} {
			all = all && (level == "" || slices.Contains(levels, level))
		}
		if all {
			out.Levels = levels
			return out
		}
	}
	for _, level := range []string{required, preferred} { // labels that no pool names as its levels
		if level != "" && !slices.Contains(out.Levels, level) {
			out.Levels = append(out.Levels, level)
		}
	}
	return out
}

// longest is for how long w may run, by its document or its project; 0: for ever.
func (e *Engine) longest(w *core.Workload) time.Duration {
	own, rule := time.Duration(w.Spec.MaxDuration), e.tree.Rules(w.Project).TimeLimit[w.Kind]
	if own > 0 && (rule <= 0 || own < rule) {
		return own
	}
	return rule
}

func wantedIn(groups []schedule.Group) int {
	n := 0
	for i := range groups {
		for _, r := range groups[i].Runs {
			n += r.Count
		}
	}
	return n
}

// fresh is what a document asks for at first, in the scheduler's words.
func (e *Engine) fresh(doc *spec.Document) schedule.Job {
	// Its tasks count for one another by its ID, which it has not got yet.
	w := &core.Workload{ID: "fresh", Spec: doc, Kind: doc.Kind, Attempts: []core.Attempt{{}}}
	w.Replicas = max(1, firstReplicas(doc))
	w.Phase = lifecycle.Queued
	j, _ := e.job(w, nil)
	return j
}

// groupsOf are the groups of w's tasks: the first task apart where it needs
// something else.
func groupsOf(w *core.Workload) []schedule.Group {
	n, all := 1, 1
	if w.Spec.Gang() {
		n, all = w.Spec.MinSize(), w.Spec.Size()
	}
	if all == 1 || need(w, 0) == need(w, 1) {
		return []schedule.Group{{Name: "tasks", Min: n}}
	}
	return []schedule.Group{{Name: w.Spec.Role(0), Min: 1}, {Name: "tasks", Min: n - 1}}
}

// groupOf is the group of the task of that index.
func groupOf(groups []schedule.Group, index int) int {
	if groups[len(groups)-1].Segment > 0 {
		for g := range groups {
			if index -= groups[g].Min; index < 0 {
				return g
			}
		}
	}
	if len(groups) > 1 && index > 0 {
		return 1
	}
	return 0
}

// want adds to the groups what w has still to place.
func want(w *core.Workload, tasks map[int]*core.Task, groups []schedule.Group, rule *schedule.Rule) {
	for g := range groups {
		count := groups[g].Min
		switch {
		case grows(w):
			count = room(w, tasks)
		case w.Spec.Elastic() && w.Phase.Held():
			if count = 0; g == len(groups)-1 {
				count = missingRanks(w, tasks)
			}
		case w.Spec.Elastic() && g == len(groups)-1:
			count = w.Spec.Size() - g
		}
		if count > 0 {
			groups[g].Runs = []schedule.Run{{Need: need(w, g), Rule: rule, Count: count}}
		}
	}
}

// rule is where w's tasks may go beside what they need.
func (e *Engine) rule(w *core.Workload) *schedule.Rule {
	s := w.Spec
	r := schedule.Rule{Near: s.Near, Away: s.Apart}
	for _, t := range s.NodeTerms() {
		r.Terms = append(r.Terms, schedule.Term{Key: t.Key, Op: t.Op, Values: t.Values})
	}
	if len(s.Clusters) > 0 {
		r.Terms = append(r.Terms, schedule.Term{Key: core.LabelCluster, Op: "In", Values: s.Clusters})
	}
	if mountsClaims(s) {
		r.Terms = append(r.Terms, schedule.Term{Key: core.LabelRuns, Op: "In", Values: []string{core.RunsImages}})
	}
	for _, v := range s.Volumes {
		if v.Claim != "" {
			r.Terms = append(r.Terms, schedule.Term{Key: core.VolumeLabel(w.Project, v.Claim), Op: "NotIn", Values: []string{core.OutOfReach}})
		}
	}
	if e.shunned[w.ID] {
		r.Terms = append(r.Terms, schedule.Term{Key: core.UnwelcomeLabel(w.ID), Op: "NotIn", Values: []string{core.OutOfReach}})
	}
	if e.choosy {
		wrong := core.RunsImages
		if inContainer(w) {
			wrong = core.RunsProcesses
		}
		r.Terms = append(r.Terms, schedule.Term{Key: core.LabelRuns, Op: "NotIn", Values: []string{wrong}})
	}
	if types := e.tree.NodeTypes(w.Project, w.Kind); types != nil {
		r.Terms = append(r.Terms, schedule.Term{Key: spec.NodeTypeLabel, Op: "In", Values: types})
	}
	for _, t := range s.Tolerations {
		r.Tolerates = append(r.Tolerates, schedule.Toleration{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	if r.Near != "" || r.Away != "" {
		r.Tags = string(w.ID)
	}
	r.Alone = aloneOf(w)
	if r.Near == "" && r.Away == "" && r.Alone == "" && len(r.Terms)+len(r.Tolerates) == 0 {
		return nil
	}
	return &r
}

// aloneOf is what w says of its company. A single task needs no name for that,
// so that many such workloads are interchangeable.
func aloneOf(w *core.Workload) string {
	switch {
	case w.Spec.Exclusive == "user":
		return "user:" + w.User
	case w.Spec.Exclusive == "":
		return ""
	case w.Kind == lifecycle.Training && w.Spec.Array == nil || w.Kind == lifecycle.Workspace:
		return state.AloneEach
	default:
		return string(w.ID)
	}
}

func heldBy(w *core.Workload, t *core.Task, groups []schedule.Group, rule *schedule.Rule) schedule.Held {
	cpu, memory := taken(w, t)
	n := need(w, t.ID.Index)
	n.MIG = counted(w, t)
	h := schedule.Held{
		Group: groupOf(groups, t.ID.Index), Task: t.ID.Index, Need: n, Rule: rule,
		Place:   schedule.Place{Node: t.Node, Devices: t.Devices, CPU: cpu, Memory: memory, MIG: n.MIG},
		Leaving: w.Phase == lifecycle.Terminating || t.State == core.TaskStopping && t.RestartAt.IsZero(),
	}
	return h
}
