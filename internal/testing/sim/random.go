package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// Random is a whole run from a seed: backends, nodes, users and faults; then the
// faults cease, and everything must come to its end. The error is the first
// promise that was broken.
func Random(seed uint64) (*World, error) { return random(seed, nil) }

func random(seed uint64, record func(what string, v any)) (*World, error) {
	chance := rand.New(rand.NewPCG(seed, 3))
	nodes := backends(chance)
	w, err := newWorld(seed, nodes, schedule.NewPolicy(schedule.Patience(
		time.Duration(1+chance.IntN(10))*time.Minute, time.Duration(5+chance.IntN(20))*time.Minute, time.Duration(5+chance.IntN(100))*time.Second,
	)))
	if err != nil {
		return w, err
	}
	w.record = record
	if w.one(2) { // projects that share, from the beginning
		for _, p := range projects[1:4] {
			w.do(w.quotaAct(p).command)
		}
	}
	w.storm()
	w.busy(30 + w.chance.IntN(60))
	for w.err == nil && w.users.left > 0 {
		if !w.Step() {
			break
		}
	}
	w.RunUntil(w.now.Add(time.Duration(w.chance.Int64N(int64(5 * time.Minute)))).Truncate(time.Microsecond)) //nolint:errcheck // w.err
	w.stopFaults()
	w.RunUntil(w.now.Add(20 * time.Minute)) //nolint:errcheck // w.err
	w.rested()
	w.finish()
	return w, w.err
}

func backends(r *rand.Rand) map[string][]core.Node {
	all := map[string][]core.Node{}
	for p := range 1 + r.IntN(3) {
		name := fmt.Sprintf("backend-%c", 'a'+p)
		for n := range 1 + r.IntN(4) {
			node := fakebackend.Node(core.NodeID(fmt.Sprintf("%c%d", 'a'+p, n)), int64(2000*(1+r.IntN(8))), int64(4*(1+r.IntN(8)))<<30,
				[]int{0, 2, 4, 8}[r.IntN(4)], []string{"fake-A100", "fake-H100"}[r.IntN(2)])
			node.Pool, node.Address = name, "10.0.0.1"
			if node.Labels = map[string]string{}; r.IntN(3) > 0 {
				node.Labels["zone"] = []string{"x", "y"}[r.IntN(2)]
			}
			node.Extra = map[string]int{adapter: 3 * (n % 2)}
			all[name] = append(all[name], node)
		}
	}
	return all
}

// finish (I4): with every queue open and everything told to end that would
// not, each workload reaches an end.
func (w *World) finish() {
	for _, p := range []core.ProjectID{core.DefaultProject, "a", "b", "ghost"} {
		w.do(organisation.CreateProject(p)) // refused where it exists
		w.do(organisation.SetProject(organisation.RecordProject, p, core.StopNone, ""))
		w.do(organisation.SetRules(p, core.Rules{}))
		w.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: string(p), Project: func(p *core.Project) error {
			p.Pools, p.MaxRunning = nil, 0
			return nil
		}}}, false))
	}
	for _, id := range w.nodeIDs() {
		w.do(organisation.CordonNode(id, false, ""), organisation.TaintNode(organisation.Tainting{Node: id, Drop: []core.Taint{{Key: "sim"}}}))
	}
	w.do(organisation.SetProject(organisation.RecordDepartment, department, core.StopNone, "")) // refused where it does not
	w.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordDepartment, Name: string(department), Project: func(p *core.Project) error {
		p.Pools = nil
		return nil
	}}}, false))
	for range 200 {
		if w.err != nil || w.over() {
			return
		}
		w.RunUntil(w.now.Add(10 * time.Minute)) //nolint:errcheck // w.err
		w.agree()
		w.rested()
		w.approveAll()
		w.releaseAll()
		w.stopEndless()
	}
	entries, err := w.memory.Live(context.Background())
	if err != nil {
		w.fail("%w", err)
	}
	for _, e := range entries {
		if !e.Workload.Phase.End() {
			w.fail("I4: workload %s has not come to an end: %+v, tasks %+v, %s, it waits for %+v", e.Workload.Name, e.Workload.State, e.Tasks, spec.YAML(e.Workload.Spec), w.why(e.Workload.ID))
		}
	}
}

// rested checks that without faults nothing stands still where it must not.
func (w *World) rested() {
	if w.err != nil {
		return
	}
	for _, e := range w.live() {
		if why := stuck(e.Workload, w.clock()); why != "" {
			w.fail("workload %s: %s: %+v, checks %+v", e.Workload.Name, why, e.Workload.State, e.Workload.Checks)
		}
		for _, c := range e.Workload.Conditions {
			if c.Type == lifecycle.Unreachable {
				w.fail("workload %s is %s with %+v, and everything is in reach", e.Workload.Name, e.Workload.Phase, c)
			}
		}
		for _, t := range e.Tasks {
			if e.Workload.Kind == lifecycle.Inference && e.Workload.Phase == lifecycle.Running && t.State == core.TaskRunning &&
				!t.Ready && w.clock().Sub(t.StartedAt) > time.Minute {
				w.fail("replica %s answers, and nobody has noticed", t.ID)
			}
		}
	}
}

