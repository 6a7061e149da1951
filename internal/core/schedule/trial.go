package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// Trial is what would become of a job if it were looked at alone.
type Trial struct {
	Now     bool // it would start at once
	Later   bool // it would start once those whom it displaces have left
	Pool    string
	Tasks   []Placed
	Victims []Eviction
	// Reasons are why neither; empty: it would start.
	Reasons []Reason
}

// Try answers whether j would start now, where, and whom it would displace, all
// others staying as they are. The state is afterwards as it was.
func (st *State) Try(now int64, data Job) Trial {
	st.now = now
	old, known := st.jobs[data.ID]
	var was Job
	if known {
		was = old.Job
	}
	version := st.version
	st.PutJob(data)
	defer func() {
		st.DropJob(data.ID)
		if known {
			st.PutJob(was)
		}
		st.version = version // all is as it was
	}()
	st.prepare()
	j := st.jobs[data.ID]
	for _, a := range []Action{Allocate, Consolidate, Reclaim, Preempt} {
		for _, p := range st.poolsOf(j) {
			c := newCycle(st)
			out := hopeless
			if r := st.gate(j); r == nil {
				out = c.look(a, p, j)
			}
			if out == hopeless {
				continue
			}
			plan := c.plan()
			st.finish(c)
			t := Trial{Pool: p.Name, Victims: plan.Evictions, Now: len(plan.Placements) > 0}
			for _, pl := range slices.Concat(plan.Placements, plan.Promises) {
				if pl.ID == j.ID {
					t.Tasks = pl.Tasks
				}
			}
			t.Now = len(plan.Promises) == 0
			t.Later = !t.Now
			return t
		}
	}
	return Trial{Reasons: st.why(j)}
}

// poolsOf are the pools that j may use, in the order in which it tries them.
func (st *State) poolsOf(j *job) []*pool {
	names := j.Pools
	if len(names) == 0 {
		names = st.poolNames()
	}
	var out []*pool
	for _, n := range names {
		if p, home := st.pools[n], j.home(); p != nil && (home == nil || home == p) {
			out = append(out, p)
		}
	}
	return out
}

// gate is what keeps j from being looked at whatever is free, or nil.
func (st *State) gate(j *job) *Reason {
	if j.leaf < 0 {
		return &Reason{Token: QueueNotFound, Note: string(j.Queue)}
	}
	if q := st.queues.list[j.leaf].stopped; q != "" {
		return &Reason{Token: QueueStopped, Queue: q, Note: string(q)}
	}
	if r := st.awaits(j); r != nil {
		return r
	}
	return st.full(j)
}

// full is the first limit on what runs at once, or license, that keeps j from
// starting, or nil.
func (st *State) full(j *job) *Reason {
	if r := st.crowded(j); r != nil {
		return r
	}
	if all := st.unlicensed(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// gates are all that keep j from being looked at whatever is free.
func (st *State) gates(j *job) []Reason {
	var all []Reason
	if q := st.queues.list[j.leaf].stopped; q != "" {
		all = append(all, Reason{Token: QueueStopped, Queue: q, Note: string(q)})
	}
	if r := st.awaits(j); r != nil {
		all = append(all, *r)
	}
	return append(append(all, st.crowds(j)...), st.unlicensed(j)...)
}

// crowded is the first limit on running jobs that j would exceed by starting, or
// nil.
func (st *State) crowded(j *job) *Reason {
	if all := st.crowds(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// crowds are the limits on running jobs that j would exceed by starting.
func (st *State) crowds(j *job) []Reason {
	if j.standing > 0 || j.marked() {
		return nil
	}
	var all []Reason
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		if m := st.queues.list[q].MaxJobs; m > 0 && st.running[q] >= m {
			all = append(all, Reason{Token: OverLimit, Resource: runningWorkloads, Queue: st.queues.list[q].ID, Allocated: int64(st.running[q]), Limit: int64(m), Requested: 1})
		}
	}
	leaf := &st.queues.list[j.leaf]
	if u, m := st.users[userKey{j.leaf, j.User}], leaf.UserJobs; m > 0 && u.jobs >= m {
		all = append(all, Reason{Token: OverLimit, Resource: runningWorkloads, Queue: leaf.ID, User: j.User, Allocated: int64(u.jobs), Limit: int64(m), Requested: 1})
	}
	return all
}

// overUser is the limit on its user's GPUs that j would exceed with so much
// more, or nil.
func (st *State) overUser(j *job, more quota.Amounts) *Reason {
	leaf := &st.queues.list[j.leaf]
	if m, need := leaf.UserGPU, more[quota.GPU]; m > 0 && need > 0 {
		if u := st.users[userKey{j.leaf, j.User}]; u.gpu+need > m {
			return &Reason{Token: OverLimit, Resource: "gpu", Queue: leaf.ID, User: j.User, Allocated: u.gpu, Limit: m, Requested: need}
		}
	}
	return nil
}

// userKey is one user in one queue.
type userKey struct {
	leaf int32
	user string
}

// held is what a user has at present.
type held struct {
	jobs int
	gpu  int64
}

// tallyJob counts j among those who run when its first hold comes (sign 1), or
// its last goes (-1).
func (st *State) tallyJob(j *job, sign int) {
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		st.running[q] += sign
	}
	if j.leaf >= 0 && st.queues.list[j.leaf].perUser() {
		k := userKey{j.leaf, j.User}
		u := st.users[k]
		u.jobs += sign
		st.users[k] = u
	}
}

func (q *queue) perUser() bool { return q.UserJobs > 0 || q.UserGPU > 0 }

// EverFits reports whether job would fit if nothing ran and every node were
// fit; otherwise the reason says what is too much.
func EverFits(nodes []Node, data Job) (Reason, bool) {
	return Bare(nodes).Fits(data)
}

// Bare is the state of a cluster on which nothing runs, every node counted that
// could come back. It tells what can ever fit.
func Bare(nodes []Node) *State {
	st := NewState(Config{NoQuota: true})
	for _, n := range nodes {
		st.PutBare(n)
	}
	return st
}

// PutBare makes a node known as it would be with nothing on it.
func (st *State) PutBare(n Node) {
	n.OtherCPU, n.OtherMem, n.OtherMilli = 0, 0, nil
	n.Ready, n.Cordon, n.CutOff = true, false, false
	n.Devices = slices.Clone(n.Devices)
	for d := range n.Devices {
		n.Devices[d].Healthy = true
	}
	st.PutNode(n)
}

// Fits reports whether data's minimum has room on what is free, whatever the
// queues say.
func (st *State) Fits(data Job) (Reason, bool) {
	st.prepare()
	data.Queue = ""
	j := st.stranger(data)
	_, tries := st.next(j)
	for _, p := range st.poolsOf(j) {
		mark := len(st.log)
		ok := st.placeIn(p, j, tries)
		st.undo(mark)
		if ok {
			return Reason{}, true
		}
	}
	return st.never(j, tries), false
}
