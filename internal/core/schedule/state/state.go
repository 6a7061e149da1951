// Package state is what the scheduler knows of nodes, queues and jobs, with its
// indexes. It is given nodes and jobs as they change, and says at once what is
// free where, who is to be served next and what the quotas allow. Steps of a
// trial go through its journal, which takes them back. Its fields are for the
// packages of the scheduler only.
package state

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// State is what the scheduler knows, with its indexes, kept between cycles, so
// that a cycle costs what changed and what differs, not how much there is.
// It is not safe for use by several goroutines.
type State struct {
	Cfg        schedule.Config
	Now        int64
	Pools      map[string]*Pool
	Sites      map[core.NodeID]*Site
	Asks       map[string]*Ask
	Queues     *tree
	Jobs       map[core.WorkloadID]*Job
	Tenants    map[core.NodeID]map[core.WorkloadID]*Job // who holds something there, be the node known or not
	JobClasses map[jobClassKey]*JobClass
	Running    []int // jobs that hold something, by queue and those below it
	Users      map[userKey]Held
	Lic        licenses
	names      []string                 // of pools, as poolNames says; nil: not known
	Below      map[core.WorkloadID]*Job // gangs that are below their minimum
	Log        []Entry
	Scopes     []*Subset // parts of pools that are being tried
	Firm       bool      // segments are where they should be, not only where they must
	Fill       *filler
	Empty      *State                   // the same nodes with nothing on them; nil: not known
	Version    uint64                   // grows whenever something is put or dropped
	ops        uint64                   // grows with every step of the journal, and every one taken back
	Told       map[core.WorkloadID]*Job // who was told a time to start
	Marks      map[core.WorkloadID]*Job // who has an earmark
	Ends       []*Job                   // as inOrderOfEnd says; nil: not known
	Quiet      Quiet
	ClassList  []*Class
	classOf    map[classKey]*Class
	tour       []Visit     // of all classes; nil: not known
	Walks      uint64      // that there were
	slots      []slot      // of the line that is walked, by queue
	lines      uint64      // that there were
	Due        int64       // nobody who waits is due before
	counted    []string    // pools, when demand was counted
	recount    bool        // all demand is to be counted again
	fresh      []*JobClass // whose demand is not counted yet
	Passed     []*Account  // with victims who are gone in this cycle
	Sight      uint64      // counts the times that sites were looked at, each once
	Cycles     uint64      // that there were
	// forgetful makes every search look for itself: so tests find out whether what
	// is remembered is true.
	Forgetful bool
	lastAsk   int // counts all asks there ever were
	asked     int // how many asks there were after the last sweep
	divider   quota.Divider
	rows      []quota.Queue   // for divider
	quotas    []quota.Amounts // of divider
	buf       schedule.Key    // of asks that are looked up
	Win       windows
	seats     int  // holds of all jobs, but for those of the present cycle
	At        *Job // who is being looked at; nil: nobody
	steps     int  // of that look
	Most      int  // steps that it may take; 0: any number
}

// Pool is the sites of one pool, and what each queue has there.
type Pool struct {
	schedule.Pool
	Sites       []*Site // sorted by node ID
	Total       quota.Amounts
	Free        quota.Amounts // soon, on all sites that are fit
	memory      int64         // of the smallest device
	Moving      int           // holds that leave or are promised
	Leaving     []*Hold
	Q           []Account // by queue index
	Supervisors []int32   // queues that do not lend all of their quota, children first
	spare       []quota.Amounts
	Whole       *Subset
	Parts       []*Subset // one for each backend, where there are several
	Trees       map[string]*Domains
	dirty       bool    // sites came or went
	Shape       uint64  // grows when they did, or the pool is used in another way
	remade      bool    // what it counts for has changed
	unfair      bool    // what its queues are due may be otherwise than it was
	Watched     bool    // somebody remembers something of its sites
	News        []*Site // that have changed, the last ones
	Read        int     // how many of them somebody has seen
	First       uint64  // how many there were before those in news
	// What bookings go by: when there will be room, and the sites that have
	// changed since. outdatedBase is how many were dropped from the front.
	forecasts    map[*Ask]*forecast
	outdated     []*Site
	outdatedBase int
}

// Ask is a need with its rule, the same for all tasks that ask for it.
type Ask struct {
	Need   schedule.Need
	Rule   *schedule.Rule
	Migs   []wish
	ok     map[*Pool][]int8 // by labels, taints and kind of node: 1 yes, -1 no, 0 not looked at
	Id     int
	Slices int64 // devices that its partitions count for, thousandths
	Pass   Pass
}

// Gpus reports whether a asks for GPUs, or partitions of them.
func (a *Ask) Gpus() bool { return a.Need.Devices > 0 || a.Slices > 0 }

type wish struct {
	Name  string
	Count int32
}

