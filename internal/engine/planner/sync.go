package planner

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Queues are the projects and departments as the draft has them.
func Queues(tx *draft.Tx) []schedule.Queue {
	var out []schedule.Queue
	for p := range tx.EachProject() {
		q := schedule.Queue{
			ID: p.ID, Parent: p.Parent, Priority: p.Priority, Age: p.CreatedAt.UnixNano(), Stopped: p.StopMode != core.StopNone,
			Shares: map[string]schedule.Quota{}, Default: quotaOf(p.Pools[core.AnyPool]),
			PreemptMin: runtimeOf(p.PreemptMinRuntime), ReclaimMin: runtimeOf(p.ReclaimMinRuntime),
			BorrowMax: limitOf(p.BorrowingTimeLimit), MaxJobs: p.MaxRunning, UserJobs: p.UserLimit.MaxRunning,
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

// limitOf is a limit in ms; 0: none.
func limitOf(d *time.Duration) int64 {
	if d == nil {
		return 0
	}
	return max(d.Milliseconds(), 1)
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
func poolsFor(tx *draft.Tx) []schedule.Pool {
	var out []schedule.Pool
	how := tx.State.Policy()
	for _, p := range tx.Pools() {
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

// Sync tells the scheduler of queues, pools and nodes that are not as they were.
func Sync(tx *draft.Tx) {
	e := tx.State
	if e.Regroup || len(tx.Org.Projects)+len(tx.Org.Pools)+len(tx.Org.Licenses)+len(tx.Org.UserBounds) > 0 {
		e.Regroup = false
		e.Sched.SetPools(poolsFor(tx))
		e.Sched.SetUsers(draft.BoundsFor(tx))
		e.Sched.SetQueues(Queues(tx))
		e.Sched.SetLicenses(tx.LicensesFor())
		for id := range tx.Workloads() { // what their projects say of them may be new
			w, tasks, _ := tx.View(id)
			if j, ok := e.Job(w, tasks); ok {
				e.Sched.PutJob(j)
				e.Expect(&j)
			}
		}
	}
	if !e.Stale && len(e.Renewed) == 0 {
		syncWindows(tx)
		return
	}
	defer syncWindows(tx)
	put := slices.Sorted(maps.Keys(e.Renewed))
	if e.Stale {
		put = slices.Sorted(maps.Keys(e.Nodes))
	}
	for _, id := range put {
		n, ok := e.Nodes[id]
		if !ok {
			e.Sched.DropNode(id)
			e.Bare.DropNode(id)
			continue
		}
		e.Sched.PutNode(siteOf(n))
		explain.PutBare(e.Bare, BareSite(n))
	}
	clear(e.Renewed)
	if e.Stale {
		e.Stale = false
		for _, id := range cycle.Nodes(e.Sched) {
			if _, ok := e.Nodes[id]; !ok {
				e.Sched.DropNode(id)
				e.Bare.DropNode(id)
			}
		}
	}
	e.Sched.SetWork(e.Work)
	for _, id := range slices.Sorted(maps.Keys(e.Held)) { // a node that was unknown may be known by now
		if w, tasks, ok := tx.View(id); ok && w.Spec.Elastic() {
			if j, ok := e.Job(w, tasks); ok {
				e.Sched.PutJob(j)
			}
		}
	}
}

// siteOf is a node as the scheduler sees it.
func siteOf(n core.Node) schedule.Node {
	site := BareSite(n)
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

// BareSite is the node with nothing on it.
func BareSite(n core.Node) schedule.Node {
	site := schedule.Node{Node: n, Pods: n.Tasks}
	if len(n.MIG)+len(n.Extra)+len(n.Others.MIG)+len(n.Others.Extra) > 0 { // to the scheduler all of it is counted by name
		site.MIG = make(map[string]int, len(n.MIG)+len(n.Extra))
		maps.Copy(site.MIG, n.MIG)
		maps.Copy(site.MIG, n.Extra)
	}
	return site
}

// Learn lets the scheduler know what work is usual here, anew whenever there
// has been half as much again.
func Learn(tx *draft.Tx) {
	e := tx.State
	if e.Seq.Workload < e.Learnt+max(learnEvery, min(e.Learnt/2, learnAtMost)) && e.Learnt > 0 {
		return
	}
	e.Learnt = e.Seq.Workload
	e.Work = e.Sched.Work()
	e.Sched.SetWork(e.Work)
}

// learnEvery is after how many submissions it is looked at anew what work is
// usual; learnAtMost is the most that may pass.
const learnEvery, learnAtMost = 32, 512

// Ends tells the scheduler when what runs will end, for those who ask.
func Ends(tx *draft.Tx) {
	for _, id := range slices.Sorted(maps.Keys(tx.State.Held)) {
		w, _, ok := tx.View(id)
		if !ok {
			continue
		}
		if end, ok := tx.FirstEnd(w); ok {
			explain.SetEnd(tx.State.Sched, id, end.At.UnixMilli())
		}
	}
}
