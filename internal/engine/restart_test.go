package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// hall is an engine in virtual time on two backends with a node each.
type hall struct {
	*office
	now     time.Time
	ids     map[string]core.WorkloadID
	backend map[string][]core.Node
}

func newHall(t *testing.T, gpus int, how ...schedule.Option) *hall {
	h := &hall{office: &office{t: t, st: memstore.New(), policy: schedule.NewPolicy(how...)}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ids: map[string]core.WorkloadID{}}
	h.backend = map[string][]core.Node{}
	for _, p := range []string{"p", "q"} {
		n := core.Node{ID: core.NodeID("n" + p), Backend: p, Ready: true, CPU: 4000, Memory: 8 << 30}
		for d := range gpus {
			n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("%s%d", n.ID, d), Index: d, Healthy: true})
		}
		h.backend[p] = []core.Node{n}
	}
	h.restart("p", "q")
	return h
}

// restart starts the server; of the backends these answer, one after another.
func (h *hall) restart(backends ...string) {
	h.t.Helper()
	h.begin()
	h.do() // a timer, before anyone has answered
	for _, p := range backends {
		h.do(engine.Inventory(p, h.backend[p]))
	}
}

func (h *hall) do(work ...draft.Work) {
	h.t.Helper()
	for _, err := range h.e.Do(context.Background(), h.now, work) {
		if err != nil {
			h.t.Fatal(err)
		}
	}
	if h.policy.K > 0 {
		return // a rebuild does not know what it was that the scheduler was told
	}
	if err := h.e.Check(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hall) run(name, more string) {
	h.t.Helper()
	doc := fmt.Sprintf(`{"name":%q,"command":["fake"],"gracePeriod":"30s",%s}`, name, more)
	h.ids[name] = ask(h, h.submit(doc)).Workload.ID
}

func (h *hall) project(name string, quota float64) {
	h.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: name, Project: func(p *core.Project) error {
		p.Pools = map[string]core.PoolQuota{core.AnyPool: {GPU: core.ResourceQuota{Quota: &quota}, CPU: core.ResourceQuota{Quota: &quota}, Memory: core.ResourceQuota{Quota: &quota}}}
		return nil
	}}}, false))
}

// report is what a backend says of all tasks of a workload that hold something.
func (h *hall) report(name string, state core.TaskState, indexes ...int) {
	h.t.Helper()
	for _, t := range h.tasks(name) {
		if t.State.Held() && (len(indexes) == 0 || slices.Contains(indexes, t.ID.Index)) {
			code := 0
			if state != core.TaskSucceeded {
				code = 1
			}
			h.do(engine.Observe(engine.Observations{Backend: t.Backend, Seen: []backend.Observation{{ID: t.ID, State: state, At: h.now, ExitCode: &code}}}))
		}
	}
}

func (h *hall) workload(name string) *core.Workload {
	h.t.Helper()
	w, err := h.st.Workload(context.Background(), h.ids[name])
	if err != nil {
		h.t.Fatal(err)
	}
	return w
}

func (h *hall) tasks(name string) []core.Task {
	h.t.Helper()
	tasks, err := h.st.Tasks(context.Background(), h.ids[name], h.workload(name).Attempt)
	if err != nil {
		h.t.Fatal(err)
	}
	return tasks
}

// phases must be those of these workloads.
func (h *hall) phases(when string, want map[string]lifecycle.Phase) {
	h.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if w := h.workload(name); w.Phase != want[name] {
			h.t.Errorf("%s: %s is %s %s (%s); want %s", when, name, w.Phase, w.Target, w.Message, want[name])
		}
	}
}

// Whoever was told to leave did so for one workload. A restart before the room
// is free must not give it to another that comes first otherwise.
func TestPromisesSurviveARestart(t *testing.T) {
	for _, c := range []struct {
		name    string
		restart func(h *hall)
		gets    string
	}{
		{"no restart", func(*hall) {}, "claims"},
		{"a restart", func(h *hall) { h.restart("p", "q") }, "claims"},
		{"the backend with the room answers late", func(h *hall) {
			h.restart("q")
			h.do(engine.Inventory("p", h.backend["p"]))
		}, "claims"},
		{"the backend without it answers late", func(h *hall) {
			h.restart("p")
			h.do(engine.Inventory("q", h.backend["q"]))
		}, "claims"},
		{"two restarts", func(h *hall) { h.restart(); h.restart("q", "p") }, "claims"},
		// Only the promise makes the difference.
		{"it is forgotten", func(h *hall) {
			ctx := context.Background()
			term, err := h.st.Acquire(ctx, "vandal")
			if err != nil {
				h.t.Fatal(err)
			}
			if _, err := h.st.Commit(ctx, term, &store.Batch{Promises: []core.Promise{}}); err != nil {
				h.t.Fatal(err)
			}
			h.restart("p", "q")
		}, "waits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHall(t, 1)
			h.project("mine", 2)
			h.project("theirs", 4)
			h.run("leaves", `"project":"mine","priority":"low","resources":{"gpu":1}`)
			h.run("stays", `"project":"mine","preemptible":false,"resources":{"gpu":1}`)
			h.report("leaves", core.TaskRunning)
			h.report("stays", core.TaskRunning)
			h.run("claims", `"project":"mine","resources":{"gpu":1}`)
			h.phases("after the claim", map[string]lifecycle.Phase{"leaves": lifecycle.Terminating, "claims": lifecycle.Queued})
			if all, err := h.st.Promises(context.Background()); err != nil || !slices.Equal(all, []core.Promise{{Workload: h.ids["claims"], Tasks: 1}}) {
				t.Fatalf("promised is %v, %v", all, err)
			}
			h.now = h.now.Add(time.Second)
			h.run("waits", `"project":"theirs","resources":{"gpu":1}`) // nothing of its project runs, and it is within its quota
			c.restart(h)
			h.phases("before the room is free", map[string]lifecycle.Phase{"leaves": lifecycle.Terminating, "claims": lifecycle.Queued, "waits": lifecycle.Queued})
			h.now = h.now.Add(time.Second)
			h.report("leaves", core.TaskFailed)
			want := map[string]lifecycle.Phase{"claims": lifecycle.Queued, "waits": lifecycle.Queued}
			want[c.gets] = lifecycle.Starting
			h.phases("after "+c.name, want)
			if all, err := h.st.Promises(context.Background()); err != nil || slices.ContainsFunc(all, func(p core.Promise) bool { return p.Workload == h.ids[c.gets] }) {
				t.Errorf("redeemed, and still promised: %v, %v", all, err)
			}
		})
	}
}

