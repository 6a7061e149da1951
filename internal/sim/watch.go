package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// watch keeps its own account of what the engine publishes and asks planes
// for, and compares.
type watch struct {
	w      *World
	states map[core.WorkloadID]lifecycle.State // replayed from transitions
	holds  map[core.TaskID]*hold
	use    map[string]int // thousandths by device, of open holds
	news   int            // changes published since the last check
	total  int            // and ever
	lost   map[core.WorkloadID]bool
}

// hold is the time for which one task has its devices.
type hold struct {
	from, to time.Time // to: zero while it lasts
	devices  []core.Share
}

func newWatch(w *World) watch {
	return watch{w: w, states: map[core.WorkloadID]lifecycle.State{}, holds: map[core.TaskID]*hold{}, use: map[string]int{}, lost: map[core.WorkloadID]bool{}}
}

// published is called by the engine with what it shows the world.
func (o *watch) published(changes []control.Change) {
	for _, c := range changes {
		o.news++
		o.total++
		for _, t := range c.Transitions {
			o.w.trace.note(o.w.now, "%s/%d %s: %s to %s %s %s", c.Workload.Name, t.Attempt, t.Event, t.From, t.To, t.Target, t.Reason)
		}
		for _, check := range []func(control.Change) error{o.durable, o.replay, o.gangWhole, o.account} {
			if err := check(c); err != nil {
				o.w.fail("workload %s: %w", c.Workload.Name, err)
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
func (o *watch) durable(c control.Change) error {
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
func (o *watch) replay(c control.Change) error {
	s := o.states[c.Workload.ID]
	for _, t := range c.Transitions {
		if t.From != s.Phase {
			return fmt.Errorf("I5: transition %+v begins in %q, the one before ended in %q", t, t.From, s.Phase)
		}
		next, err := lifecycle.Next(s, lifecycle.Input{On: t.Event, To: t.To, Target: t.Target, Reason: t.Reason, Message: t.Message})
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

// gangWhole (I2): a gang has all its places, from one commit, or none.
func (o *watch) gangWhole(c control.Change) error {
	w := c.Workload
	if w.Kind != lifecycle.Distributed || !w.Phase.Held() {
		return nil
	}
	if len(c.Tasks) != w.Spec.Size() {
		return fmt.Errorf("I2: the gang has %d places in %s and needs %d", len(c.Tasks), w.Phase, w.Spec.Size())
	}
	for _, t := range c.Tasks {
		if t.Node == "" || !t.PlacedAt.Equal(c.Tasks[0].PlacedAt) {
			return fmt.Errorf("I2: %s got its place on %q at %v, %s at %v", t.ID, t.Node, t.PlacedAt, c.Tasks[0].ID, c.Tasks[0].PlacedAt)
		}
		if a, b := o.w.linkOf(t.Node), o.w.linkOf(c.Tasks[0].Node); a != b {
			return fmt.Errorf("I2: the gang spans two planes: %s and %s", t.Node, c.Tasks[0].Node)
		}
	}
	return nil
}

// account (I1, I6) keeps the timeline of every device, and compares with what
// the workload is charged.
func (o *watch) account(c control.Change) error {
	w := c.Workload
	all, err := o.w.memory.Tasks(context.Background(), w.ID, -1)
	if err != nil {
		return err
	}
	for i := range all {
		t := &all[i]
		h := o.holds[t.ID]
		if h == nil {
			h = &hold{from: o.w.now, devices: t.Devices}
			if !t.PlacedAt.Equal(o.w.now) {
				return fmt.Errorf("I6: task %s says that it was placed at %v, at %v", t.ID, t.PlacedAt, o.w.now)
			}
			o.holds[t.ID] = h
			o.take(h, 1)
		}
		switch present := t.ID.Attempt == w.Attempt && w.Phase.Held(); {
		case !h.to.IsZero():
		case w.Spec.Array != nil && t.State.Ended():
			if t.EndedAt.Before(h.from) || t.EndedAt.After(o.w.now) {
				return fmt.Errorf("I6: task %s ended at %v, outside %v to %v", t.ID, t.EndedAt, h.from, o.w.now)
			}
			h.to = t.EndedAt
			o.take(h, -1)
		case !present:
			h.to = o.w.now
			o.take(h, -1)
		}
	}
	return o.charged(w, all)
}

func (o *watch) take(h *hold, sign int) {
	for _, s := range h.devices {
		o.use[s.Device] += sign * s.Milli
	}
}

// charged (I6): the GPU time of a workload is what its devices' timelines say.
func (o *watch) charged(w *core.Workload, tasks []core.Task) error {
	var want float64
	for i := range tasks {
		h := o.holds[tasks[i].ID]
		to := h.to
		if to.IsZero() {
			to = o.w.now
		}
		for _, s := range h.devices {
			want += to.Sub(h.from).Seconds() * float64(s.Milli) / 1000
		}
	}
	if have := control.GPUSeconds(w, tasks, o.w.now); math.Abs(have-want) > 0.001*float64(len(tasks)+1) {
		return fmt.Errorf("I6: it is charged %.6f GPU seconds in %s, its devices were held for %.6f", have, w.Phase, want)
	}
	return nil
}

// check looks at the whole world after something was published.
func (o *watch) check() {
	if o.news == 0 || o.w.err != nil {
		return
	}
	o.news = 0
	if err := o.w.engine.Check(context.Background()); err != nil {
		o.w.fail("the engine's memory: %w", err)
	}
	for _, check := range []func() error{o.capacity, o.physical, o.explained} {
		if err := check(); err != nil {
			o.w.fail("%w", err)
		}
	}
}

// capacity (I1): no node gives more than it has, by what is stored.
func (o *watch) capacity() error {
	type sum struct{ cpu, memory int64 }
	used, milli := map[core.NodeID]sum{}, map[string]int{}
	entries, err := o.w.memory.Live(context.Background())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Workload.Phase.Held() {
			continue
		}
		r := e.Workload.Spec.Resources
		for _, t := range e.Tasks {
			if e.Workload.Spec.Array != nil && t.State.Ended() {
				continue
			}
			u := used[t.Node]
			used[t.Node] = sum{u.cpu + r.CPU.Milli(), u.memory + r.Memory.Units()}
			for _, s := range t.Devices {
				milli[s.Device] += s.Milli
			}
		}
	}
	for _, l := range o.w.links {
		nodes, err := l.plane.Inventory(context.Background())
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if u := used[n.ID]; u.cpu > n.CPU || u.memory > n.Memory {
				return fmt.Errorf("I1: node %s gives %d/%d mCPU and %d/%d bytes", n.ID, u.cpu, n.CPU, u.memory, n.Memory)
			}
			for _, d := range n.Devices {
				if milli[d.ID] > 1000 {
					return fmt.Errorf("I1: device %s gives %d/1000", d.ID, milli[d.ID])
				}
			}
		}
	}
	return nil
}

// physical (I1): no two living tasks of a plane have one device. A task that a
// fault made vanish may have run twice; its workload does not count.
func (o *watch) physical() error {
	for _, l := range o.w.links {
		seen, err := l.plane.Observe(context.Background())
		if err != nil {
			return err
		}
		by := map[string]core.TaskID{}
		for _, ob := range seen {
			a, ok := l.plane.Assigned(ob.ID)
			if !ok || ob.State.Ended() || o.lost[ob.ID.Workload] {
				continue
			}
			for _, s := range a.Devices {
				if other, taken := by[s.Device]; taken {
					return fmt.Errorf("I1: tasks %s and %s both run on device %s", other, ob.ID, s.Device)
				}
				by[s.Device] = ob.ID
			}
		}
	}
	return nil
}

// explained (I8): whoever waits is told why.
func (o *watch) explained() error {
	if o.w.disk.failed {
		return nil // the plan was taken back with the commit
	}
	entries, err := o.w.memory.Live(context.Background())
	if err != nil {
		return err
	}
	projects, err := o.w.memory.Projects(context.Background())
	if err != nil {
		return err
	}
	open := map[core.ProjectID]bool{core.DefaultProject: true}
	for _, p := range projects {
		open[p.ID] = !p.Stopped
	}
	var waiting []core.WorkloadID
	for _, e := range entries {
		if p := e.Workload.Phase; open[e.Workload.Project] == (p == lifecycle.Inadmissible) && (p == lifecycle.Inadmissible || p == lifecycle.Queued) {
			return fmt.Errorf("workload %s is %s; that its project is open is %v", e.Workload.Name, p, open[e.Workload.Project])
		}
		switch e.Workload.Phase {
		case lifecycle.Queued, lifecycle.Inadmissible, lifecycle.Backoff:
			waiting = append(waiting, e.Workload.ID)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	r := o.w.engine.Do(context.Background(), o.w.now, []control.Command{control.Explain(waiting)})[0]
	if r.Err != nil {
		return fmt.Errorf("I8: %w", r.Err)
	}
	all := r.Value.(map[core.WorkloadID]control.Pending)
	for _, id := range waiting {
		p, ok := all[id]
		if !ok || len(p.Reasons) == 0 {
			return fmt.Errorf("I8: workload %s waits and nobody says why", id)
		}
		for _, why := range p.Reasons {
			if why.Token == schedule.NotYetEvaluated || why.String() == "" {
				return fmt.Errorf("I8: workload %s waits because of %+v", id, why)
			}
		}
	}
	return nil
}

// actions (I3): planes are asked only for what is stored.
func (o *watch) actions(actions []control.Action) {
	for _, a := range actions {
		if err := o.action(a); err != nil {
			o.w.fail("action %d for task %s: %w", a.Kind, a.Task, err)
		}
	}
}

func (o *watch) action(a control.Action) error {
	ctx := context.Background()
	if a.Kind == control.ActDeleteLogs {
		if w, err := o.w.memory.Workload(ctx, a.Workload); err != nil || w.Phase != lifecycle.Deleting {
			return fmt.Errorf("I3: logs of %s are deleted, which is stored as %+v (%v)", a.Workload, w, err)
		}
		return nil
	}
	if a.Kind != control.ActStart {
		return nil // harmless at any time: it ends or forgets what nobody claims
	}
	tasks, err := o.w.memory.Tasks(ctx, a.Task.Workload, a.Task.Attempt)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.ID == a.Task && t.Node == a.Assignment.Node && t.PlacedAt.Compare(o.w.now) <= 0 {
			return nil
		}
	}
	return errors.New("I3: it is started and is not stored so")
}

// again (I4) repeats an observation, which must change nothing.
func (o *watch) again(obs control.Observations) {
	before := o.total
	o.w.do(control.Observe(obs))
	if o.total != before {
		o.w.fail("I4: an observation that was repeated changed something: %+v", obs)
	}
}

func (w *World) linkOf(id core.NodeID) *link {
	for _, l := range w.links {
		nodes, err := l.plane.Inventory(context.Background())
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
