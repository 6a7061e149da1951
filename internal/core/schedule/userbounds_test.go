package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestNobodyStartsBeyondABoundOfUsers gives the users of random worlds bounds over all
// queues at random: no plan may have anybody hold or run more, and looking changes
// nothing.
func TestNobodyStartsBeyondABoundOfUsers(t *testing.T) {
	t.Parallel()
	search(t, 600, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.Snap.Jobs)), uint64(len(w.Snap.Queues))))
		w.Snap.Users = []schedule.UserBound{{GPU: int64(r.IntN(6)) * 1000}, {User: "ann", GPU: -1, Jobs: 1 + r.IntN(3)}}
		for i := range w.Snap.Jobs {
			w.Snap.Jobs[i].User = []string{"ann", "bob"}[r.IntN(2)]
		}
		st := state.Load(&w.Snap, w.Cfg)
		had := func() string {
			text := said(st)
			return text[strings.LastIndex(text, " users "):strings.LastIndex(text, " below ")]
		}
		before := had()
		plan := cycle.Run(st, clock)
		if after := had(); after != before {
			return "looking has changed what users have: " + before + " was, and" + after + " is"
		}
		g := &judge{w: w, plan: plan, before: newBook(&w.Snap), jobs: map[core.WorkloadID]*schedule.Job{}}
		for i := range w.Snap.Jobs {
			g.jobs[w.Snap.Jobs[i].ID] = &w.Snap.Jobs[i]
		}
		have := func(then bool) (map[string]int, map[string]int64) {
			jobs, gpu := map[string]int{}, map[string]int64{}
			for _, j := range g.jobs {
				tasks := g.tasksOf(j, then, true)
				for _, h := range tasks {
					gpu[j.User] += amountOf(&h.Need, &h.Place)[quota.GPU]
				}
				if len(tasks) > 0 {
					jobs[j.User]++
				}
			}
			return jobs, gpu
		}
		wasJobs, wasGPU := have(false)
		jobs, gpu := have(true)
		if most := w.Snap.Users[0].GPU; gpu["bob"] > max(most, wasGPU["bob"]) {
			return fmt.Sprintf("bob holds %d thousandths of at most %d", gpu["bob"], most)
		}
		if most := w.Snap.Users[1].Jobs; jobs["ann"] > max(most, wasJobs["ann"]) {
			return fmt.Sprintf("ann has %d running of at most %d", jobs["ann"], most)
		}
		return ""
	})
}

func TestABoundOfUsersHoldsOverAllQueues(t *testing.T) {
	t.Parallel()
	job := func(id string, order int64, queue core.ProjectID, user string) schedule.Job {
		j := waiter(id, order, single(gpu(1)))
		j.Queue, j.User = queue, user
		return j
	}
	load := func(bounds ...schedule.UserBound) *state.State {
		return state.Load(&schedule.Snapshot{
			Now: clock, Nodes: []schedule.Node{node("n", 8, 64000, 64<<30, "H100")}, Users: bounds,
			Queues: []schedule.Queue{{ID: "a", Default: schedule.Unlimited()}, {ID: "b", Default: schedule.Unlimited()}},
			Jobs:   []schedule.Job{job("ann-a", 1, "a", "ann"), job("ann-b", 2, "b", "ann"), job("bob-a", 3, "a", "bob"), job("bob-b", 4, "b", "bob")},
		}, Default())
	}
	for _, c := range []struct {
		what   string
		bounds []schedule.UserBound
		starts int
		waits  core.WorkloadID
		says   string
	}{
		{"nothing", nil, 4, "", ""},
		{"GPUs of each", []schedule.UserBound{{GPU: 1000}}, 2, "ann-b", "over the limit of ann in all projects together: it holds 1 GPU of at most 1 GPU, and this asks for 1 GPU"},
		{"of ann, and none of others", []schedule.UserBound{{User: "ann", GPU: -1, Jobs: 1}}, 3, "ann-b", "over the limit of ann in all projects together: it holds 1 running workload of at most 1 running workload, and this asks for 1 running workload"},
		{"of each, but not of ann", []schedule.UserBound{{GPU: -1, Jobs: 1}, {User: "ann", GPU: -1}}, 3, "bob-b", "over the limit of bob in all projects together"},
		{"none at all", []schedule.UserBound{{User: "ann", GPU: 0}}, 2, "ann-a", "no wait helps"},
	} {
		st := load(c.bounds...)
		plan := cycle.Run(st, clock)
		if len(plan.Placements) != c.starts {
			t.Errorf("with %s %d start: %+v", c.what, len(plan.Placements), plan.Placements)
		}
		if c.waits == "" {
			continue
		}
		for _, p := range plan.Placements {
			j := st.Jobs[p.ID].Job
			for i, x := range p.Tasks {
				j.Held = append(j.Held, schedule.Held{Task: i, Need: j.Shape.Groups[0].Runs[0].Need, Place: x.Place})
			}
			j.Shape = schedule.NewShape([]schedule.Set{{Parent: -1}}, []schedule.Group{{Name: "tasks", Min: 1}})
			st.PutJob(j)
		}
		ex, ok := explain.Explain(st, clock, c.waits)
		said := ""
		for _, r := range ex.Reasons {
			said += r.String() + "; " + r.Hint() + "\n"
		}
		if !ok || !strings.Contains(said, c.says) {
			t.Errorf("with %s %s waits as %q", c.what, c.waits, said)
		}
	}
	// Bounds that come and go count what was there before.
	st := load()
	st.SetUsers([]schedule.UserBound{{GPU: 1000}})
	if n := len(cycle.Run(st, clock).Placements); n != 2 {
		t.Errorf("with a bound that came later %d start", n)
	}
	st.SetUsers(nil)
	if n := len(cycle.Run(st, clock).Placements); n != 4 {
		t.Errorf("with the bound taken away %d start", n)
	}
}
