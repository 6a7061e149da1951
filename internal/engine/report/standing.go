package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Standing is how a project or department stands in one pool.
type Standing struct {
	Project core.Project
	Pool    string
	Quota   core.PoolQuota
	Used    map[core.Resource]float64 // in the units of quotas
	Fixed   map[core.Resource]float64 // of Used, what is not preemptible
	// Reserved is what counts beside Used though nothing of it is held: that of
	// workloads whose checks come after their reservation, or who move.
	Reserved map[core.Resource]float64
	Fair     map[core.Resource]float64 // its fair share at present
	// Queued is how many workloads wait that would go to this pool first, and
	// how many GPUs they ask for.
	Queued     int
	QueuedGPUs int
}

// Standings is how every project and department stands in every pool that it has a
// quota in, uses or waits for, at least in one, by project and pool. What a
// department uses is what the projects below it use.
func Standings() draft.Command[[]Standing] {
	return func(tx *draft.Tx) ([]Standing, error) {
		out := standings(tx)
		planner.Sync(tx)
		planner.PassUsage(tx)
		for i := range out {
			out[i].Fair = fair(tx.State.Sched, out[i].Pool, out[i].Project.ID)
		}
		return out, nil
	}
}

// standings are those of the draft, without fair shares.
func standings(tx *draft.Tx) []Standing {
	b := standingRows{tx: tx, rows: map[standingKey]*Standing{}, queues: map[core.ProjectID][]*Standing{}}
	pools := tx.PoolNames()
	for p := range tx.EachProject() {
		for pool := range p.Pools {
			switch {
			case pool != core.AnyPool:
				b.row(p, pool)
			default:
				for _, name := range pools {
					b.row(p, name)
				}
			}
		}
	}
	// In no order: exact makes sums of it that do not depend on one. Who waits is counted
	// already, for to look at very many takes the writer a tenth of a second.
	for _, some := range []map[core.WorkloadID]struct{}{tx.State.Held, tx.State.Waiting.Reserved} {
		for id := range some {
			if w, tasks, ok := tx.View(id); ok {
				b.count(w, tasks)
			}
		}
	}
	for id, n := range tx.State.Waiting.Projects {
		for _, s := range b.queue(id) {
			s.Queued += n.Workloads
			s.QueuedGPUs += n.GPUs
		}
	}
	seen := map[core.ProjectID]bool{}
	for k := range b.rows {
		seen[k.project] = true
	}
	for p := range tx.EachProject() {
		if !seen[p.ID] { // nobody is left out
			b.row(p, b.firstPool(p.ID))
		}
	}
	out := make([]Standing, 0, len(b.rows))
	for _, s := range b.rows {
		exact(s.Used)
		exact(s.Fixed)
		exact(s.Reserved)
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Project.ID, b.Project.ID), cmp.Compare(a.Pool, b.Pool))
	})
	return out
}

// exact takes off what adding up parts of cores and devices has put in: both are
// counted in thousandths, and the sum must not depend on the order.
func exact(sums map[core.Resource]float64) {
	for _, r := range []core.Resource{core.CPU, core.GPU} {
		if n, ok := sums[r]; ok {
			sums[r] = thousandths(n)
		}
	}
}

func thousandths(n float64) float64 { return math.Round(n*1000) / 1000 }

// fair is the fair share of a queue, in the units of quotas.
func fair(st *state.State, pool string, id core.ProjectID) map[core.Resource]float64 {
	share, ok := st.FairShare(pool, id)
	if !ok {
		return nil
	}
	return map[core.Resource]float64{
		core.GPU: float64(share[quota.GPU]) / 1000, core.CPU: float64(share[quota.CPU]) / 1000, core.Memory: float64(share[quota.Memory]),
	}
}

type standingKey struct {
	project core.ProjectID
	pool    string
}

type standingRows struct {
	tx   *draft.Tx
	rows map[standingKey]*Standing
	// queues are the rows of those that wait in a project: its own, and of all above it.
	queues map[core.ProjectID][]*Standing
}

func (b *standingRows) row(p core.Project, pool string) *Standing {
	k := standingKey{p.ID, pool}
	s := b.rows[k]
	if s == nil {
		s = &Standing{Project: p, Pool: pool, Quota: p.QuotaIn(pool), Used: map[core.Resource]float64{}, Fixed: map[core.Resource]float64{}, Reserved: map[core.Resource]float64{}}
		b.rows[k] = s
	}
	return s
}