// Hold is a task that has a place, or is promised one.
type Hold struct {
	Job     *Job
	Group   int32
	Task    int
	Ask     *Ask
	Site    *Site
	Devs    []int32
	Milli   int32
	cpu     int64
	mem     int64
	Amount  quota.Amounts
	Leaving bool  // told to go, before this cycle or in it
	stuck   bool  // told to go, and does not
	Later   bool  // its room is not free yet
	Fresh   bool  // placed in this cycle
	Counted bool  // it is one of the tasks that its job has to place
	Gone    bool  // placed in this cycle, and taken back
	Heir    *Hold // of one that is gone: its task's other place
	Moves   bool  // a victim that gets another place in the same plan
}

// Job is a Job with its holds.
type Job struct {
	schedule.Job
	Leaf      int32 // index of its queue; negative: unknown
	Pool      *Pool // where it holds something
	Holds     []*Hold
	Active    []int32 // per group: holds that are not leaving, and what ended well
	Placed    []int32 // per group: of Runs, placed in this cycle
	Standing  int32   // holds that are not leaving
	JobClass  *JobClass
	Asks      [][]*Ask // per group and run
	Pass      Pass
	PlacedNow bool // in this cycle, having held nothing before
	Recalled  bool // its earmark was taken back in this cycle
}

// NewState returns a state that knows nothing yet.
func NewState(cfg schedule.Config) *State {
	return &State{
		Cfg: cfg, Pools: map[string]*Pool{}, Sites: map[core.NodeID]*Site{}, Asks: map[string]*Ask{},
		Queues: newTree(nil), Jobs: map[core.WorkloadID]*Job{}, Tenants: map[core.NodeID]map[core.WorkloadID]*Job{}, JobClasses: map[jobClassKey]*JobClass{}, classOf: map[classKey]*Class{}, Due: Never, Below: map[core.WorkloadID]*Job{}, Users: map[userKey]Held{},
		Told: map[core.WorkloadID]*Job{},
	}
}

// Configure has the next cycles go by another configuration. What the one before
// found is no answer for it.
func (st *State) Configure(cfg schedule.Config) {
	st.Cfg = cfg
	st.Changes()
}

// Classes is how many classes of interchangeable jobs wait.
func (st *State) Classes() int { return len(st.JobClasses) }

// Load returns the state of a snapshot.
func Load(s *schedule.Snapshot, cfg schedule.Config) *State {
	st := NewState(cfg)
	st.Load(s)
	return st
}

func (st *State) Load(s *schedule.Snapshot) {
	st.SetPools(s.Pools)
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
		p.forget()
	}
}

func (st *State) poolOf(name string) *Pool {
	p := st.Pools[name]
	if p == nil {
		p = &Pool{Pool: schedule.Pool{Name: name}, Q: make([]Account, len(st.Queues.List)), Trees: map[string]*Domains{}}
		p.Whole = &Subset{Pool: p, Ranks: map[*Ask]*Ranking{}}
		st.Pools[name] = p
		st.settle(p)
	}
	return p
}

// forget makes all rankings anew.
func (p *Pool) forget() {
	p.forecasts = nil
	p.Whole.forget()
	for _, part := range p.Parts {
		part.forget()
	}
}

// AskOf returns the one ask for a need, rule and pass.
func (st *State) AskOf(n schedule.Need, r *schedule.Rule, p Pass) *Ask {
	st.buf = st.buf[:0]
	st.buf.Need(&n)
	st.buf.Rule(r)
	if p != (Pass{}) {
		st.buf.Number(int64(p.Only))
		st.buf.Text(p.barred)
	}
	if a := st.Asks[string(st.buf)]; a != nil {
		return a
	}
	a := &Ask{Need: n, Rule: r, ok: map[*Pool][]int8{}, Id: st.lastAsk, Pass: p}
	st.lastAsk++
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
			a.Migs = append(a.Migs, wish{name, k})
			a.Slices += core.SlicesOf(name) * int64(k)
		}
	}
	st.Asks[string(st.buf)] = a
	return a
}

// amount is what one task of a counts for in a pool's quotas before it has a
// place.
func (p *Pool) amount(a *Ask) quota.Amounts {
	n := &a.Need
	milli := int64(n.Milli)
	if n.Share > 0 && p.memory > 0 {
		milli = max(n.Share*1000/p.memory, 1)
	}
	return quota.Amounts{quota.GPU: int64(n.Devices)*milli + a.Slices, quota.CPU: n.CPU, quota.Memory: n.Memory}
}

// Never is after all that is known.
const Never = int64(math.MaxInt64)

func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}

// Domains is the tree of a pool's sites by ordered labels.
type Domains struct {
	Levels []string
	Of     []map[*Site]string // per level, the path to the site's domain
	Sites  []map[string][]*Site
	Paths  [][]string // per level, the domains
	At     [][]int32  // per level and site (by its place in the pool), its domain's place in paths; negative: none
}
