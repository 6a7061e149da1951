package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/state"
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

// Standings is how every project and department stands in every pool that it
// has a quota in, uses or waits for, at least in one; the value is a []Standing, by project and
// pool. What a department uses is what the projects below it use.
func Standings() Command {
	return func(tx *tx) (any, error) {
		out := tx.standings()
		tx.sync()
		tx.tellPast()
		for i := range out {
			out[i].Fair = fair(tx.e.sched, out[i].Pool, out[i].Project.ID)
		}
		return out, nil
	}
}

// standings are those of the draft, without fair shares.
func (tx *tx) standings() []Standing {
	b := standings{tx: tx, rows: map[standingKey]*Standing{}}
	pools := tx.poolNames()
	for p := range tx.eachProject() {
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
	for id := range tx.workloads() {
		w, tasks, ok := tx.view(id)
		if ok {
			b.count(w, tasks)
		}
	}
	seen := map[core.ProjectID]bool{}
	for k := range b.rows {
		seen[k.project] = true
	}
	for p := range tx.eachProject() {
		if !seen[p.ID] { // nobody is left out
			b.row(p, b.firstPool(p.ID))
		}
	}
	out := make([]Standing, 0, len(b.rows))
	for _, s := range b.rows {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Project.ID, b.Project.ID), cmp.Compare(a.Pool, b.Pool))
	})
	return out
}

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

type standings struct {
	tx   *tx
	rows map[standingKey]*Standing
}

func (b *standings) row(p core.Project, pool string) *Standing {
	k := standingKey{p.ID, pool}
	s := b.rows[k]
	if s == nil {
		s = &Standing{Project: p, Pool: pool, Quota: p.QuotaIn(pool), Used: map[core.Resource]float64{}, Fixed: map[core.Resource]float64{}, Reserved: map[core.Resource]float64{}}
		b.rows[k] = s
	}
	return s
}

// firstPool is where workloads of a project go first.
func (b *standings) firstPool(id core.ProjectID) string {
	if order := b.tx.tree().Pools(id); len(order) > 0 {
		return order[0]
	}
	return core.DefaultPool
}

// count adds a workload to its project and to everything above it.
func (b *standings) count(w *core.Workload, tasks map[int]*core.Task) {
	waits := w.Phase == lifecycle.Queued || w.Phase == lifecycle.Reserved
	if !waits && !w.Phase.Held() {
		return
	}
	path := b.tx.tree().Path(w.Project)
	if m := earmark(w); m != nil {
		for _, p := range path {
			s := b.row(p, m.Pool)
			for _, r := range core.Resources() {
				s.Reserved[r] += m.Of(r)
			}
		}
		return
	}
	if waits {
		for _, p := range path {
			s := b.row(p, b.firstPool(w.Project))
			s.Queued++
			s.QueuedGPUs += w.Spec.TotalGPUs()
		}
		return
	}
	for pool, used := range b.tx.held(w, tasks) {
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

// held is what the tasks of w hold, by pool, in the units of quotas.
func (tx *tx) held(w *core.Workload, tasks map[int]*core.Task) map[string]map[core.Resource]float64 {
	out := map[string]map[core.Resource]float64{}
	for _, t := range sortedTasks(tasks) {
		if !holds(w, t) {
			continue
		}
		pool := tx.e.nodes[t.Node].Pool
		if pool == "" {
			pool = core.DefaultPool // of a node that no backend has reported since the start
		}
		used := out[pool]
		if used == nil {
			used = map[core.Resource]float64{}
			out[pool] = used
		}
		cpu, memory := taken(w, t)
		used[core.CPU] += float64(cpu) / 1000
		used[core.Memory] += float64(memory)
		used[core.GPU] += float64(milliOf(w, t)) / 1000
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
func (tx *tx) poolStates() []PoolState {
	there := org.CapacityOf(maps.Values(tx.e.nodes))
	made := tx.pools()
	states := map[string]*PoolState{}
	for _, name := range tx.poolNames() {
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
	for _, n := range tx.e.nodes {
		s := states[n.Pool]
		s.Nodes++
		if n.Cordon || n.Drain {
			for _, d := range n.Devices {
				s.Shut += float64(core.Bit(d.Healthy))
			}
		}
	}
	for id := range tx.e.held {
		w, tasks, ok := tx.view(id)
		if !ok {
			continue
		}
		idle := !w.IdleSince.IsZero() && tx.now.Sub(w.IdleSince) >= IdleLong
		for pool, used := range tx.held(w, tasks) {
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
	for _, name := range SortedKeys(states) {
		out = append(out, *states[name])
	}
	return out
}
