// Package schedule is what the scheduler is given and what it answers: snapshots
// of nodes, queues and jobs, the policy that it follows, plans, and the reasons
// why a job waits. It decides nothing; what decides is in the packages below it,
// each of which uses those before it only:
//
//	state      what the scheduler knows, with its indexes, kept between cycles, and a journal that takes a trial back
//	place      a job's tasks placed together: topology, segments, and the search through every way
//	cycle      who starts and who leaves for whom: allocation, preemption, reclaim, consolidation, bookings, relief
//	explain    why a job waits, and what would become of it if it were another
//	forecast   when it starts if nobody comes and nothing breaks
//
// All of it is pure: it knows nothing of backends, stores or clocks. The tests of
// the whole stand beside this file.
package schedule

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// Snapshot is everything that may matter to a plan.
type Snapshot struct {
	Now    int64 // unix milliseconds
	Nodes  []Node
	Pools  []Pool
	Queues []Queue
	Jobs   []Job
	// Windows keep nodes for some of the time.
	Windows []Window
	// Licenses are what is counted for the whole site.
	Licenses []License
	// Users bound what users may have in all queues together.
	Users []UserBound
}

// UserBound is what a user may have at once in all queues together. The one without
// a name is for each user who has none of their own.
type UserBound struct {
	User string
	GPU  int64 // thousandths of devices; negative: any
	Jobs int   // that run; 0: any number
}

// Node is a node, with what others hold of it whom this scheduler does not know:
// its MIG are the partitions, and whatever else is counted, that can be asked for
// by name. A node that
// has a MIGStrategy, or is Whole, gives no fractions; with "mixed" no whole
// devices either.
type Node struct {
	core.Node
	Pods       int // tasks it takes at once; 0: any number, negative: none
	OtherCPU   int64
	OtherMem   int64
	OtherMilli []int // per device of Devices, thousandths
	// OtherMIG is what others hold by name, which is not in MIG: only words tell
	// of it.
	OtherMIG map[string]int
}

// Strategy says which of the nodes that fit a task is chosen.
type Strategy string

// The placement strategies. The zero value is BinPack.
const (
	BinPack Strategy = ""       // the fullest
	Spread  Strategy = "spread" // the emptiest
	Fill    Strategy = "fill"   // the one whose remaining room the usual work can best use
)

// Pool is a set of nodes with quotas and strategies of its own. Gangs never
// span two pools.
type Pool struct {
	Name       string
	GPU, CPU   Strategy // for tasks with GPUs, and without
	Devices    Strategy // which shared device of a node: BinPack or Spread
	MinRuntime int64    // ms for which nobody is displaced after its start
	Reserve    int      // how many gangs that do not fit get a time to start; 0: none
}

// Queue is a node of the queue tree: a department or a project.
type Queue struct {
	ID       core.ProjectID
	Parent   core.ProjectID // empty: top level
	Priority int
	Age      int64 // smaller is older; ties by ID
	Stopped  bool
	Shares   map[string]Quota // by pool; absent: Default
	Default  Quota
	// PreemptMin and ReclaimMin are ms for which its running jobs are not
	// displaced after their start; negative: as its parent.
	PreemptMin, ReclaimMin int64
	BorrowMax              int64 // ms after its start by which work has to end that uses more than the quota; 0: any time will do
	UserGPU                int64 // thousandths of devices that one user may hold; 0: any
	UserJobs               int   // running jobs of one user; 0: any number
	MaxJobs                int   // running jobs, of those below it too; 0: any number
}

// Quota is what a queue is entitled to in one pool.
type Quota struct {
	Quota, Limit quota.Amounts // quota.Unlimited: no bound
	Keep         quota.Amounts // of Quota, what nobody else may use while it does not
	Weight       [quota.Resources]int64
	Usage        [quota.Resources]float64 // its share of the pool's past use; 0 when that does not count
}

// Unlimited is a quota without bounds.
func Unlimited() Quota {
	u := int64(quota.Unlimited)
	return Quota{Quota: quota.Amounts{u, u, u}, Limit: quota.Amounts{u, u, u}, Weight: [quota.Resources]int64{1, 1, 1}}
}

// Config is what the caller wants of the scheduler beside its data.
type Config struct {
	Actions    []Action // in order; empty: all
	StaleGrace int64    // ms that a gang may be below its minimum; negative: for ever
	MoveRest   int64    // ms that work has run at least before it is moved for others' sake
	MaxMoves   int      // running tasks that one consolidation may move; 0: none; negative: any number
	// Saturation is by how much more a reclaiming queue may be served than the
	// one it takes from; 0 counts as 1.
	Saturation float64
	Quantum    int64   // ms that everyone has at least before Relieve takes it; 0: no Relieve
	K          float64 // weight of past use in fair shares (runai.md §3.3)
	// Off switches parts off, for data that were made without them.
	NoQuota        bool // quotas, limits and fair shares
	NoAvailability bool // preference for nodes that are free now
	NoSharing      bool // preference for devices that are shared already
	NoElastic      bool // order by minimum of gangs
	NoPriority     bool // order by priority
	NoFilters      bool // node labels, taints, MIG strategy
	NoRuntime      bool
	Trap           *Trap `json:"-"`
}

// Action is one part of a cycle.
type Action string

// The actions, in the order of a cycle.
const (
	Allocate    Action = "allocate"
	Consolidate Action = "consolidation"
	Reclaim     Action = "reclaim"
	Preempt     Action = "preempt"
	StaleGang   Action = "stalegangeviction"
)

// Actions are all, in their order.
func Actions() []Action { return []Action{Allocate, Consolidate, Reclaim, Preempt, StaleGang} }
