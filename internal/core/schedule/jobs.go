package schedule

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// PutJob makes a job known, or replaces what is known of it.
func (st *State) PutJob(data Job) {
	st.changes()
	st.DropJob(data.ID)
	if len(data.Held) > 0 {
		data.Earmark = Earmark{} // what it holds counts
	}
	n := len(data.Shape.Groups)
	counts := make([]int32, 2*n)
	j := &job{Job: data, leaf: st.queues.find(data.Queue), active: counts[:n:n], placed: counts[n:]}
	st.jobs[j.ID] = j
	if j.Booked.At != 0 && len(j.Held) == 0 {
		st.told[j.ID] = j
	}
	if len(data.Held) > 0 {
		st.charge(j, 1)
	}
	if len(st.win.list) > 0 || j.Window != "" {
		p, until := st.passOf(&j.Job)
		j.pass, st.win.until = p, min(st.win.until, until)
	}
	if j.BelowSince != 0 && !j.Aside {
		st.below[j.ID] = j
	}
	copy(j.active, narrow(data.Done))
	for i := range data.Held {
		node := data.Held[i].Place.Node
		if st.tenants[node] == nil {
			st.tenants[node] = map[core.WorkloadID]*job{}
		}
		st.tenants[node][j.ID] = j
		st.adopt(j, &data.Held[i])
	}
	st.remember(j)
	st.enlist(j)
	if j.pool != nil && j.leaf >= 0 && j.yields() {
		j.pool.q[j.leaf].addVictim(j)
	}
}

// yields reports whether others may be given j's room.
func (j *job) yields() bool { return j.Preemptible && !j.Aside }

func narrow(in []int) []int32 {
	out := make([]int32, len(in))
	for i, v := range in {
		out[i] = int32(v)
	}
	return out
}

// adopt takes the room of a task that runs already.
func (st *State) adopt(j *job, held *Held) {
	s := st.sites[held.Place.Node]
	if s == nil {
		return
	}
	h := &hold{job: j, group: int32(held.Group), task: held.Task, ask: st.askOf(held.Need, held.Rule, j.pass), site: s, cpu: held.Place.CPU, mem: held.Place.Memory}
	for _, sh := range held.Place.Devices {
		for d := range s.node.Devices {
			if s.node.Devices[d].ID == sh.Device {
				h.devs = append(h.devs, int32(d))
				h.milli = int32(sh.Milli)
			}
		}
	}
	h.amount = quota.Amounts{quota.GPU: int64(len(h.devs))*int64(h.milli) + h.ask.slices, quota.CPU: h.cpu, quota.Memory: h.mem}
	j.pool = s.pool
	j.holds = append(j.holds, h)
	st.seats++
	s.now.move(h, -1)
	if held.Leaving {
		h.leaving, h.stuck = true, held.Stuck
		if h.stuck {
			s.move(h, -1)
		}
		s.pool.leaving = append(s.pool.leaving, h)
		s.pool.moving++
	} else {
		s.move(h, -1)
		st.count(h, 1)
	}
	s.tag(h, 1)
	s.debt = nil
	s.holds = append(s.holds, h)
	s.pool.note(s)
	s.pool.outdate(s)
	s.pool.unfair = true
	s.changed()
}

// DropJob forgets a job and frees what it held.
func (st *State) DropJob(id core.WorkloadID) {
	j := st.jobs[id]
	if j == nil {
		return
	}
	st.changes()
	delete(st.jobs, id)
	delete(st.below, id)
	if len(j.Held) > 0 {
		st.charge(j, -1)
	}
	delete(st.told, id)
	st.forgetMark(j)
	for i := range j.Held {
		node := j.Held[i].Place.Node
		delete(st.tenants[node], id)
		if len(st.tenants[node]) == 0 {
			delete(st.tenants, node)
		}
	}
	if j.lane != nil {
		j.lane.remove(j)
		st.want(j.lane, -1)
		if len(j.lane.jobs) == 0 {
			st.forgetLane(j.lane, j.leaf)
		}
	}
	if j.pool != nil && j.leaf >= 0 && j.yields() {
		j.pool.q[j.leaf].dropVictim(j)
	}
	st.seats -= len(j.holds)
	for _, h := range j.holds {
		h.site.now.move(h, 1)
		if h.leaving {
			if h.stuck {
				h.site.move(h, 1)
			}
			h.site.pool.moving--
			h.site.pool.leaving = slices.DeleteFunc(h.site.pool.leaving, func(x *hold) bool { return x == h })
		} else {
			h.site.move(h, 1)
			st.count(h, -1)
		}
		h.site.tag(h, -1)
		h.site.debt = nil
		h.site.leave(h)
		h.site.pool.note(h.site)
		h.site.pool.outdate(h.site)
		h.site.pool.unfair = true
		h.site.changed()
	}
}

// count adds a hold to what its job and queues have, or takes it off.
func (st *State) count(h *hold, sign int64) {
	j := h.job
	j.active[h.group] += int32(sign)
	if j.leaf < 0 {
		return
	}
	if j.marked() { // from here on what it holds counts
		st.mark(j, -1)
	}
	was := j.standing
	if j.standing += int32(sign); was == 0 || j.standing == 0 {
		st.tallyJob(j, int(sign))
	}
	if j.marked() {
		st.mark(j, 1)
	}
	if st.queues.list[j.leaf].perUser() {
		k := userKey{j.leaf, j.User}
		u := st.users[k]
		u.gpu += sign * h.amount[quota.GPU]
		st.users[k] = u
	}
	acc := h.site.pool.q
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		acc[q].alloc = plus(acc[q].alloc, h.amount, sign)
		if !j.Preemptible {
			acc[q].fixed = plus(acc[q].fixed, h.amount, sign)
		}
	}
}

func (s *site) tag(h *hold, sign int) {
	if h.ask.need.Never {
		s.legacy += sign
	}
	if h.ask.rule == nil || h.ask.rule.Tags == "" {
		return
	}
	if s.tags == nil {
		s.tags = map[string]int{}
	}
	s.tags[h.ask.rule.Tags] += sign
}

// changed tells the rankings of the site's pool that it is not as it was.
func (s *site) changed() {
	s.turn++
	s.pool.whole.changed(s)
	if s.part != nil {
		s.part.changed(s)
	}
}

// older orders jobs of equal rank.
func older(a, b *job) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID)) }
