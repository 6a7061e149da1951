package schedule

import (
	"cmp"
	"math"
	"slices"
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
	lic     licenses
	names   []string                 // of pools, as poolNames says; nil: not known
	below   map[core.WorkloadID]*job // gangs that are below their minimum
	log     []entry
	scopes  []*subset // parts of pools that are being tried
	firm    bool      // segments are where they should be, not only where they must
	fill    *filler
	empty   *State                   // the same nodes with nothing on them; nil: not known
	version uint64                   // grows whenever something is put or dropped
	ops     uint64                   // grows with every step of the journal, and every one taken back
	told    map[core.WorkloadID]*job // who was told a time to start
	marks   map[core.WorkloadID]*job // who has an earmark
	ends    []*job                   // as inOrderOfEnd says; nil: not known
	quiet   quiet
	classes []*class
	classOf map[classKey]*class
	tour    []visit    // of all classes; nil: not known
	walks   uint64     // that there were
	slots   []slot     // of the line that is walked, by queue
	lines   uint64     // that there were
	due     int64      // nobody who waits is due before
	counted []string   // pools, when demand was counted
	recount bool       // all demand is to be counted again
	fresh   []*lane    // whose demand is not counted yet
	passed  []*account // with victims who are gone in this cycle
	sight   uint64     // counts the times that sites were looked at, each once
	cycles  uint64     // that there were
	// forgetful makes every hunt look for itself: so tests find out whether what
	// is remembered is true.
	forgetful bool
	lastAsk   int // counts all asks there ever were
	asked     int // how many asks there were after the last sweep
	divider   quota.Divider
	rows      []quota.Queue   // for divider
	quotas    []quota.Amounts // of divider
	buf       key             // of asks that are looked up
	win       windows
	seats     int  // holds of all jobs, but for those of the present cycle
	at        *job // who is being looked at; nil: nobody
	steps     int  // of that look
	most      int  // steps that it may take; 0: any number
}

// pool is the sites of one pool, and what each queue has there.
type pool struct {
	Pool
	sites       []*site // sorted by node ID
	total       quota.Amounts
	free        quota.Amounts // soon, on all sites that are fit
	memory      int64         // of the smallest device
	moving      int           // holds that leave or are promised
	leaving     []*hold
	q           []account // by queue index
	supervisors []int32   // queues that do not lend all of their quota, children first
	spare       []quota.Amounts
	whole       *subset
	parts       []*subset // one for each backend, where there are several
	trees       map[string]*domains
	dirty       bool    // sites came or went
	shape       uint64  // grows when they did, or the pool is used in another way
	remade      bool    // what it counts for has changed
	unfair      bool    // what its queues are due may be otherwise than it was
	watched     bool    // somebody remembers something of its sites
	news        []*site // that have changed, the last ones
	read        int     // how many of them somebody has seen
	first       uint64  // how many there were before those in news
	// What bookings go by: when there will be room, and the sites that have
	// changed since. outdatedBase is how many were dropped from the front.
	forecasts    map[*ask]*forecast
	outdated     []*site
	outdatedBase int
}

// ask is a need with its rule, the same for all tasks that ask for it.
type ask struct {
	need   Need
	rule   *Rule
	migs   []wish
	ok     map[*pool][]int8 // by labels, taints and kind of node: 1 yes, -1 no, 0 not looked at
	id     int
	slices int64 // devices that its partitions count for, thousandths
	pass   pass
}

// gpus reports whether a asks for GPUs, or partitions of them.
func (a *ask) gpus() bool { return a.need.Devices > 0 || a.slices > 0 }

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
	pass      pass
	placedNow bool // in this cycle, having held nothing before
	recalled  bool // its earmark was taken back in this cycle
}

// NewState returns a state that knows nothing yet.
func NewState(cfg Config) *State {
	return &State{
		cfg: cfg, pools: map[string]*pool{}, sites: map[core.NodeID]*site{}, asks: map[string]*ask{},
		queues: newTree(nil), jobs: map[core.WorkloadID]*job{}, tenants: map[core.NodeID]map[core.WorkloadID]*job{}, lanes: map[laneKey]*lane{}, classOf: map[classKey]*class{}, due: never, below: map[core.WorkloadID]*job{}, users: map[userKey]held{},
		told: map[core.WorkloadID]*job{},
	}
}

// Configure has the next cycles go by another configuration. What the one before
// found is no answer for it.
func (st *State) Configure(cfg Config) {
	st.cfg = cfg
	st.changes()
}

// Classes is how many classes of interchangeable jobs wait.
func (st *State) Classes() int { return len(st.lanes) }

// Load returns the state of a snapshot.
func Load(s *Snapshot, cfg Config) *State {
	st := NewState(cfg)
	st.load(s)
	return st
}

func (st *State) load(s *Snapshot) {
	st.SetPools(s.Pools)
	st.SetQueues(s.Queues)
	st.now = s.Now
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
func (st *State) SetPools(pools []Pool) {
	st.changes()
	for name, p := range st.pools {
		p.Pool = Pool{Name: name}
		p.shape++
	}
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

// forget makes all rankings anew.
func (p *pool) forget() {
	p.forecasts = nil
	p.whole.forget()
	for _, part := range p.parts {
		part.forget()
	}
}

// askOf returns the one ask for a need, rule and pass.
func (st *State) askOf(n Need, r *Rule, p pass) *ask {
	st.buf = st.buf[:0]
	st.buf.need(&n)
	st.buf.rule(r)
	if p != (pass{}) {
		st.buf.number(int64(p.only))
		st.buf.text(p.barred)
	}
	if a := st.asks[string(st.buf)]; a != nil {
		return a
	}
	a := &ask{need: n, rule: r, ok: map[*pool][]int8{}, id: st.lastAsk, pass: p}
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
			a.migs = append(a.migs, wish{name, k})
			a.slices += core.SlicesOf(name) * int64(k)
		}
	}
	st.asks[string(st.buf)] = a
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

// never is after all that is known.
const never = int64(math.MaxInt64)

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}

// domains is the tree of a pool's sites by ordered labels.
type domains struct {
	levels []string
	of     []map[*site]string // per level, the path to the site's domain
	sites  []map[string][]*site
	paths  [][]string // per level, the domains
	at     [][]int32  // per level and site (by its place in the pool), its domain's place in paths; negative: none
}
