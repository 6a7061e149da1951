package draft

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Job is w in the scheduler's words, and whether it concerns the scheduler at
// all: whether it holds or wants anything.
func (e *State) Job(w *core.Workload, tasks *workload.Tasks) (schedule.Job, bool) {
	return e.job(w, tasks, waits(w, tasks))
}

// waits reports whether something of our own workload waits. Of a large array that
// takes a look at each of its tasks, so that who puts it into indexes asks once.
func waits(w *core.Workload, tasks *workload.Tasks) bool {
	return !w.Kind.Foreign() && workload.Waiting(w, tasks)
}

// job is Job of a workload of which that is known.
func (e *State) job(w *core.Workload, tasks *workload.Tasks, waits bool) (schedule.Job, bool) {
	if w.Kind.Foreign() {
		return e.externalJob(w, tasks)
	}
	wants := waits && e.Spending.Over(w.Project, w.User) == nil && !e.onUnknownNode(w, tasks) && !e.growsAt(w, tasks).After(e.Now)
	if !wants && !w.Phase.Held() && workload.EarmarkOf(w) == nil {
		return schedule.Job{}, false
	}
	j := e.outline(w)
	groups, rule := groupsOf(w), e.rule(w)
	if workload.Segmented(w) {
		groups = e.segments(w, j.Pools, rule)
	}
	switch {
	case wants && !workload.Segmented(w):
		want(w, tasks, groups, rule)
	case !wants && workload.Segmented(w):
		unwant(groups)
	}
	if w.Phase.Held() {
		for _, t := range workload.OpenIf(tasks, func(t *core.Task) bool { return workload.Holds(w, t) }) {
			j.Held = append(j.Held, heldBy(w, t, groups, rule))
		}
	}
	switch {
	case workload.Grows(w): // its tasks come and go one by one
		groups[0].Min = min(1, len(j.Held)+wantedIn(groups))
	case w.Spec.Elastic() && workload.SizeFinal(tasks): // some of it is done, and needs the rest
		groups[len(groups)-1].Min = len(j.Held) - (len(groups) - 1)
	}
	j.Shape = schedule.NewShape([]schedule.Set{{Parent: -1, Topology: e.topology(w, j.Pools)}}, groups)
	return j, true
}

// outline is what of w matters to the scheduler beside its tasks.
func (e *State) outline(w *core.Workload) schedule.Job {
	j := schedule.Job{
		ID: w.ID, Queue: w.Project, User: w.User, Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible, Order: w.Seq,
		Promised: e.Promised[w.ID].Rank > 0 || w.Phase == lifecycle.Reserved, Rank: e.Promised[w.ID].Rank, Owed: e.Promised[w.ID].Tasks,
		Moved: w.Phase == lifecycle.Reserved && w.Event == lifecycle.Move,
	}
	if a, ok := e.Aside[w.ID]; ok && !a.Back {
		j.Aside, j.AsideUntil = true, a.Until.UnixMilli()
	}
	j.Earmark = workload.EarmarkFor(w)
	a := &w.Attempts[len(w.Attempts)-1]
	if !a.StartedAt.IsZero() && w.Phase.Held() {
		j.Started = a.StartedAt.UnixMilli()
	}
	j.MaxRun = e.longest(w).Milliseconds()
	if j.MaxRun > 0 && !a.RunningAt.IsZero() {
		j.EndsBy = a.RunningAt.UnixMilli() + j.MaxRun
	}
	j.Booked, j.Likely = workload.BookingOf(w), e.likely(w)
	if d := time.Duration(w.Spec.Patience); d > 0 && !w.PhaseAt.IsZero() {
		j.Patient = w.PhaseAt.Add(d).UnixMilli()
	}
	c := workload.CourseOf(w)
	c.Expected = e.left(w, c.Attained)
	e.D.Policy.Take(&j, c)
	j.Window = w.Spec.Reservation
	j.Licenses = workload.LicensesOf(w.Spec)
	j.StartBy = e.startBy(w)
	j.Pools = w.Spec.Pools
	if len(j.Pools) == 0 {
		j.Pools = e.Tree.Pools(w.Project)
	}
	return j
}

// topology is how near one another w's tasks must be.
func (e *State) topology(w *core.Workload, pools []string) *schedule.Topology {
	t := w.Spec.Topology
	return e.levels(pools, t, t.Required, t.Preferred)
}