// A commit that fails takes promises back with the evictions.
func TestPromisesFailWithTheirCommit(t *testing.T) {
	h := newHall(t, 1)
	h.run("a", `"priority":"low","resources":{"gpu":1}`)
	h.run("b", `"priority":"low","resources":{"gpu":1}`)
	full := &memstore.Full{Store: h.st, Room: make(chan struct{})}
	close(full.Room)
	h.st = full
	h.restart("p", "q")
	full.Room = make(chan struct{})
	err := h.e.Do(context.Background(), h.now, []draft.Work{h.submit(`{"name":"c","command":["fake"],"resources":{"gpu":1}}`)})[0]
	if err == nil {
		t.Fatal("a full disk took it")
	}
	close(full.Room)
	h.do()
	h.phases("after a failed commit", map[string]lifecycle.Phase{"a": lifecycle.Starting, "b": lifecycle.Starting})
	if all, err := h.st.Promises(context.Background()); err != nil || len(all) > 0 {
		t.Errorf("promised is %v, %v", all, err)
	}
}

// What projects have had is known to a server that has just begun as it is to
// one that has seen it: the same is due to everybody, and the same one is next.
func TestPastUseSurvivesARestart(t *testing.T) {
	for name, needs := range map[string]string{"devices": `"resources":{"gpu":1}`, "cores": `"resources":{"cpu":3}`} {
		t.Run(name, func(t *testing.T) {
			fair := map[string][]report.Standing{}
			for _, c := range []struct {
				name    string
				weight  float64
				restart func(h *hall)
				next    string
			}{
				{"no weight", 0, func(h *hall) { h.restart("p", "q") }, "greedy2"},
				{"no restart", 1, func(*hall) {}, "late"},
				{"a restart", 1, func(h *hall) { h.restart("p", "q") }, "late"},
				{"a backend that answers late", 1, func(h *hall) {
					h.restart("q")
					h.now = h.now.Add(30 * time.Second)
					h.do(engine.Inventory("p", h.backend["p"]))
				}, "late"},
			} {
				h := newHall(t, 1, schedule.PastWeight(c.weight))
				for _, p := range []string{"greedy", "late", "others"} {
					h.project(p, 0)
				}
				lasts := `"preemptible":false,`
				h.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "sure", Project: nothing}}, false))
				h.run("blocks", lasts+`"project":"sure",`+needs)
				h.run("greedy1", `"project":"greedy",`+needs)
				h.now = h.now.Add(20 * time.Hour)
				h.report("greedy1", core.TaskSucceeded)
				h.run("other", lasts+`"project":"sure",`+needs)
				h.now = h.now.Add(time.Hour)
				h.run("greedy2", `"project":"greedy",`+needs)
				h.run("late", `"project":"late",`+needs)
				h.now = h.now.Add(30 * time.Minute)
				c.restart(h)
				h.now = h.now.Add(30 * time.Minute).Truncate(time.Hour)
				fair[c.name] = ask(h, report.Standings())
				h.report("other", core.TaskSucceeded)
				want := map[string]lifecycle.Phase{"greedy2": lifecycle.Queued, "late": lifecycle.Queued}
				want[c.next] = lifecycle.Starting
				h.phases(c.name, want)
			}
			for _, other := range []string{"a restart", "a backend that answers late"} {
				for i, s := range fair["no restart"] {
					for r, want := range s.Fair {
						if got := fair[other][i].Fair[r]; math.Abs(got-want) > 1e-6*max(want, 1) {
							t.Errorf("after %s %s is due %v of %s, without %v", other, s.Project.ID, got, r, want)
						}
					}
				}
			}
		})
	}
}
