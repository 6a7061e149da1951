package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
)

// watch keeps its own account of what the engine publishes and asks backends
// for, and compares.
type watch struct {
	w      *World
	states map[core.WorkloadID]lifecycle.State // replayed from transitions
	holds  map[core.TaskID]*hold
	use    map[string]int // thousandths by device, of open holds
	news   int            // changes published since the last check
	due    int            // commits that changed something since the last look at the engine's memory
	hidden bool           // some node was not even named by its backend: to the scheduler nobody holds anything there
	deeds  map[string]int // what has happened, of what must happen in some world
	total  int            // and ever
	lost   map[core.WorkloadID]bool
	before map[core.TaskID]core.Task // as last published
	least  map[core.WorkloadID]int   // replicas of a service that had to be ready, as last published
	yields map[core.WorkloadID]bool  // what was preemptible, as last published
	came   came
	// succeeded are tasks that have, by workload and index, in whatever attempt.
	succeeded map[core.TaskID]bool
	words     words
}

func newWatch(w *World) watch {
	return watch{
		w: w, states: map[core.WorkloadID]lifecycle.State{}, holds: map[core.TaskID]*hold{}, use: map[string]int{}, lost: map[core.WorkloadID]bool{},
		before: map[core.TaskID]core.Task{}, least: map[core.WorkloadID]int{}, yields: map[core.WorkloadID]bool{}, came: came{}, succeeded: map[core.TaskID]bool{}, words: newWords(), deeds: map[string]int{},
	}
}

// published is called by the engine with what it shows the world.
func (o *watch) published(changes []draft.Change) {
	o.w.recorded("changes", changes)
	for _, c := range changes {
		o.came.add(c)
		for _, t := range slices.Concat(c.Former, c.Tasks) {
			if t.State == core.TaskSucceeded {
				o.succeeded[core.TaskID{Workload: t.ID.Workload, Index: t.ID.Index}] = true
			}
		}
	}
	for _, c := range changes {
		o.news++
		o.total++
		for _, t := range c.Transitions {
			o.w.trace.note(o.w.now, "%s/%d %s: %s to %s %s %s", c.Workload.Name, t.Attempt, t.Event, t.From, t.To, t.Target, t.Reason)
		}
		for _, check := range []func(draft.Change) error{o.durable, o.replay, o.gangWhole, o.rests, o.ports, o.replicas, o.conditions, o.preempted, o.inQuota, o.account, o.observe, o.inOrder, o.noted} {
			if err := check(c); err != nil {
				o.w.fail("workload %s: %w", c.Workload.Name, err)
			}
		}
		if u := c.Workload.Spec.Update; u.MaxUnavailable != nil {
			o.least[c.Workload.ID] = c.Workload.Replicas - *u.MaxUnavailable
		}
		for _, t := range slices.Concat(c.Former, c.Tasks) {
			o.before[t.ID] = *t
			if t.State == core.TaskLost { // it may run on where nobody sees it, until its node reports again
				o.lost[t.ID.Workload] = true
			}
		}
	}
	for device, milli := range o.use { // now that the whole commit has been taken into account
		if milli > 1000 || milli < 0 {
			o.w.fail("I1: %d/1000 of device %s are held", milli, device)
		}
	}
}

// durable (I3): what is shown is what the store holds.
func (o *watch) durable(c draft.Change) error {
	stored, err := o.w.memory.Workload(context.Background(), c.Workload.ID)
	if err != nil {
		return fmt.Errorf("I3: it was published and is not stored: %w", err)
	}
	if stored.Version != c.Workload.Version || stored.Rev != c.Workload.Rev || stored.State != c.Workload.State {
		return fmt.Errorf("I3: version %d, revision %d, %+v was published; version %d, revision %d, %+v is stored",
			c.Workload.Version, c.Workload.Rev, c.Workload.State, stored.Version, stored.Rev, stored.State)
	}
	for _, t := range c.Transitions {
		steps, err := o.w.memory.Transitions(context.Background(), c.Workload.ID, t.Seq-1, 1)
		if err != nil || len(steps) != 1 || steps[0] != t {
			return fmt.Errorf("I3: transition %+v was published; %+v is stored (%v)", t, steps, err)
		}
	}
	return nil
}

// replay (I5): the machine makes of the transitions what the workload is.
func (o *watch) replay(c draft.Change) error {
	s := o.states[c.Workload.ID]
	for _, t := range c.Transitions {
		if t.From != s.Phase {
			return fmt.Errorf("I5: transition %+v begins in %q, the one before ended in %q", t, t.From, s.Phase)
		}
		next, err := lifecycle.Next(s, lifecycle.Input{On: t.Event, To: t.To, Target: t.Target, Cause: t.Cause, Reason: t.Reason, Message: t.Message})
		if err != nil {
			return fmt.Errorf("I5: replay of %+v: %w", t, err)
		}
		if next.Phase != t.To || next.Target != t.Target || next.Attempt != t.Attempt {
			return fmt.Errorf("I5: %+v, replayed: %+v", t, next)
		}
		s = next
	}
	o.states[c.Workload.ID] = s
	if s != c.Workload.State {
		return fmt.Errorf("I5: its transitions lead to %+v; it is %+v", s, c.Workload.State)
	}
	return nil
}

