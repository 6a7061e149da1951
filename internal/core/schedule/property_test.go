package schedule_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
)

// frames are the lines of the stack that are of this package.
func frames() string {
	var out []string
	for line := range strings.SplitSeq(string(debug.Stack()), "\n") {
		if strings.Contains(line, "/schedule/") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

func TestPlansAreSound(t *testing.T) {
	t.Parallel()
	search(t, 4000, func(w *world) string {
		return strings.Join(judged(w, cycle.Cycle(&w.Snap, w.Cfg)), "; ")
	})
}

// TestNothingIsLeftThatFits compares plain allocation with a search through
// every way to place each job that waits.
func TestNothingIsLeftThatFits(t *testing.T) {
	t.Parallel()
	search(t, 3000, func(w *world) string {
		cfg := w.Cfg
		cfg.Actions = []schedule.Action{schedule.Allocate}
		plan := cycle.Cycle(&w.Snap, cfg)
		after := newBook(&w.Snap)
		g := &judge{w: w, plan: plan, before: after, jobs: map[core.WorkloadID]*schedule.Job{}}
		for i := range w.Snap.Jobs {
			g.jobs[w.Snap.Jobs[i].ID] = &w.Snap.Jobs[i]
		}
		for _, j := range g.jobs {
			for _, h := range g.tasksOf(j, true, true) {
				after.take(j, &h)
			}
			for i := range j.Held {
				if h := &j.Held[i]; h.Leaving && h.Stuck {
					after.take(j, h)
				}
			}
		}
		for id, j := range g.jobs {
			tasks := g.tasksOf(j, true, true)
			if len(tasks) > len(g.tasksOf(j, false, true)) || g.wholeTree(j, tasks, 0) || g.stopped(j.Queue) || !g.startable(j) {
				continue
			}
			f := &finder{book: after, job: j, held: tasks, budget: 100_000, permit: func(pool string, groups []int) bool { return g.mayHave(j, pool, groups) }}
			pools := j.Pools
			if len(j.Held) > 0 {
				pools = []string{after.nodes[j.Held[0].Place.Node].node.Pool}
			}
			if found := f.whole(pools); found != nil {
				return fmt.Sprintf("%s was left waiting, and fits: %+v", id, found)
			}
		}
		return ""
	})
}

// startable reports whether no limit on running jobs keeps j from starting.
func (g *judge) startable(j *schedule.Job) bool {
	if len(g.tasksOf(j, false, true)) > 0 {
		return true
	}
	for q := j.Queue; q != ""; q = g.before.queue[q].Parent {
		n, users := 0, 0
		for _, other := range g.jobs {
			if len(g.tasksOf(other, true, true)) == 0 {
				continue
			}
			for o := other.Queue; o != ""; o = g.before.queue[o].Parent {
				if o == q {
					n++
				}
			}
			if other.Queue == q && other.User == j.User {
				users++
			}
		}
		if m := g.before.queue[q].MaxJobs; m > 0 && n >= m {
			return false
		}
		if m := g.before.queue[q].UserJobs; m > 0 && users >= m && q == j.Queue {
			return false
		}
	}
	return true
}

// mayHave reports whether quotas and limits allow j one task more of each of
// the groups. Of a share of memory it does not know where it will be, so it
// counts it as the core does, at what it is of the smallest device.
func (g *judge) mayHave(j *schedule.Job, pool string, groups []int) bool {
	smallest := int64(0)
	for _, x := range g.before.nodes {
		if n := x.node; n.Pool == pool && n.Ready && !n.Cordon && len(n.Devices) > 0 && (smallest == 0 || n.Devices[0].Memory < smallest) {
			smallest = n.Devices[0].Memory
		}
	}
	var more quota.Amounts
	taken := map[int]int{}
	for _, i := range groups {
		nth := taken[i]
		taken[i]++
		for _, r := range j.Shape.Groups[i].Runs {
			if nth >= r.Count {
				nth -= r.Count
				continue
			}
			p := schedule.Place{CPU: r.Need.CPU, Memory: r.Need.Memory}
			for range r.Need.Devices {
				milli := r.Need.Milli
				if r.Need.GPUMemory > 0 && smallest > 0 {
					milli = int(max(r.Need.GPUMemory*1000/smallest, 1))
				}
				p.Devices = append(p.Devices, core.Share{Milli: milli})
			}
			more = more.Add(amountOf(&r.Need, &p))
			break
		}
	}
	all, fixed := g.charged(true)
	for q := j.Queue; q != ""; q = g.before.queue[q].Parent {
		own, ok := g.before.queue[q].Shares[pool]
		if !ok {
			own = g.before.queue[q].Default
		}
		key := pool + "/" + string(q)
		for r, n := range more {
			if n > 0 && (own.Limit[r] >= 0 && all[key][r]+n > own.Limit[r] || !j.Preemptible && own.Quota[r] >= 0 && fixed[key][r]+n > own.Quota[r]) {
				return false
			}
		}
	}
	if m := g.before.queue[j.Queue].UserGPU; m > 0 && more[quota.GPU] > 0 {
		have := int64(0)
		for _, other := range g.jobs {
			if other.Queue == j.Queue && other.User == j.User {
				for _, h := range g.tasksOf(other, true, true) {
					have += amountOf(&h.Need, &h.Place)[quota.GPU]
				}
			}
		}
		return have+more[quota.GPU] <= m
	}
	return true
}
