package schedule_test

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

func (g *judge) topology(j *schedule.Job, tasks []schedule.Held) {
	check := func(t *schedule.Topology, in func(int) bool, what string) {
		if t == nil || t.Required == "" {
			return
		}
		domains := map[string]bool{}
		fresh := false
		for _, h := range tasks {
			if in(h.Group) {
				d, _ := domainOf(g.before.nodes[h.Place.Node].node, t.Levels, t.Required)
				domains[d] = true
				fresh = fresh || h.Task < 0
			}
		}
		if fresh && (len(domains) > 1 || domains[""]) && g.wasTogether(j, t, in) {
			g.fault("%s of %s is not in one %s", what, j.ID, t.Required)
		}
	}
	for i := range j.Shape.Groups {
		check(j.Shape.Groups[i].Topology, func(o int) bool { return o == i }, "a group")
	}
	for s := range j.Shape.Sets {
		check(j.Shape.Sets[s].Topology, func(o int) bool { return within(j.Shape, o, s) }, "a set")
	}
}

// wasTogether reports whether what the job held was in one domain.
func (g *judge) wasTogether(j *schedule.Job, t *schedule.Topology, in func(int) bool) bool {
	domains := map[string]bool{}
	for _, h := range j.Held {
		if in(h.Group) && !h.Leaving {
			d, _ := domainOf(g.before.nodes[h.Place.Node].node, t.Levels, t.Required)
			domains[d] = true
		}
	}
	return len(domains) <= 1 && !domains[""]
}

// charged is what each queue, and those above it, have in each pool.
func (g *judge) charged(plan bool) (all, fixed map[string]quota.Amounts) {
	all, fixed = map[string]quota.Amounts{}, map[string]quota.Amounts{}
	for _, j := range g.jobs {
		for _, h := range g.tasksOf(j, plan, true) {
			n := g.before.nodes[h.Place.Node].node
			a := amountOf(&h.Need, &h.Place)
			for q := j.Queue; q != ""; q = g.before.queue[q].Parent {
				key := n.Pool + "/" + string(q)
				all[key] = all[key].Add(a)
				if !j.Preemptible {
					fixed[key] = fixed[key].Add(a)
				}
			}
		}
	}
	return all, fixed
}

// accounts checks limits and, for what is never displaced, quotas.
func (g *judge) accounts() {
	wasAll, wasFixed := g.charged(false)
	all, fixed := g.charged(true)
	for _, pool := range []string{"default", "west"} {
		for id, q := range g.before.queue {
			own, ok := q.Shares[pool]
			if !ok {
				own = q.Default
			}
			key := pool + "/" + string(id)
			for r := range quota.Resources {
				if l := own.Limit[r]; l >= 0 && all[key][r] > max(l, wasAll[key][r]) {
					g.fault("%s has %d %s, above its limit %d", key, all[key][r], r, l)
				}
				if l := own.Quota[r]; l >= 0 && fixed[key][r] > max(l, wasFixed[key][r]) {
					g.fault("%s has %d %s of what is never displaced, above its quota %d", key, fixed[key][r], r, l)
				}
			}
		}
	}
}

// counts checks the limits on running jobs and on users.
func (g *judge) counts() {
	type user struct {
		q core.ProjectID
		u string
	}
	count := func(plan bool) (map[core.ProjectID]int, map[user]int, map[user]int64) {
		jobs, users, gpu := map[core.ProjectID]int{}, map[user]int{}, map[user]int64{}
		for _, j := range g.jobs {
			tasks := g.tasksOf(j, plan, true)
			for _, h := range tasks {
				gpu[user{j.Queue, j.User}] += amountOf(&h.Need, &h.Place)[quota.GPU]
			}
			if len(tasks) == 0 {
				continue
			}
			users[user{j.Queue, j.User}]++
			for q := j.Queue; q != ""; q = g.before.queue[q].Parent {
				jobs[q]++
			}
		}
		return jobs, users, gpu
	}
	wasJobs, wasUsers, wasGPU := count(false)
	jobs, users, gpu := count(true)
	for id, q := range g.before.queue {
		if q.MaxJobs > 0 && jobs[id] > max(q.MaxJobs, wasJobs[id]) {
			g.fault("%s has %d running jobs of at most %d", id, jobs[id], q.MaxJobs)
		}
		for _, name := range []string{"ann", "bob"} {
			u := user{id, name}
			if q.UserJobs > 0 && users[u] > max(q.UserJobs, wasUsers[u]) {
				g.fault("%s has %d running jobs in %s of at most %d", name, users[u], id, q.UserJobs)
			}
			if q.UserGPU > 0 && gpu[u] > max(q.UserGPU, wasGPU[u]) {
				g.fault("%s has %d thousandths of GPUs in %s of at most %d", name, gpu[u], id, q.UserGPU)
			}
		}
	}
}