// gangWhole (I2): a gang has all its places, from one commit, or none. An
// elastic one has at least its minimum of them, and others may come later.
func (o *watch) gangWhole(c draft.Change) error {
	w := c.Workload
	if w.Kind != lifecycle.Distributed || !w.Phase.Held() {
		return nil
	}
	ranks := 0
	for _, t := range c.Tasks {
		if !t.Leaving {
			ranks++
		}
		if t.Node == "" || !w.Spec.Elastic() && !t.PlacedAt.Equal(c.Tasks[0].PlacedAt) {
			return fmt.Errorf("I2: %s got its place on %q at %v, %s at %v", t.ID, t.Node, t.PlacedAt, c.Tasks[0].ID, c.Tasks[0].PlacedAt)
		}
		if a, b := o.w.linkOf(t.Node), o.w.linkOf(c.Tasks[0].Node); a != b {
			return fmt.Errorf("I2: the gang spans two backends: %s and %s", t.Node, c.Tasks[0].Node)
		}
	}
	if ranks > w.Spec.Size() || ranks < w.Spec.MinSize() {
		return fmt.Errorf("I2: the gang has %d places in %s and needs %d to %d", ranks, w.Phase, w.Spec.MinSize(), w.Spec.Size())
	}
	return nil
}

// checkEvery is after how many commits that changed something the engine's
// memory is compared with a rebuild.
const checkEvery = 4

// check looks at the whole world after something was published.
func (o *watch) check() {
	if o.w.err != nil {
		return
	}
	if o.news > 0 || o.w.disk.failed {
		o.due++
	}
	o.news = 0
	if o.due >= checkEvery { // a rebuild of everything is dear, and what is wrong stays wrong
		o.due = 0
		if err := o.w.engine.Check(context.Background()); err != nil {
			o.w.fail("the engine's memory: %w", err)
		}
	}
	for _, check := range []func() error{o.capacity, o.physical, o.explained} {
		if err := check(); err != nil {
			o.w.fail("%w", err)
		}
	}
}

// rests (I2): a gang that is restarted in another size does not take more while
// the last restart is less than MoveRest ago.
func (o *watch) rests(c draft.Change) error {
	w := c.Workload
	if !w.Spec.Elastic() || w.Spec.Live() {
		return nil
	}
	for _, tr := range c.Transitions {
		if tr.Event != lifecycle.Scale || !strings.Contains(tr.Message, "room for more") {
			continue
		}
		for _, t := range c.Tasks {
			if rest := restBetween; !t.Leaving && !t.RestartedAt.IsZero() && tr.At.Sub(t.RestartedAt) < rest {
				return fmt.Errorf("I2: it grows %v after %s was restarted; want %v at least", tr.At.Sub(t.RestartedAt), t.ID, rest)
			}
		}
	}
	return nil
}

// actions (I3): backends are asked only for what is stored.
func (o *watch) actions(actions []draft.Action) {
	for _, a := range actions {
		if err := o.action(a); err != nil {
			o.w.fail("action %d for task %s: %w", a.Kind, a.Task, err)
		}
	}
}

func (o *watch) action(a draft.Action) error {
	ctx := context.Background()
	if a.Kind == draft.ActDeleteLogs {
		if w, err := o.w.memory.Workload(ctx, a.Workload); err != nil || w.Phase != lifecycle.Deleting {
			return fmt.Errorf("I3: logs of %s are deleted, which is stored as %+v (%v)", a.Workload, w, err)
		}
		return nil
	}
	if a.Kind != draft.ActStart {
		return nil // harmless at any time: it ends or forgets what nobody claims
	}
	if slices.Contains(a.Assignment.Env, "MASTER_ADDR=127.0.0.1") {
		return errors.New("its master is said to be on every node; all nodes have addresses")
	}
	tasks, err := o.w.memory.Tasks(ctx, a.Task.Workload, a.Task.Attempt)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.ID == a.Task && t.Node == a.Assignment.Node && a.Assignment.ID == t.ID {
			return o.world(a, tasks)
		}
	}
	return errors.New("I3: it is started and is not stored so")
}

// world (I2): the ranks of a gang that is restarted in another size all begin
// with that size.
func (o *watch) world(a draft.Action, tasks []core.Task) error {
	w, err := o.w.memory.Workload(context.Background(), a.Task.Workload)
	if err != nil || !w.Spec.Elastic() || w.Spec.Live() {
		return err
	}
	size, ranks := variable(a.Assignment.Env, "WORLD_SIZE"), 0
	for _, t := range tasks {
		if t.ID == a.Task && (t.Leaving || t.State == core.TaskStopping) {
			return nil // it was told to end before it began, and is no rank
		}
		ranks += bit(!t.Leaving)
		for _, l := range o.w.links {
			if other := variable(l.started[t.ID], "WORLD_SIZE"); t.State == core.TaskRunning && t.ID != a.Task && other != "" && other != size {
				return fmt.Errorf("I2: it begins as one of %s while %s runs as one of %s", size, t.ID, other)
			}
		}
	}
	if size != fmt.Sprint(ranks) {
		return fmt.Errorf("I2: it begins as one of %s, and they are %d", size, ranks)
	}
	return nil
}

// variable is the value of a variable in an environment.
func variable(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// again (I4) repeats an observation, which must change nothing.
func (o *watch) again(obs engine.Observations) {
	before := o.total
	o.w.do(engine.Observe(obs))
	if o.total != before {
		o.w.fail("I4: an observation that was repeated changed something: %+v", obs)
	}
}

func (w *World) linkOf(id core.NodeID) *link {
	for _, l := range w.links {
		nodes, err := l.backend.Inventory(context.Background())
		if err != nil {
			return nil
		}
		for _, n := range nodes {
			if n.ID == id {
				return l
			}
		}
	}
	return nil
}

// restBetween is how long a gang rests between two growths.
var restBetween = time.Duration(schedule.NewPolicy().MoveRest) * time.Millisecond
