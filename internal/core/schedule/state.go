package schedule

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// State is what the scheduler knows, with its indexes, kept between cycles, so
// that a cycle costs what changed and what differs, not how much there is.
// It is not safe for use by several goroutines.
type State struct {
	cfg     Config
	now     int64
	pools   map[string]*pool
	sites   map[core.NodeID]*site
	asks    map[string]*ask
	queues  *tree
	jobs    map[core.WorkloadID]*job
	tenants map[core.NodeID]map[core.WorkloadID]*job // who holds something there, be the node known or not
	lanes   map[laneKey]*lane
	running []int // jobs that hold something, by queue and those below it
	users   map[userKey]held
	below   map[core.WorkloadID]*job // gangs that are below their minimum
	log     []entry
	scopes  []*subset // parts of pools that are being tried
	fill    *filler
}

// pool is the sites of one pool, and what each queue has there.
type pool struct {
	Pool
	sites   []*site // sorted by node ID
	total   quota.Amounts
	free    quota.Amounts // soon, on all sites that are fit
	memory  int64         // of the smallest device
	moving  int           // holds that leave or are promised
	leaving []*hold
	q       []account // by queue index
	whole   *subset
	parts   []*subset // one for each plane, where there are several
	trees   map[string]*domains
	dirty   bool // sites came or went
}

// ask is a need with its rule, the same for all tasks that ask for it.
type ask struct {
	need   Need
	rule   *Rule
	migs   []wish
	ok     map[*site]bool // by labels, taints and kind of node
	id     int
	slices int64 // devices that its partitions count for, thousandths
}

type wish struct {
	name  string
	count int32
}

// hold is a task that has a place, or is promised one.
type hold struct {
	job     *job
	group   int32
	task    int
	ask     *ask
	site    *site
	devs    []int32
	milli   int32
	cpu     int64
	mem     int64
	amount  quota.Amounts
	leaving bool  // told to go, before this cycle or in it
	stuck   bool  // told to go, and does not
	later   bool  // its room is not free yet
	fresh   bool  // placed in this cycle
	counted bool  // it is one of the tasks that its job has to place
	gone    bool  // placed in this cycle, and taken back
	heir    *hold // of one that is gone: its task's other place
	moves   bool  // a victim that gets another place in the same plan
}

// job is a Job with its holds.
type job struct {
	Job
	leaf      int32 // index of its queue; negative: unknown
	pool      *pool // where it holds something
	holds     []*hold
	active    []int32 // per group: holds that are not leaving, and what ended well
	placed    []int32 // per group: of Runs, placed in this cycle
	standing  int32   // holds that are not leaving
	lane      *lane
	asks      [][]*ask // per group and run
	placedNow bool     // in this cycle, having held nothing before
}

// NewState returns a state that knows nothing yet.
func NewState(cfg Config) *State {
	return &State{
		cfg: cfg, pools: map[string]*pool{}, sites: map[core.NodeID]*site{}, asks: map[string]*ask{},
		queues: newTree(nil), jobs: map[core.WorkloadID]*job{}, tenants: map[core.NodeID]map[core.WorkloadID]*job{}, lanes: map[laneKey]*lane{}, below: map[core.WorkloadID]*job{}, users: map[userKey]held{},
	}
}

// Load returns the state of a snapshot.
func Load(s *Snapshot, cfg Config) *State {
	st := NewState(cfg)
	st.SetPools(s.Pools)
	st.SetQueues(s.Queues)
	for i := range s.Nodes {
		st.PutNode(s.Nodes[i])
	}
	for i := range s.Jobs {
		st.PutJob(s.Jobs[i])
	}
	return st
}

// SetPools says how pools are to be used. Those that are not named have the
// defaults.
func (st *State) SetPools(pools []Pool) {
	for _, p := range pools {
		st.poolOf(p.Name).Pool = p
	}
	for _, p := range st.pools {
		p.forget()
	}
}

func (st *State) poolOf(name string) *pool {
	p := st.pools[name]
	if p == nil {
		p = &pool{Pool: Pool{Name: name}, q: make([]account, len(st.queues.list)), trees: map[string]*domains{}}
		p.whole = &subset{pool: p, ranks: map[*ask]*ranking{}}
		st.pools[name] = p
		st.settle(p)
	}
	return p
}

// PutNode makes a node known, or replaces what is known of it.
func (st *State) PutNode(n Node) {
	old := st.sites[n.ID]
	if old != nil && old.node.Pool == n.Pool && sameNode(old.node, &n) {
		return
	}
	if old != nil {
		st.DropNode(n.ID)
	}
	p := st.poolOf(n.Pool)
	s := newSite(&n, p)
	st.sites[n.ID] = s
	i := sort.Search(len(p.sites), func(i int) bool { return p.sites[i].node.ID >= n.ID })
	p.sites = slices.Insert(p.sites, i, s)
	p.dirty = true
	for _, id := range sortedIDs(st.tenants[n.ID]) {
		st.PutJob(st.jobs[id].Job)
	}
}

func sameNode(a, b *Node) bool {
	return a.Ready == b.Ready && a.Cordon == b.Cordon && a.CPU == b.CPU && a.Memory == b.Memory && a.Pods == b.Pods &&
		a.OtherCPU == b.OtherCPU && a.OtherMem == b.OtherMem && slices.Equal(a.OtherMilli, b.OtherMilli) && a.MIGStrategy == b.MIGStrategy &&
		slices.Equal(a.Devices, b.Devices) && equalMaps(a.Labels, b.Labels) && equalMaps(a.MIG, b.MIG) && slices.Equal(a.Taints, b.Taints)
}

