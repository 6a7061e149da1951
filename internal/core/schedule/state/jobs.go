package state

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// PutJob makes a job known, or replaces what is known of it.
func (st *State) PutJob(data schedule.Job) {
	st.Changes()
	st.DropJob(data.ID)
	if len(data.Held) > 0 {
		data.Earmark = schedule.Earmark{} // what it holds counts
	}
	n := len(data.Shape.Groups)
	counts := make([]int32, 2*n)
	j := &ledger.Job{Job: data, Leaf: st.Queues.Find(data.Queue), Active: counts[:n:n], Placed: counts[n:]}
	st.Jobs[j.ID] = j
	if j.Booked.At != 0 && len(j.Held) == 0 {
		st.Announced[j.ID] = j
	}
	if len(data.Held) > 0 {
		st.Lic.charge(j, 1)
		st.unsaved += core.Bit(j.Unsaved)
	}
	if len(st.Win.List) > 0 || j.Window != "" {
		p, until := st.Win.passOf(st.Queues, &j.Job, st.Now)
		j.Pass, st.Win.until = p, min(st.Win.until, until)
	}
	if j.BelowSince != 0 && !j.Aside {
		st.Below[j.ID] = j
	}
	copy(j.Active, narrow(data.Done))
	for i := range data.Held {
		node := data.Held[i].Place.Node
		if st.Tenants[node] == nil {
			st.Tenants[node] = map[core.WorkloadID]*ledger.Job{}
		}
		st.Tenants[node][j.ID] = j
		st.adopt(j, &data.Held[i])
	}
	st.remember(j)
	st.enlist(j)
	if j.Pool != nil && j.Leaf >= 0 && j.Yields() {
		j.Pool.Q[j.Leaf].AddVictim(j)
	}
}

func narrow(in []int) []int32 {
	out := make([]int32, len(in))
	for i, v := range in {
		out[i] = int32(v)
	}
	return out
}

// adopt takes the room of a task that runs already.
func (st *State) adopt(j *ledger.Job, held *schedule.Held) {
	s := st.Sites[held.Place.Node]
	if s == nil {
		return
	}
	h := &ledger.Hold{Job: j, Group: int32(held.Group), Task: held.Task, Ask: st.AskOf(held.Need, held.Rule, j.Pass), Site: s, Cpu: held.Place.CPU, Mem: held.Place.Memory}
	for _, sh := range held.Place.Devices {
		for d := range s.Node.Devices {
			if s.Node.Devices[d].ID == sh.Device {
				h.Devs = append(h.Devs, int32(d))
				h.Milli = int32(sh.Milli)
			}
		}
	}
	h.Amount = quota.Amounts{quota.GPU: int64(len(h.Devs))*int64(h.Milli) + h.Ask.Slices, quota.CPU: h.Cpu, quota.Memory: h.Mem}
	j.Pool = s.Pool
	j.Holds = append(j.Holds, h)
	st.seats++
	s.Now.Move(h, -1)
	if held.Leaving {
		h.Leaving, h.Stuck = true, held.Stuck
		if h.Stuck {
			s.Move(h, -1)
		}
		s.Pool.Leaving = append(s.Pool.Leaving, h)
		s.Pool.Moving++
	} else {
		s.Move(h, -1)
		st.count(h, 1)
	}
	s.Tag(h, 1)
	s.Debt = nil
	s.Holds = append(s.Holds, h)
	s.Pool.Note(s, j.Leaf)
	s.Pool.Outdate(s)
	s.Pool.Unfair = true
	s.Changed()
}

// DropJob forgets a job and frees what it held.
func (st *State) DropJob(id core.WorkloadID) {
	j := st.Jobs[id]
	if j == nil {
		return
	}
	st.Changes()
	delete(st.Jobs, id)
	delete(st.Below, id)
	if len(j.Held) > 0 {
		st.Lic.charge(j, -1)
		st.unsaved -= core.Bit(j.Unsaved)
	}
	delete(st.Announced, id)
	st.forgetMark(j)
	for i := range j.Held {
		node := j.Held[i].Place.Node
		delete(st.Tenants[node], id)
		if len(st.Tenants[node]) == 0 {
			delete(st.Tenants, node)
		}
	}
	if j.JobClass != nil {
		j.JobClass.Remove(j)
		st.expected -= core.Bit(j.Expected > 0)
		st.want(j.JobClass, -1)
		if len(j.JobClass.Jobs) == 0 {
			st.forgetJobClass(j.JobClass, j.Leaf)
		}
	}
	if j.Pool != nil && j.Leaf >= 0 && j.Yields() {
		j.Pool.Q[j.Leaf].DropVictim(j)
	}
	st.seats -= len(j.Holds)
	for _, h := range j.Holds {
		h.Site.Now.Move(h, 1)
		if h.Leaving {
			if h.Stuck {
				h.Site.Move(h, 1)
			}
			h.Site.Pool.Moving--
			h.Site.Pool.Leaving = slices.DeleteFunc(h.Site.Pool.Leaving, func(x *ledger.Hold) bool { return x == h })
		} else {
			h.Site.Move(h, 1)
			st.count(h, -1)
		}
		h.Site.Tag(h, -1)
		h.Site.Debt = nil
		h.Site.Leave(h)
		h.Site.Pool.Note(h.Site, j.Leaf)
		h.Site.Pool.Outdate(h.Site)
		h.Site.Pool.Unfair = true
		h.Site.Changed()
	}
}

// count adds a hold to what its job and queues have, or takes it off.
func (st *State) count(h *ledger.Hold, sign int64) {
	j := h.Job
	j.Active[h.Group] += int32(sign)
	if j.Leaf < 0 {
		return
	}
	if j.Marked() { // from here on what it holds counts
		st.mark(j, -1)
	}
	was := j.Standing
	if j.Standing += int32(sign); was == 0 || j.Standing == 0 {
		st.TallyJob(j, int(sign))
	}
	if j.Marked() {
		st.mark(j, 1)
	}
	st.Allot(h.Site.Pool, j, h.Amount, sign)
}
