package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// minimum is how many members of an external workload run together or not at
// all, of those that have not ended well; at least 1.
func minimum(w *core.Workload, tasks map[int]*core.Task) int {
	n := w.Spec.MinWorkers
	for _, t := range tasks {
		n -= core.Bit(t.State == core.TaskSucceeded)
	}
	return max(n, 1)
}

// externalJob is an external workload in the scheduler's words: a group for all
// members that are alike.
func (e *Engine) externalJob(w *core.Workload, tasks map[int]*core.Task) (schedule.Job, bool) {
	wants := e.wants(w, tasks)
	if !wants && !w.Phase.Held() {
		return schedule.Job{}, false
	}
	j := e.outline(w)
	b := groupsByClass{e: e, w: w, at: map[string]int{}}
	c := e.Claims.Of[keyOf(w)]
	if w.Phase.Held() {
		for _, t := range sortedTasks(tasks) {
			if holds(w, t) {
				j.Held = append(j.Held, b.held(t, c))
			}
		}
	}
	gang := w.Spec.MinWorkers > 1
	missing := minimum(w, tasks) - len(j.Held)
	if wants {
		for _, m := range e.open(w, tasks) {
			g := b.group(m.class, &m.Where)
			run := &b.groups[g].Runs
			if len(*run) == 0 {
				*run = []schedule.Run{{Need: needOf(m.Needs), Rule: b.rules[g]}}
			}
			(*run)[0].Count++
			if gang && missing > 0 {
				b.groups[g].Min++
				missing--
			}
		}
	}
	sets := []schedule.Set{{Parent: -1}}
	if !gang { // each runs by itself, whatever the others are like
		for g := range b.groups {
			b.groups[g].Min = 1
		}
		sets[0].MinGroups = core.Bit(len(b.groups) > 1)
	}
	j.Shape = schedule.NewShape(sets, b.groups)
	return j, true
}

// groupsByClass gathers members that are alike.
type groupsByClass struct {
	e      *Engine
	w      *core.Workload
	at     map[string]int // by class
	groups []schedule.Group
	rules  []*schedule.Rule
}

func (b *groupsByClass) group(class string, where *backend.Where) int {
	g, ok := b.at[class]
	if !ok {
		g = len(b.groups)
		b.at[class] = g
		b.groups = append(b.groups, schedule.Group{Name: "pods " + strconv.Itoa(g)})
		b.rules = append(b.rules, b.e.ruleOf(b.w, where))
	}
	return g
}

// held is a member that has its place. Of one that its backend has not told of
// since the start only that is known what it holds.
func (b *groupsByClass) held(t *core.Task, c *claim) schedule.Held {
	h := schedule.Held{
		Task: t.ID.Index, Place: schedule.Place{Node: t.Node, Devices: t.Devices, CPU: t.CPU, Memory: t.Memory, MIG: t.Counted},
		Leaving: b.w.Phase == lifecycle.Terminating || t.State == core.TaskStopping,
	}
	var m *member
	if c != nil {
		m = c.members[t.Claim]
	}
	if m == nil {
		h.Need = schedule.Need{CPU: t.CPU, Memory: t.Memory, Devices: len(t.Devices), MIG: t.Counted}
		if len(t.Devices) > 0 {
			h.Need.Milli = t.Devices[0].Milli
		}
		h.Group = b.group(fmt.Sprint(h.Need), &backend.Where{})
	} else {
		h.Need = needOf(m.Needs)
		h.Group = b.group(m.class, &m.Where)
	}
	h.Rule = b.rules[h.Group]
	if b.w.Spec.MinWorkers > 1 && !h.Leaving && b.min() < b.w.Spec.MinWorkers {
		b.groups[h.Group].Min++
	}
	return h
}

func (b *groupsByClass) min() int {
	n := 0
	for i := range b.groups {
		n += b.groups[i].Min
	}
	return n
}

// needOf is what a member needs, in the scheduler's words.
func needOf(n backend.Needs) schedule.Need {
	out := schedule.Need{CPU: n.CPU, Memory: n.Memory, Type: n.GPU.Type, MIG: countedOf(n.GPU.MIG, n.Counted)}
	switch n.GPU.Kind() {
	case spec.MemoryGPU:
		out.Devices, out.Share = n.GPU.Devices(), n.GPU.Memory.Units()
	case spec.WholeGPU, spec.ShareGPU:
		out.Devices, out.Milli = n.GPU.Devices(), n.GPU.Milli()
	}
	return out
}