// approveAll lets people decide what waits for them.
func (w *World) approveAll() {
	for _, e := range w.live() {
		for _, c := range e.Workload.Checks {
			if c.Type != "approval" || c.Verdict != core.CheckWaiting {
				continue
			}
			user := "sim"
			if len(c.Users) > 0 {
				user = c.Users[0]
			}
			w.do(submission.Decide(submission.Decision{Ref: draft.Ref{ID: e.Workload.ID}, Check: c.Name, Approve: true, User: user, Actor: "user:" + user}))
		}
	}
}

// over reports whether every workload has ended, by replaying each history
// once more from the store (I5).
func (w *World) over() bool {
	entries, err := w.memory.Live(context.Background())
	if err != nil {
		w.fail("%w", err)
	}
	for _, e := range entries {
		if !e.Workload.Phase.End() {
			return false
		}
	}
	steps, err := w.memory.Transitions(context.Background(), "", 0, 0)
	if err != nil {
		w.fail("%w", err)
	}
	if err := w.watch.reported(); err != nil {
		w.fail("%w", err)
	}
	states := map[core.WorkloadID]lifecycle.State{}
	for _, t := range steps {
		s, err := lifecycle.Next(states[t.Workload], lifecycle.Input{On: t.Event, To: t.To, Target: t.Target, Cause: t.Cause, Reason: t.Reason, Message: t.Message})
		if err != nil {
			w.fail("I5: %w", err)
		}
		states[t.Workload] = s
	}
	for _, id := range sortedKeys(states) {
		if stored, err := w.memory.Workload(context.Background(), id); err != nil || stored.State != states[id] {
			w.fail("I5: history of %s leads to %+v, stored is %+v (%v)", id, states[id], stored, err)
		}
	}
	return true
}

// agree (I4): without faults the engine and the backends see the same tasks in the
// same states. A task that the engine waits for and no backend has would be
// waited for for ever.
func (w *World) agree() {
	seen := map[core.TaskID]core.TaskState{}
	for _, l := range w.links {
		all, err := l.backend.Observe(context.Background())
		if err != nil {
			w.fail("%w", err)
		}
		for _, o := range all {
			seen[o.ID] = o.State
		}
	}
	entries, err := w.memory.Live(context.Background())
	if err != nil {
		w.fail("%w", err)
	}
	for _, e := range entries {
		for _, t := range e.Tasks {
			is, held := seen[t.ID]
			delete(seen, t.ID)
			switch want := t.State; {
			case want.Ended() && !held, want == is, want == core.TaskStopping && held && !is.Ended():
			default:
				w.fail("I4: task %s of %s is %s to the engine and %q on the backend", t.ID, e.Workload.Name, want, is)
			}
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(seen), func(a, b core.TaskID) int { return cmp.Compare(a.String(), b.String()) }) {
		w.fail("I4: task %s is %s on the backend, and nobody claims it", id, seen[id])
	}
}

// why is what the engine says of someone who waits.
func (w *World) why(id core.WorkloadID) []schedule.Reason {
	all, _ := w.pending(w.clock(), []core.WorkloadID{id})
	return all[id].Reasons
}

// pending is what the engine says of those who wait.
func (w *World) pending(now time.Time, ids []core.WorkloadID) (map[core.WorkloadID]explanation.Pending, error) {
	asked := draft.Question[map[core.WorkloadID]explanation.Pending]{Command: explanation.Explain(ids)}
	err := w.engine.Do(context.Background(), now, []draft.Work{&asked})[0]
	return asked.Answer, err
}

// stopEndless stops what would hold its place for ever, or wait for ever: it
// was taken on while not all nodes were known.
func (w *World) stopEndless() {
	entries, err := w.memory.Live(context.Background())
	if err != nil {
		w.fail("%w", err)
	}
	for _, e := range entries {
		if e.Workload.Phase == lifecycle.Queued && slices.ContainsFunc(w.why(e.Workload.ID), func(r schedule.Reason) bool { return r.Token == schedule.NeverFits || r.Token == schedule.Dependency }) {
			w.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: e.Workload.ID}, Actor: "user:sim"}))
		}
		if e.Workload.Phase == lifecycle.Reviewing && slices.ContainsFunc(e.Workload.Checks, func(c core.CheckState) bool { return c.Workload != "" && c.Verdict == core.CheckWaiting }) {
			w.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: e.Workload.ID}, Actor: "user:sim"}))
		}
		if e.Workload.Phase.Held() && e.Workload.Phase != lifecycle.Terminating && w.now.Sub(e.Workload.Attempts[e.Workload.Attempt].StartedAt) > 5*time.Minute {
			w.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: e.Workload.ID}, Actor: "user:sim"}))
		}
	}
}