// levels is a topology with the levels of the first of the pools that has all
// that t names.
func (e *State) levels(pools []string, t spec.Topology, required, preferred string) *schedule.Topology {
	if required == "" && preferred == "" {
		return nil
	}
	out := &schedule.Topology{Required: required, Preferred: preferred}
	if len(pools) == 0 {
		pools = slices.Sorted(maps.Keys(e.Pools))
	}
	for _, name := range pools {
		levels, all := e.Pools[name].Topology, true
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
func (e *State) longest(w *core.Workload) time.Duration {
	own, rule := time.Duration(w.Spec.MaxDuration), e.Tree.BoundsOf(w).TimeLimit
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

// Fresh is what a document asks for at first, in the scheduler's words.
func (e *State) Fresh(doc *spec.Document) schedule.Job {
	// Its tasks count for one another by its ID, which it has not got yet.
	w := &core.Workload{ID: "fresh", Spec: doc, Kind: doc.Kind, Attempts: []core.Attempt{{}}}
	w.Replicas = max(1, workload.FirstReplicas(doc))
	w.Phase = lifecycle.Queued
	j, _ := e.Job(w, nil)
	return j
}

// groupsOf are the groups of w's tasks: the first task apart where it needs
// something else.
func groupsOf(w *core.Workload) []schedule.Group {
	n, all := 1, 1
	if w.Spec.Gang() {
		n, all = w.Spec.MinSize(), w.Spec.Size()
	}
	if all == 1 || workload.Need(w, 0) == workload.Need(w, 1) {
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
func want(w *core.Workload, tasks *workload.Tasks, groups []schedule.Group, rule *schedule.Rule) {
	for g := range groups {
		count := groups[g].Min
		switch {
		case workload.Grows(w):
			count = workload.Room(w, tasks)
		case w.Spec.Elastic() && w.Phase.Held():
			if count = 0; g == len(groups)-1 {
				count = workload.MissingRanks(w, tasks)
			}
		case w.Spec.Elastic() && g == len(groups)-1:
			count = w.Spec.Size() - g
		}
		if count > 0 {
			groups[g].Runs = []schedule.Run{{Need: workload.Need(w, g), Rule: rule, Count: count}}
		}
	}
}

// rule is where w's tasks may go beside what they need.
func (e *State) rule(w *core.Workload) *schedule.Rule {
	s := w.Spec
	r := schedule.Rule{Near: s.Near, Away: s.Apart}
	for _, t := range s.NodeTerms() {
		r.Terms = append(r.Terms, schedule.Term{Key: t.Key, Op: t.Op, Values: t.Values})
	}
	for _, choice := range s.NodeAffinityAny {
		r.Any = append(r.Any, termsOf(choice.Terms))
	}
	if len(s.Clusters) > 0 {
		r.Terms = append(r.Terms, schedule.Term{Key: core.LabelCluster, Op: "In", Values: s.Clusters})
	}
	if workload.MountsClaims(s) {
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
		if workload.InContainer(w) {
			wrong = core.RunsProcesses
		}
		r.Terms = append(r.Terms, schedule.Term{Key: core.LabelRuns, Op: "NotIn", Values: []string{wrong}})
	}
	if types := e.Tree.BoundsOf(w).NodeTypes; types != nil {
		r.Terms = append(r.Terms, schedule.Term{Key: spec.NodeTypeLabel, Op: "In", Values: types})
	}
	for _, t := range s.Tolerations {
		r.Tolerates = append(r.Tolerates, schedule.Toleration{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	if r.Near != "" || r.Away != "" {
		r.Tags = string(w.ID)
	}
	r.Alone = aloneOf(w)
	if r.Near == "" && r.Away == "" && r.Alone == "" && len(r.Terms)+len(r.Any)+len(r.Tolerates) == 0 {
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
	case w.Kind.Single() && (w.Spec.Array == nil || w.Spec.Slurm != nil): // a job of Slurm's arrays is one of its own
		return ledger.AloneEach
	default:
		return string(w.ID)
	}
}

func heldBy(w *core.Workload, t *core.Task, groups []schedule.Group, rule *schedule.Rule) schedule.Held {
	cpu, memory := workload.Taken(w, t)
	n := workload.Need(w, t.ID.Index)
	n.Extended = workload.Counted(w, t)
	h := schedule.Held{
		Group: groupOf(groups, t.ID.Index), Task: t.ID.Index, Need: n, Rule: rule,
		Place:   schedule.Place{Node: t.Node, Devices: t.Devices, CPU: cpu, Memory: memory, Extended: n.Extended},
		Leaving: w.Phase == lifecycle.Terminating || t.State == core.TaskStopping && t.RestartAt.IsZero(),
	}
	return h
}

// segments are the groups of w's tasks by the order of their indexes: the
// launcher where there is one, then each segment.
func (e *State) segments(w *core.Workload, pools []string, rule *schedule.Rule) []schedule.Group {
	var out []schedule.Group
	if workload.OutsideSegments(w) > 0 {
		out = append(out, schedule.Group{Name: w.Spec.Role(0), Min: 1, Runs: []schedule.Run{{Need: workload.Need(w, 0), Rule: rule, Count: 1}}})
	}
	var runs []schedule.Run
	first, left := workload.OutsideSegments(w), w.Spec.Size()-workload.OutsideSegments(w)
	if first == 0 && left > 1 && workload.Need(w, 0) != workload.Need(w, 1) {
		runs, left, first = append(runs, schedule.Run{Need: workload.Need(w, 0), Rule: rule, Count: 1}), left-1, 1
	}
	runs = append(runs, schedule.Run{Need: workload.Need(w, first), Rule: rule, Count: left})
	t := w.Spec.Topology
	return append(out, place.Segments(t.Segment.Size, e.levels(pools, t, t.Segment.Required, t.Segment.Preferred), runs)...)
}

// unwant makes groups those of a gang that has all its tasks.
func unwant(groups []schedule.Group) {
	for g := range groups {
		groups[g].Runs = nil
	}
}

// growsAt is from when an elastic gang may have more workers; zero: at any time.
// Growth that restarts the others costs all of them what they did since their
// last checkpoint, so it waits as long after a restart as work rests between
// moves. Those who must go are not asked to wait: others need their room.
func (e *State) growsAt(w *core.Workload, tasks *workload.Tasks) time.Time {
	var at time.Time
	if !w.Spec.Elastic() || w.Spec.Live() || w.Phase != lifecycle.Running {
		return at
	}
	for _, t := range workload.Ranks(tasks) {
		if !t.RestartedAt.IsZero() {
			at = workload.Later(at, t.RestartedAt.Add(time.Duration(e.D.Policy.MoveRest)*time.Millisecond))
		}
	}
	return at
}

// onUnknownNode reports whether some rank of an elastic gang is on a node that is not
// known yet. To the scheduler it holds nothing there, and more of it could end
// up in another pool.
func (e *State) onUnknownNode(w *core.Workload, tasks *workload.Tasks) bool {
	if !w.Spec.Elastic() || !w.Phase.Held() {
		return false
	}
	for _, t := range workload.Ranks(tasks) {
		if _, ok := e.Nodes[t.Node]; !ok {
			return true
		}
	}
	return false
}

// Expectation is when an attempt has probably ended.
type Expectation struct {
	Attempt int
	At      int64 // unix ms
}

// left is how long w probably still takes, in ms, once it runs: as its likes did, or
// as its author says; never for longer than it may; 0: nobody knows.
func (e *State) left(w *core.Workload, had int64) int64 {
	left := int64(0)
	if e.Insight != nil {
		left = e.Insight.Lengths.Left(w, had)
	}
	if whole := w.Spec.ExpectedDuration.Std().Milliseconds(); left == 0 && whole > 0 {
		left = max(whole-had, had)
	}
	if most := e.longest(w).Milliseconds(); most > 0 {
		left = min(left, most)
	}
	return left
}

// likely is by when w has probably ended, in unix ms; 0: nobody knows.
func (e *State) likely(w *core.Workload) int64 {
	if x := e.Expected[w.ID]; x.Attempt == w.Attempt && w.Phase.Held() {
		return x.At
	}
	return 0
}

// comesUp notes of a workload that is new to the indexes whether its end is to be
// foreseen.
func (e *State) comesUp(w *core.Workload) {
	if !w.Phase.Held() || w.Attempts[len(w.Attempts)-1].RunningAt.IsZero() || e.Insight == nil {
		return
	}
	if x, known := e.Expected[w.ID]; !known || x.Attempt != w.Attempt {
		Put(&e.Unforeseen, w.ID, struct{}{})
	}
}

// Promise is what one workload is promised.
type Promise struct {
	Rank  int // its place in line, from 1
	Tasks int // for how many of it others leave
}

// InLine are the promises in the order in which they are served.
func InLine(promised map[core.WorkloadID]Promise) []core.Promise {
	var all []core.Promise
	for id, v := range promised {
		all = append(all, core.Promise{Workload: id, Tasks: v.Tasks})
	}
	slices.SortFunc(all, func(a, b core.Promise) int { return cmp.Compare(promised[a.Workload].Rank, promised[b.Workload].Rank) })
	return all
}

// promises is what of the promises a commit has to write; nil: nothing.
func (e *State) promises() []core.Promise {
	all := InLine(e.Promised)
	switch {
	case slices.Equal(all, e.StoredPromises):
		return nil
	case all == nil:
		return []core.Promise{}
	default:
		return all
	}
}

// SetPromises takes over the promises that are stored.
func (e *State) SetPromises(all []core.Promise) {
	e.StoredPromises, e.Promised = all, make(map[core.WorkloadID]Promise, len(all))
	for i, p := range all {
		e.Promised[p.Workload] = Promise{i + 1, p.Tasks}
	}
}

func (e *State) loadPromises(ctx context.Context) error {
	all, err := e.D.Store.Promises(ctx)
	if err != nil {
		return fmt.Errorf("read promises: %w", err)
	}
	e.SetPromises(all)
	return nil
}