// firstPool is where workloads of a project go first.
func (b *standingRows) firstPool(id core.ProjectID) string {
	if order := b.tx.Tree().Pools(id); len(order) > 0 {
		return order[0]
	}
	return core.DefaultPool
}

// count adds what a workload holds, or what is set aside for it, to its project and to
// everything above it.
func (b *standingRows) count(w *core.Workload, tasks *workload.Tasks) {
	if m := workload.EarmarkOf(w); m != nil {
		for _, p := range b.tx.Tree().Path(w.Project) {
			s := b.row(p, m.Pool)
			for _, r := range core.Resources() {
				s.Reserved[r] += m.Of(r)
			}
		}
		return
	}
	if w.Phase.InQueue() { // nothing is set aside yet
		gpus := w.Spec.TotalGPUs()
		for _, s := range b.queue(w.Project) {
			s.Queued++
			s.QueuedGPUs += gpus
		}
		return
	}
	path := b.tx.Tree().Path(w.Project)
	for pool, used := range HeldBy(b.tx, w, tasks) {
		for _, p := range path {
			s := b.row(p, pool)
			for r, n := range used {
				s.Used[r] += n
				if !*w.Spec.Preemptible {
					s.Fixed[r] += n
				}
			}
		}
	}
}

// queue is where those count that wait in a project.
func (b *standingRows) queue(id core.ProjectID) []*Standing {
	rows, known := b.queues[id]
	if !known {
		for _, p := range b.tx.Tree().Path(id) {
			rows = append(rows, b.row(p, b.firstPool(id)))
		}
		b.queues[id] = rows
	}
	return rows
}

// HeldBy is what the tasks of w hold, by pool, in the units of quotas.
func HeldBy(tx *draft.Tx, w *core.Workload, tasks *workload.Tasks) map[string]map[core.Resource]float64 {
	out := map[string]map[core.Resource]float64{}
	for _, t := range workload.SortedTasks(tasks) {
		if !workload.Holds(w, t) {
			continue
		}
		pool := tx.State.Nodes[t.Node].Pool
		if pool == "" {
			pool = core.DefaultPool // of a node that no backend has reported since the start
		}
		used := out[pool]
		if used == nil {
			used = map[core.Resource]float64{}
			out[pool] = used
		}
		cpu, memory := workload.Taken(w, t)
		used[core.CPU] += float64(cpu) / 1000
		used[core.Memory] += float64(memory)
		used[core.GPU] += float64(workload.MilliOf(w, t)) / 1000
	}
	return out
}

// PoolState is a pool with what is held of it.
type PoolState struct {
	core.Pool
	Nodes int
	Total map[core.Resource]float64 // of all its nodes, in the units of quotas
	Used  map[core.Resource]float64
	// Idle is how many GPUs belong to workloads all of whose GPUs have done
	// nothing for IdleLong; Shut how many are on nodes that take nothing new.
	Idle, Shut float64
}

// IdleLong is after how long GPUs that do nothing are counted as idle.
const IdleLong = 30 * time.Minute

// poolStates are the pools with what is held of them, by name: those that were
// made, and those that backends name.
func poolStates(tx *draft.Tx) []PoolState {
	there := org.CapacityOf(maps.Values(tx.State.Nodes))
	made := tx.Pools()
	states := map[string]*PoolState{}
	for _, name := range tx.PoolNames() {
		p, ok := made[name]
		if !ok {
			p = core.Pool{Name: name}
		}
		s := &PoolState{Pool: p, Total: there[name], Used: map[core.Resource]float64{}}
		if s.Total == nil {
			s.Total = map[core.Resource]float64{}
		}
		states[name] = s
	}
	for _, n := range tx.State.Nodes {
		s := states[n.Pool]
		s.Nodes++
		if n.Cordon || n.Drain {
			for _, d := range n.Devices {
				s.Shut += float64(core.Bit(d.Healthy))
			}
		}
	}
	for id := range tx.State.Held {
		w, tasks, ok := tx.View(id)
		if !ok {
			continue
		}
		idle := !w.IdleSince.IsZero() && tx.Now.Sub(w.IdleSince) >= IdleLong
		for pool, used := range HeldBy(tx, w, tasks) {
			s := states[pool]
			if s == nil {
				continue
			}
			for r, n := range used {
				s.Used[r] += n
			}
			if idle {
				s.Idle += used[core.GPU]
			}
		}
	}
	out := make([]PoolState, 0, len(states))
	for _, name := range slices.Sorted(maps.Keys(states)) {
		s := states[name]
		exact(s.Used)
		s.Idle = thousandths(s.Idle)
		out = append(out, *s)
	}
	return out
}