func equalMaps[V comparable](a, b map[string]V) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// DropNode forgets a node. To the scheduler nobody holds anything there any
// more, until it is known again.
func (st *State) DropNode(id core.NodeID) {
	s := st.sites[id]
	if s == nil {
		return
	}
	tenants := sortedIDs(st.tenants[id])
	jobs := make([]Job, len(tenants))
	for i, id := range tenants {
		jobs[i] = st.jobs[id].Job
	}
	for _, j := range jobs {
		st.DropJob(j.ID)
	}
	delete(st.sites, id)
	s.pool.sites = slices.DeleteFunc(s.pool.sites, func(x *site) bool { return x == s })
	for _, a := range st.asks {
		delete(a.ok, s)
	}
	s.pool.dirty = true
	for _, j := range jobs {
		st.PutJob(j)
	}
}

func sortedIDs(m map[core.WorkloadID]*job) []core.WorkloadID {
	ids := make([]core.WorkloadID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// forget makes all rankings anew.
func (p *pool) forget() {
	p.whole.forget()
	for _, part := range p.parts {
		part.forget()
	}
}

// reshaped forgets what depends on the set of sites.
func (p *pool) reshaped() {
	p.dirty = false
	p.total, p.memory, p.free = quota.Amounts{}, 0, quota.Amounts{}
	for i, s := range p.sites {
		s.at = int32(i)
		if !s.fit {
			continue
		}
		p.total[quota.GPU] += s.cap
		for m, name := range s.migs {
			p.total[quota.GPU] += slicesOf(name) * int64(s.node.MIG[s.migs[m]])
		}
		p.free = p.free.Add(s.free())
		p.total[quota.CPU] += s.node.CPU
		p.total[quota.Memory] += s.node.Memory
		if s.memory > 0 && (p.memory == 0 || s.memory < p.memory) {
			p.memory = s.memory
		}
	}
	clear(p.trees)
	p.whole.sites = p.sites
	p.whole.forget()
	p.split()
}

// slicesOf is how many thousandths of a device a partition counts for: one
// device for each compute slice in its name (mig-2g.10gb: 2).
func slicesOf(profile string) int64 {
	name := profile[strings.LastIndex(profile, "-")+1:]
	n := int64(0)
	for _, c := range name {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n * 1000
}

// askOf returns the one ask for a need and rule.
func (st *State) askOf(n Need, r *Rule) *ask {
	key := n.key() + r.key()
	if a := st.asks[key]; a != nil {
		return a
	}
	a := &ask{need: n, rule: r, ok: map[*site]bool{}, id: len(st.asks)}
	for part := range strings.SplitSeq(n.MIG, ",") {
		name, count, found := strings.Cut(part, "=")
		if !found {
			continue
		}
		k := int32(0)
		for _, c := range count {
			k = k*10 + c - '0'
		}
		if k > 0 {
			a.migs = append(a.migs, wish{name, k})
			a.slices += slicesOf(name) * int64(k)
		}
	}
	st.asks[key] = a
	return a
}

// amount is what one task of a counts for in a pool's quotas before it has a
// place.
func (p *pool) amount(a *ask) quota.Amounts {
	n := &a.need
	milli := int64(n.Milli)
	if n.Share > 0 && p.memory > 0 {
		milli = max(n.Share*1000/p.memory, 1)
	}
	return quota.Amounts{quota.GPU: int64(n.Devices)*milli + a.slices, quota.CPU: n.CPU, quota.Memory: n.Memory}
}

// PutJob makes a job known, or replaces what is known of it.
func (st *State) PutJob(data Job) {
	st.DropJob(data.ID)
	j := &job{Job: data, leaf: st.queues.find(data.Queue), active: make([]int32, len(data.Shape.Groups)), placed: make([]int32, len(data.Shape.Groups))}
	st.jobs[j.ID] = j
	if j.BelowSince != 0 {
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
	st.enlist(j)
	if j.pool != nil && j.leaf >= 0 && j.Preemptible {
		j.pool.q[j.leaf].addVictim(j)
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
func (st *State) adopt(j *job, held *Held) {
	s := st.sites[held.Place.Node]
	if s == nil {
		return
	}
	h := &hold{job: j, group: int32(held.Group), task: held.Task, ask: st.askOf(held.Need, held.Rule), site: s, cpu: held.Place.CPU, mem: held.Place.Memory}
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
	s.changed()
}

// DropJob forgets a job and frees what it held.
func (st *State) DropJob(id core.WorkloadID) {
	j := st.jobs[id]
	if j == nil {
		return
	}
	delete(st.jobs, id)
	delete(st.below, id)
	for i := range j.Held {
		node := j.Held[i].Place.Node
		delete(st.tenants[node], id)
		if len(st.tenants[node]) == 0 {
			delete(st.tenants, node)
		}
	}
	if j.lane != nil {
		j.lane.remove(j)
		if len(j.lane.jobs) == 0 {
			delete(st.lanes, j.lane.key)
		}
	}
	if j.pool != nil && j.leaf >= 0 && j.Preemptible {
		j.pool.q[j.leaf].dropVictim(j)
	}
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
	was := j.standing
	if j.standing += int32(sign); was == 0 || j.standing == 0 {
		st.tallyJob(j, int(sign))
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
