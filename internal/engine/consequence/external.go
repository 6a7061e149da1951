package consequence

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// PutMembers makes tasks of members that are given their places. It must run
// inside change.
func PutMembers(tx *draft.Tx, d *draft.Draft, p schedule.Placement) {
	// The groups are numbered as they were for the scheduler: both orders follow
	// from the state alone.
	b := draft.GroupsByClass{E: tx.State, W: d.W, At: map[string]int{}}
	c := tx.State.Claims.Of[draft.KeyOf(d.W)]
	if c == nil {
		return
	}
	if d.W.Phase.Held() {
		for _, t := range workload.SortedTasks(d.Tasks) {
			if workload.Holds(d.W, t) {
				b.Held(t, c)
			}
		}
	}
	open := map[int][]*draft.Member{}
	for _, m := range tx.State.Open(d.W, d.Tasks) {
		g := b.Group(m.Class, &m.Where)
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
		a := d.Attempt()
		t := core.Task{
			ID:   core.TaskID{Workload: d.W.ID, Attempt: d.W.Attempt, Index: a.Next},
			Role: m.Role, Backend: tx.State.Nodes[at.Place.Node].Backend, Node: at.Place.Node, Devices: at.Place.Devices,
			CPU: at.Place.CPU, Memory: at.Place.Memory, Counted: workload.CountedOf(m.Needs.GPU.MIG, m.Needs.Counted),
			State: core.TaskStarting, PlacedAt: tx.Now, Claim: m.Key, Name: m.Name, Pool: tx.State.Nodes[at.Place.Node].Pool,
		}
		on := tx.State.Nodes[t.Node]
		t.Product = on.Product(t.Devices, t.Counted)
		a.Next++
		d.SetTask(t)
	}
}

// concludeExternal draws what follows for an external workload from its tasks
// and from what its maker has done. It must run inside change.
func concludeExternal(tx *draft.Tx, d *draft.Draft) error {
	c := tx.State.Claims.Of[draft.KeyOf(d.W)]
	if !d.W.Phase.Held() {
		return forsaken(tx, d, c)
	}
	up, held := 0, 0
	for _, t := range d.Tasks.All() {
		up += core.Bit(t.State == core.TaskRunning || t.State == core.TaskSucceeded || t.State == core.TaskFailed && !t.StartedAt.IsZero() && !t.Leaving)
		held += core.Bit(t.State.Held())
	}
	least := max(d.W.Spec.MinWorkers, 1)
	if d.W.Phase == lifecycle.Starting && up >= least {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.AllReady}, actorBackendName(draft.KeyOf(d.W).Backend)); err != nil {
			return err
		}
	}
	if held == 0 && over(tx, d.W, c) {
		return finish(tx, d, c)
	}
	short := ""
	switch need := workload.Minimum(d.W, d.Tasks); {
	case d.W.Phase != lifecycle.Running || held >= need:
	case held == 0:
		short = "none of its pods is up; " + d.W.Spec.Annotations[draft.NoteMaker] + " may make others"
	default:
		short = fmt.Sprintf("%d of at least %d pods are up", held, need)
	}
	d.Fact(lifecycle.Degraded, short != "", tx.Now, lifecycle.MembersMissing, short)
	if c != nil && c.Remade {
		d.Close(replacedMembers(d.Tasks, c))
	}
	return nil
}

// replacedMembers reports of which tasks nothing follows any more: they have
// failed and are gone, and their maker makes others for them. Those that have
// ended well count, and of the others the last of each sort tells how all ended.
func replacedMembers(tasks *workload.Tasks, c *draft.Claim) func(*core.Task) bool {
	type sort struct {
		state           core.TaskState
		leaving, killed bool
	}
	sortOf := func(t *core.Task) sort {
		return sort{t.State, t.Leaving, workload.Killed(t)}
	}
	last := map[sort]*core.Task{}
	for _, t := range workload.SortedTasks(tasks) {
		if s := sortOf(t); last[s] == nil || !t.EndedAt.Before(last[s].EndedAt) {
			last[s] = t
		}
	}
	return func(t *core.Task) bool {
		return t.State != core.TaskSucceeded && c.Members[t.Claim] == nil && last[sortOf(t)] != t
	}
}

// over reports whether nobody will make another member of w's claim.
func over(tx *draft.Tx, w *core.Workload, c *draft.Claim) bool {
	if c == nil {
		return tx.State.Claims.Whole[draft.KeyOf(w).Backend]
	}
	return c.Over != ""
}

// forsaken ends a workload that waits and whose claim is over. It must run
// inside change.
func forsaken(tx *draft.Tx, d *draft.Draft, c *draft.Claim) error {
	if !over(tx, d.W, c) || d.W.Phase.End() || d.W.Phase == lifecycle.Deleting {
		return nil
	}
	in := lifecycle.Input{On: lifecycle.Stop, Cause: lifecycle.CauseMaker, Reason: lifecycle.ReasonKilled, Message: d.W.Spec.Annotations[draft.NoteMaker] + " was taken away"}
	return End(tx, d, in, actorBackendName(draft.KeyOf(d.W).Backend))
}

// finish ends a workload none of whose members is left, as they have ended. It
// must run inside change.
func finish(tx *draft.Tx, d *draft.Draft, c *draft.Claim) error {
	var bad, lost *core.Task
	sum := decide.Members{}
	for _, t := range workload.SortedTasks(d.Tasks) {
		switch {
		case t.State == core.TaskSucceeded:
			sum.Well++
		case t.Leaving:
		case t.State == core.TaskLost && lost == nil:
			lost, sum.Lost = t, true
		case workload.Killed(t) && !sum.Killed:
			sum.Killed = true
		case t.State == core.TaskFailed && !workload.Killed(t) && (bad == nil || t.EndedAt.After(bad.EndedAt)):
			bad, sum.Failed = t, true // the last one: those before it were tried again
		}
	}
	is := decide.MakerGone
	if c != nil {
		is = makers[c.Over]
	}
	actor := actorBackendName(draft.KeyOf(d.W).Backend)
	if is == decide.MakerSucceeded && d.W.Phase == lifecycle.Starting {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.AllReady}, actor); err != nil {
			return err
		}
	}
	maker := d.W.Spec.Annotations[draft.NoteMaker]
	a := d.Attempt()
	end := decide.AfterMembers(d.W.Phase, is, sum)
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
	return End(tx, d, in, actor)
}

// makers are what a backend says of whoever made the pods.
var makers = map[backend.Outcome]decide.Maker{
	backend.OutcomeSucceeded: decide.MakerSucceeded, backend.OutcomeFailed: decide.MakerFailed, backend.OutcomeGone: decide.MakerGone,
}

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

// ShedsMembers reports whether n members of d can leave while the others go on.
func ShedsMembers(d *draft.Draft, n int) bool {
	held := 0
	for _, t := range d.Tasks.All() {
		held += core.Bit(workload.Wanted(t))
	}
	return d.W.Spec.MinWorkers < 2 || held-n >= workload.Minimum(d.W, d.Tasks)
}