// ruleOf is where a member may go: only where its backend is, too.
func (e *Engine) ruleOf(w *core.Workload, where *backend.Where) *schedule.Rule {
	r := schedule.Rule{Near: where.Near, Away: where.Apart, Terms: termsOf(where.Terms)}
	r.Terms = append(r.Terms, schedule.Term{Key: core.LabelCluster, Op: "In", Values: []string{keyOf(w).backend}})
	for _, terms := range where.Any {
		r.Any = append(r.Any, termsOf(terms))
	}
	if types := e.tree.NodeTypes(w.Project, w.Kind); types != nil {
		r.Terms = append(r.Terms, schedule.Term{Key: spec.NodeTypeLabel, Op: "In", Values: types})
	}
	for _, t := range where.Tolerations {
		r.Tolerates = append(r.Tolerates, schedule.Toleration{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	if r.Near != "" || r.Away != "" {
		r.Tags = string(w.ID) + " " + where.Tag
	}
	return &r
}

func termsOf(terms []spec.NodeTerm) []schedule.Term {
	var out []schedule.Term
	for _, t := range terms {
		out = append(out, schedule.Term{Key: t.Key, Op: t.Op, Values: t.Values})
	}
	return out
}

// putMembers makes tasks of members that are given their places. It must run
// inside change.
func (tx *tx) putMembers(d *draft, p schedule.Placement) {
	// The groups are numbered as they were for the scheduler: both orders follow
	// from the state alone.
	b := groupsByClass{e: tx.e, w: d.w, at: map[string]int{}}
	c := tx.e.Claims.Of[keyOf(d.w)]
	if c == nil {
		return
	}
	if d.w.Phase.Held() {
		for _, t := range sortedTasks(d.tasks) {
			if holds(d.w, t) {
				b.held(t, c)
			}
		}
	}
	open := map[int][]*member{}
	for _, m := range tx.e.open(d.w, d.tasks) {
		g := b.group(m.class, &m.Where)
		open[g] = append(open[g], m)
	}
	places := slices.Clone(p.Tasks)
	slices.SortStableFunc(places, func(a, b schedule.Placed) int { return cmp.Compare(a.Group, b.Group) })
	for _, at := range places {
		if len(open[at.Group]) == 0 {
			continue
		}
		m := open[at.Group][0]
		open[at.Group] = open[at.Group][1:]
		a := d.attempt()
		t := core.Task{
			ID:   core.TaskID{Workload: d.w.ID, Attempt: d.w.Attempt, Index: a.Next},
			Role: m.Role, Backend: tx.e.nodes[at.Place.Node].Backend, Node: at.Place.Node, Devices: at.Place.Devices,
			CPU: at.Place.CPU, Memory: at.Place.Memory, Counted: countedOf(m.Needs.GPU.MIG, m.Needs.Counted),
			State: core.TaskStarting, PlacedAt: tx.now, Claim: m.Key, Name: m.Name, Pool: tx.e.nodes[at.Place.Node].Pool,
		}
		a.Next++
		d.setTask(t)
	}
}

// boundTo is the assignment of a member.
func boundTo(w *core.Workload, t *core.Task, tasks map[int]*core.Task) backend.Assignment {
	a := backend.Assignment{
		ID: t.ID, Node: t.Node, Devices: t.Devices, Claim: t.Claim, Grace: w.Spec.GracePeriod.Std(),
		About: backend.About{Project: w.Project, Name: w.Name, Kind: w.Kind, Role: t.Role, User: w.User},
	}
	if w.Spec.MinWorkers < 2 {
		return a
	}
	for _, other := range tasks {
		a.Gang += core.Bit(other.State == core.TaskStarting && other.PlacedAt.Equal(t.PlacedAt))
	}
	return a
}

// concludeExternal draws what follows for an external workload from its tasks
// and from what its maker has done. It must run inside change.
func (tx *tx) concludeExternal(d *draft) error {
	c := tx.e.Claims.Of[keyOf(d.w)]
	if !d.w.Phase.Held() {
		return tx.forsaken(d, c)
	}
	up, held := 0, 0
	for _, t := range d.tasks {
		up += core.Bit(t.State == core.TaskRunning || t.State == core.TaskSucceeded || t.State == core.TaskFailed && !t.StartedAt.IsZero() && !t.Leaving)
		held += core.Bit(t.State.Held())
	}
	least := max(d.w.Spec.MinWorkers, 1)
	if d.w.Phase == lifecycle.Starting && up >= least {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.AllReady}, actorBackendName(keyOf(d.w).backend)); err != nil {
			return err
		}
	}
	if held == 0 && tx.over(d.w, c) {
		return tx.finish(d, c)
	}
	short := ""
	switch need := minimum(d.w, d.tasks); {
	case d.w.Phase != lifecycle.Running || held >= need:
	case held == 0:
		short = "none of its pods is up; " + d.w.Spec.Annotations[noteMaker] + " may make others"
	default:
		short = fmt.Sprintf("%d of at least %d pods are up", held, need)
	}
	d.fact(lifecycle.Degraded, short != "", tx.now, lifecycle.MembersMissing, short)
	if c != nil && c.Remade {
		d.close(replacedMembers(d.tasks, c))
	}
	return nil
}

// replacedMembers reports of which tasks nothing follows any more: they have
// failed and are gone, and their maker makes others for them. Those that have
// ended well count, and of the others the last of each sort tells how all ended.
func replacedMembers(tasks map[int]*core.Task, c *claim) func(*core.Task) bool {
	type sort struct {
		state           core.TaskState
		leaving, killed bool
	}
	sortOf := func(t *core.Task) sort {
		return sort{t.State, t.Leaving, killed(t)}
	}
	last := map[sort]*core.Task{}
	for _, t := range sortedTasks(tasks) {
		if s := sortOf(t); last[s] == nil || !t.EndedAt.Before(last[s].EndedAt) {
			last[s] = t
		}
	}
	return func(t *core.Task) bool {
		return t.State != core.TaskSucceeded && c.members[t.Claim] == nil && last[sortOf(t)] != t
	}
}

// over reports whether nobody will make another member of w's claim.
func (tx *tx) over(w *core.Workload, c *claim) bool {
	if c == nil {
		return tx.e.Claims.whole[keyOf(w).backend]
	}
	return c.Over != ""
}

// forsaken ends a workload that waits and whose claim is over. It must run
// inside change.
func (tx *tx) forsaken(d *draft, c *claim) error {
	if !tx.over(d.w, c) || d.w.Phase.End() || d.w.Phase == lifecycle.Deleting {
		return nil
	}
	in := lifecycle.Input{On: lifecycle.Stop, Cause: lifecycle.CauseMaker, Reason: lifecycle.ReasonKilled, Message: d.w.Spec.Annotations[noteMaker] + " was taken away"}
	return tx.end(d, in, actorBackendName(keyOf(d.w).backend))
}

// finish ends a workload none of whose members is left, as they have ended. It
// must run inside change.
func (tx *tx) finish(d *draft, c *claim) error {
	var bad, lost *core.Task
	sum := decide.Members{}
	for _, t := range sortedTasks(d.tasks) {
		switch {
		case t.State == core.TaskSucceeded:
			sum.Well++
		case t.Leaving:
		case t.State == core.TaskLost && lost == nil:
			lost, sum.Lost = t, true
		case killed(t) && !sum.Killed:
			sum.Killed = true
		case t.State == core.TaskFailed && !killed(t) && (bad == nil || t.EndedAt.After(bad.EndedAt)):
			bad, sum.Failed = t, true // the last one: those before it were tried again
		}
	}
	is := decide.MakerGone
	if c != nil {
		is = makers[c.Over]
	}
	actor := actorBackendName(keyOf(d.w).backend)
	if is == decide.MakerSucceeded && d.w.Phase == lifecycle.Starting {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.AllReady}, actor); err != nil {
			return err
		}
	}
	maker := d.w.Spec.Annotations[noteMaker]
	a := d.attempt()
	end := decide.AfterMembers(d.w.Phase, is, sum)
	in := end.Input()
	switch end {
	case decide.MembersSucceeded:
		zero := 0
		a.ExitCode = &zero
	case decide.MemberFailed:
		index := bad.ID.Index
		a.Culprit, a.ExitCode = &index, bad.ExitCode
		in.Reason, in.Message = lifecycle.Reason(bad.Reason), bad.Name+" "+howEnded(bad)
	case decide.MakerHasFailed:
		in.Message = maker + " has failed"
	case decide.MemberLost:
		in.Message = lost.Name + " was lost: " + lost.Message
	case decide.MembersTakenAway:
		in.Reason, in.Message = lifecycle.ReasonKilled, maker+" was taken away"
	}
	return tx.end(d, in, actor)
}

// makers are what a backend says of whoever made the pods.
var makers = map[backend.Outcome]decide.Maker{
	backend.OutcomeSucceeded: decide.MakerSucceeded, backend.OutcomeFailed: decide.MakerFailed, backend.OutcomeGone: decide.MakerGone,
}

// killed reports whether somebody ended t.
func killed(t *core.Task) bool { return failureOf(t).Class == lifecycle.FailureKilled }

func howEnded(t *core.Task) string {
	switch {
	case t.Message != "":
		return "failed: " + t.Message
	case t.Signal != 0:
		return fmt.Sprintf("was ended by signal %d", t.Signal)
	case t.ExitCode != nil:
		return fmt.Sprintf("exited with code %d", *t.ExitCode)
	default:
		return "failed"
	}
}
