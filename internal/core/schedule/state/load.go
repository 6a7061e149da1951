package state

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/queues"
)

// SetLicenses replaces what is counted for the whole site.
func (st *State) SetLicenses(all []schedule.License) {
	st.Changes()
	st.Lic = Licenses{}
	for _, l := range all {
		st.Lic[l.Name] = &license{Total: l.Total}
	}
	for _, j := range st.Jobs {
		if j.Licensed() {
			st.Lic.charge(j, 1)
		}
	}
}

// SetUsers replaces what users may have in all queues together.
func (st *State) SetUsers(all []schedule.UserBound) {
	now := make(map[string]schedule.UserBound, len(all))
	for _, b := range all {
		now[b.User] = b
	}
	if maps.Equal(now, st.Bounds) {
		return
	}
	st.Bounds = now
	same := make([]schedule.Queue, len(st.Queues.List))
	for i := range same {
		same[i] = st.Queues.List[i].Queue
	}
	st.SetQueues(same) // what users have is counted anew
}

// SetQueues replaces the queue tree.
func (st *State) SetQueues(all []schedule.Queue) {
	st.Changes()
	bounds := st.Bounds
	st.Queues = queues.New(all, &st.Cfg)
	st.Bounds = bounds
	for _, p := range st.Pools {
		p.Q = make([]ledger.Account, len(st.Queues.List))
		st.SetEntitlements(p)
	}
	jobs := st.Jobs
	st.Jobs = make(map[core.WorkloadID]*ledger.Job, len(jobs))
	walks := st.Walks
	st.Waiting = newWaiting()
	st.Walks = walks
	for _, id := range ledger.SortedIDs(jobs) {
		j := jobs[id]
		j.Leaf = st.Queues.Find(j.Queue)
		st.Jobs[id] = j
		clear(j.Active)
		j.Standing = 0
		copy(j.Active, narrow(j.Done))
		for _, h := range j.Holds {
			if !h.Leaving {
				st.count(h, 1)
			}
		}
		if j.Marked() {
			st.mark(j, 1)
		}
		st.enlist(j)
		if j.Pool != nil && j.Leaf >= 0 && j.Yields() {
			j.Pool.Q[j.Leaf].AddVictim(j)
		}
	}
}

// Configure has the next cycles go by another configuration. What the one before
// found is no answer for it.
func (st *State) Configure(cfg schedule.Config) {
	st.Cfg = cfg
	st.Changes()
}

// Load returns the state of a snapshot.
func Load(s *schedule.Snapshot, cfg schedule.Config) *State {
	st := NewState(cfg)
	st.Load(s)
	return st
}

// Load tells the state all that is in a snapshot.
func (st *State) Load(s *schedule.Snapshot) {
	st.SetPools(s.Pools)
	st.SetUsers(s.Users)
	st.SetQueues(s.Queues)
	st.Now = s.Now
	st.SetWindows(s.Windows)
	st.SetLicenses(s.Licenses)
	for i := range s.Nodes {
		st.PutNode(s.Nodes[i])
	}
	for i := range s.Jobs {
		st.PutJob(s.Jobs[i])
	}
}

// SetPools says how pools are to be used. Those that are not named have the
// defaults.
func (st *State) SetPools(pools []schedule.Pool) {
	st.Changes()
	for name, p := range st.Pools {
		p.Pool = schedule.Pool{Name: name}
		p.Shape++
	}
	for _, p := range pools {
		st.poolOf(p.Name).Pool = p
	}
	for _, p := range st.Pools {
		p.Forget()
	}
}

// SetWindows says which windows there are.
func (st *State) SetWindows(all []schedule.Window) {
	if len(all) > maxWindows {
		all = all[:maxWindows]
	}
	if slices.EqualFunc(st.Win.List, all, sameWindow) {
		return
	}
	st.Changes()
	ids := make([]core.WorkloadID, 0, len(st.Jobs))
	for id := range st.Jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	jobs := make([]schedule.Job, len(ids))
	for i, id := range ids {
		jobs[i] = st.Jobs[id].Job
		st.DropJob(id)
	}
	st.Asks.All = map[string]*ledger.Ask{} // passes are by the places of windows
	st.Win = Windows{List: slices.Clone(all), until: st.Now}
	for _, s := range st.Sites {
		s.Windows = st.Win.on(s.Node.ID)
	}
	for _, p := range st.Pools {
		p.Forget()
	}
	for i := range jobs {
		st.PutJob(jobs[i])
	}
}
