package engine

import (
	"maps"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
)

// queues are the projects and departments as the draft has them.
func (tx *tx) queues() []schedule.Queue {
	var out []schedule.Queue
	for p := range tx.eachProject() {
		q := schedule.Queue{
			ID: p.ID, Parent: p.Parent, Priority: p.Priority, Age: p.CreatedAt.UnixNano(), Stopped: p.StopMode != core.StopNone,
			Shares: map[string]schedule.Quota{}, Default: quotaOf(p.Pools[core.AnyPool]),
			PreemptMin: runtimeOf(p.PreemptMinRuntime), ReclaimMin: runtimeOf(p.ReclaimMinRuntime),
			MaxJobs: p.MaxRunning, UserJobs: p.UserLimit.MaxRunning,
		}
		if p.CreatedAt.IsZero() {
			q.Age = 0
		}
		if g := p.UserLimit.GPU; g != nil {
			q.UserGPU = max(int64(*g*1000), 1)
		}
		for pool := range p.Pools {
			if pool != core.AnyPool {
				q.Shares[pool] = quotaOf(p.Pools[pool])
			}
		}
		out = append(out, q)
	}
	return out
}

// runtimeOf is a protected time in ms; -1: as of the queue above.
func runtimeOf(d *time.Duration) int64 {
	if d == nil {
		return -1
	}
	return d.Milliseconds()
}

func quotaOf(q core.PoolQuota) schedule.Quota {
	out := schedule.Unlimited()
	for r, own := range map[quota.Resource]struct {
		core.ResourceQuota
		unit float64
	}{quota.GPU: {q.GPU, 1000}, quota.CPU: {q.CPU, 1000}, quota.Memory: {q.Memory, 1}} {
		if own.Quota != nil {
			out.Quota[r] = int64(*own.Quota * own.unit)
		}
		out.Keep[r] = int64(own.Keeps() * own.unit)
		if own.Limit != nil {
			out.Limit[r] = int64(*own.Limit * own.unit)
		}
		out.Weight[r] = int64(own.WeightOf() * 1000)
	}
	return out
}

// poolsFor are the pools as the scheduler uses them.
func (tx *tx) poolsFor() []schedule.Pool {
	var out []schedule.Pool
	how := tx.e.policy()
	for _, p := range tx.pools() {
		out = append(out, how.Pool(p.Name, strategy(p.Placement.GPU), strategy(p.Placement.CPU), p.MinRuntime))
	}
	return out
}

func strategy(s core.Strategy) schedule.Strategy {
	switch s {
	case core.PlaceBinPack:
		return schedule.BinPack
	case core.PlaceSpread:
		return schedule.Spread
	default:
		return schedule.Fill
	}
}

// sync tells the scheduler of queues, pools and nodes that are not as they were.
func (tx *tx) sync() {
	e := tx.e
	if e.regroup || len(tx.org.projects)+len(tx.org.pools)+len(tx.org.licenses) > 0 {
		e.regroup = false
		e.sched.SetPools(tx.poolsFor())
		e.sched.SetQueues(tx.queues())
		e.sched.SetLicenses(tx.licensesFor())
		for id := range tx.workloads() { // what their projects say of them may be new
			w, tasks, _ := tx.view(id)
			if j, ok := e.job(w, tasks); ok {
				e.sched.PutJob(j)
				e.expect(&j)
			}
		}
	}
	if !e.stale && len(e.renewed) == 0 {
		tx.syncWindows()
		return
	}
	defer tx.syncWindows()
	put := SortedKeys(e.renewed)
	if e.stale {
		put = SortedKeys(e.nodes)
	}
	for _, id := range put {
		n, ok := e.nodes[id]
		if !ok {
			e.sched.DropNode(id)
			e.bare.DropNode(id)
			continue
		}
		e.sched.PutNode(siteOf(n))
		explain.PutBare(e.bare, bareSite(n))
	}
	clear(e.renewed)
	if e.stale {
		e.stale = false
		for _, id := range cycle.Nodes(e.sched) {
			if _, ok := e.nodes[id]; !ok {
				e.sched.DropNode(id)
				e.bare.DropNode(id)
			}
		}
	}
	e.sched.SetWork(e.work)
	for _, id := range SortedKeys(e.held) { // who was astray may be so no more
		if w, tasks, ok := tx.view(id); ok && w.Spec.Elastic() {
			if j, ok := e.job(w, tasks); ok {
				e.sched.PutJob(j)
			}
		}
	}
}

// siteOf is a node as the scheduler sees it.
func siteOf(n core.Node) schedule.Node {
	site := bareSite(n)
	site.OtherCPU, site.OtherMem, site.OtherMilli = n.Others.CPU, n.Others.Memory, n.Others.Milli
	if n.Tasks > 0 && n.Others.Tasks > 0 {
		if site.Pods = n.Tasks - n.Others.Tasks; site.Pods <= 0 {
			site.Pods = -1 // 0 would be no bound
		}
	}
	for _, others := range []map[string]int{n.Others.MIG, n.Others.Extra} {
		for name, held := range others {
			if site.OtherMIG == nil {
				site.OtherMIG = map[string]int{}
			}
			site.OtherMIG[name] = min(held, site.MIG[name])
			site.MIG[name] -= site.OtherMIG[name]
		}
	}
	return site
}

// bareSite is the node with nothing on it.
func bareSite(n core.Node) schedule.Node {
	site := schedule.Node{Node: n, Pods: n.Tasks}
	if len(n.MIG)+len(n.Extra)+len(n.Others.MIG)+len(n.Others.Extra) > 0 { // to the scheduler all of it is counted by name
		site.MIG = make(map[string]int, len(n.MIG)+len(n.Extra))
		maps.Copy(site.MIG, n.MIG)
		maps.Copy(site.MIG, n.Extra)
	}
	return site
}

// learn lets the scheduler know what work is usual here, anew whenever there
// has been half as much again.
func (tx *tx) learn() {
	e := tx.e
	if e.seq.Workload < e.learnt+max(learnEvery, min(e.learnt/2, learnAtMost)) && e.learnt > 0 {
		return
	}
	e.learnt = e.seq.Workload
	e.work = e.sched.Work()
	e.sched.SetWork(e.work)
}

// learnEvery is after how many submissions it is looked at anew what work is
// usual; learnAtMost is the most that may pass.
const learnEvery, learnAtMost = 32, 512

// ends tells the scheduler when what runs will end, for those who ask.
func (tx *tx) ends() {
	for _, id := range SortedKeys(tx.e.held) {
		w, _, ok := tx.view(id)
		if !ok {
			continue
		}
		if end, ok := tx.firstEnd(w); ok {
			explain.SetEnd(tx.e.sched, id, end.At.UnixMilli())
		}
	}
}
