package core

import (
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// UsualPriority is the priority of a project that sets none.
const UsualPriority = 100

// UsualWeight is the weight of a queue that sets none: "medium" among
// "lowest" 0, "low" 1 and "high" 3.
const UsualWeight = 2.0

// DefaultPool has every node that no other pool gathers.
const DefaultPool = "default"

// AnyPool as a key of Project.Pools stands for every pool that has no entry of
// its own.
const AnyPool = "*"

// Project is a queue that workloads are submitted to, or a department, which
// holds projects and departments and takes no workloads itself.
type Project struct {
	ID         ProjectID `json:"name"`
	Department bool      `json:"department,omitempty"`
	Parent     ProjectID `json:"parent,omitempty"`   // a department; empty: it stands at the top
	StopMode   StopMode  `json:"stopMode,omitempty"` // its own; what is above it may be stopped too
	Note       string    `json:"note,omitempty"`     // who stopped it and why
	CreatedAt  time.Time `json:"createdAt"`

	// Pools is what it may use of each pool, by name or AnyPool. Where nothing
	// is said it may use everything.
	Pools map[string]PoolQuota `json:"pools,omitempty"`
	// Priority ranks it among its siblings: what is left over quota goes to the
	// highest first, strictly.
	Priority int `json:"priority,omitempty"`
	// PoolOrder is where its workloads go whose documents name no pool, in
	// order; empty: as its department says, else any.
	PoolOrder []string `json:"poolOrder,omitempty"`
	// NodeTypes are those that its workloads may use, by kind; without an entry
	// any.
	NodeTypes map[lifecycle.Kind][]string `json:"nodeTypes,omitempty"`
	// PreemptMinRuntime and ReclaimMinRuntime are for how long what has started
	// is let alone by higher priorities of its own queue and by other queues;
	// nil: as above it.
	PreemptMinRuntime *time.Duration `json:"preemptMinRuntime,omitempty"`
	ReclaimMinRuntime *time.Duration `json:"reclaimMinRuntime,omitempty"`
	// BorrowingTimeLimit is how long work may last at most, by its maxDuration or a
	// time limit, that uses more than its quota; nil: as long as it likes. Of
	// several above each other the tightest holds.
	BorrowingTimeLimit *time.Duration `json:"borrowingTimeLimit,omitempty"`
	MaxRunning         int            `json:"maxRunning,omitempty"` // workloads at once; 0: any
	MaxQueued          int            `json:"maxQueued,omitempty"`  // workloads that have not started; 0: any
	UserLimit          UserLimit      `json:"userLimit,omitzero"`
	Budgets            []Budget       `json:"budgets,omitempty"` // how much it may use, each by itself
	Rules
}

// Bounds are what the projects on a path demand of one kind of workload, taken
// together: how long it may run, how long it may leave its GPUs idle (0: any time),
// and which types of nodes it may use (nil: any; empty: none).
type Bounds struct {
	TimeLimit time.Duration `json:"timeLimit,omitempty"`
	IdleLimit time.Duration `json:"idleLimit,omitempty"`
	// IdlePreemptible holds beside it while the workload is preemptible, IdleNonPreemptible
	// while it is not; 0: nothing does.
	IdlePreemptible    time.Duration `json:"idlePreemptible,omitempty"`
	IdleNonPreemptible time.Duration `json:"idleNonPreemptible,omitempty"`

	NodeTypes []string `json:"nodeTypes,omitzero"`
}

// Idle is how long a workload may leave its GPUs idle that is preemptible, or is not; 0: any
// time.
func (b *Bounds) Idle(preemptible bool) time.Duration {
	beside := b.IdleNonPreemptible
	if preemptible {
		beside = b.IdlePreemptible
	}
	if beside > 0 && (b.IdleLimit <= 0 || beside < b.IdleLimit) {
		return beside
	}
	return b.IdleLimit
}

// What stands behind a kind in Rules.IdleLimit where it is about only those of the kind that
// are preemptible, or are not.
const (
	WherePreemptible    = "-preemptible"
	WhereNonPreemptible = "-non-preemptible"
)

// IdleKind is the kind that an entry of Rules.IdleLimit is about.
func IdleKind(key lifecycle.Kind) lifecycle.Kind {
	kind, ok := strings.CutSuffix(string(key), WhereNonPreemptible)
	if !ok {
		kind, _ = strings.CutSuffix(kind, WherePreemptible)
	}
	return lifecycle.Kind(kind)
}

// NewProject returns a project with nothing decided.
func NewProject(id ProjectID, at time.Time) Project {
	return Project{ID: id, CreatedAt: at, Priority: UsualPriority}
}

// QuotaIn is what p may use of a pool.
func (p *Project) QuotaIn(pool string) PoolQuota {
	if q, ok := p.Pools[pool]; ok {
		return q
	}
	return p.Pools[AnyPool]
}

// StopMode says what is kept from a project.
type StopMode string

// The modes of stopping a project.
const (
	// StopNone: it is open.
	StopNone StopMode = ""
	// StopHold keeps new work from starting; what runs goes on.
	StopHold StopMode = "hold"
	// StopHoldAndDrain also puts what runs back to its queue.
	StopHoldAndDrain StopMode = "hold-and-drain"
)

// Stricter returns whichever of two modes keeps more back.
func (m StopMode) Stricter(n StopMode) StopMode {
	if m == StopHoldAndDrain || n == StopNone {
		return m
	}
	return n
}

// PoolQuota is what a project or department may use of a pool.
type PoolQuota struct {
	GPU    ResourceQuota `json:"gpu,omitzero"`    // devices, fractions count as such
	CPU    ResourceQuota `json:"cpu,omitzero"`    // cores
	Memory ResourceQuota `json:"memory,omitzero"` // bytes
}

// Resource names what is given out by quota.
type Resource string

// The resources of a quota.
const (
	GPU    Resource = "gpu"
	CPU    Resource = "cpu"
	Memory Resource = "memory"
)

// Resources lists them in the order in which they are shown.
func Resources() []Resource { return []Resource{GPU, CPU, Memory} }

// Of returns the part of q that is about r.
func (q PoolQuota) Of(r Resource) ResourceQuota {
	switch r {
	case CPU:
		return q.CPU
	case Memory:
		return q.Memory
	default:
		return q.GPU
	}
}

// ResourceQuota is what a queue may use of one resource.
type ResourceQuota struct {
	// Quota is what it is promised. What is over it is lent and can be taken
	// back; nil: no bound.
	Quota *float64 `json:"quota,omitempty"`
	// Limit is what it may never exceed; nil: no bound.
	Limit *float64 `json:"limit,omitempty"`
	// LendingLimit is how much of its quota others may use while it does not; the
	// rest is kept for it; nil: all of it.
	LendingLimit *float64 `json:"lendingLimit,omitempty"`
	// Weight is its part of what nobody is promised, against its siblings; nil:
	// UsualWeight. With 0 it has only what nobody else wants.
	Weight *float64 `json:"weight,omitempty"`
}

// Keeps is what of the quota nobody else may use.
func (q ResourceQuota) Keeps() float64 {
	if q.Quota == nil || q.LendingLimit == nil {
		return 0
	}
	return max(*q.Quota-*q.LendingLimit, 0)
}

// WeightOf is the weight that counts.
func (q ResourceQuota) WeightOf() float64 {
	if q.Weight == nil {
		return UsualWeight
	}
	return *q.Weight
}

// UserLimit is what each user may have in a project at once.
type UserLimit struct {
	GPU        *float64 `json:"gpu,omitempty"`        // devices; nil: any
	MaxRunning int      `json:"maxRunning,omitempty"` // workloads; 0: any
	MaxQueued  int      `json:"maxQueued,omitempty"`  // workloads that have not started; 0: any
}

// Rules is what a project or department demands of its workloads, all levels
// together: checks add up, and of limits the tightest holds.
type Rules struct {
	// Checks are made of every workload, before its own.
	Checks []spec.Check `json:"checks,omitempty"`
	// TimeLimit ends what has run for so long, by kind; zero or absent: none.
	TimeLimit map[lifecycle.Kind]time.Duration `json:"timeLimit,omitempty"`
	// IdleLimit ends what has let all its GPUs idle for so long, by kind: of all of a kind,
	// or with WherePreemptible and WhereNonPreemptible behind it of some.
	IdleLimit map[lifecycle.Kind]time.Duration `json:"idleLimit,omitempty"`
	// Budget is how many GPU-seconds the project may use in every Period, which
	// is counted in whole periods since 1970 UTC; zero: any. A workload is
	// approved while what has been used and what it may use itself
	// (its GPUs for its maxDuration, if it has one) fit.
	Budget float64       `json:"budgetGPUSeconds,omitempty"`
	Period time.Duration `json:"budgetPeriod,omitempty"`
}

// Pool is a set of nodes that are scheduled together: a workload never spans
// two.
type Pool struct {
	Name string `json:"name"`
	// Selector gathers the nodes that have this label; DefaultPool has none.
	Selector Label `json:"selector,omitzero"`
	// Placement is how nodes are filled by work with GPUs and by work without.
	Placement Placement `json:"placement,omitzero"`
	// Topology are labels of its nodes from the widest domain to the narrowest.
	Topology []string `json:"topology,omitempty"`
	// MinRuntime is for how long what has started in it is not displaced.
	MinRuntime time.Duration `json:"minRuntime,omitempty"`
	Note       string        `json:"note,omitempty"`
	CreatedAt  time.Time     `json:"createdAt"`
}

// Label is one label of a node.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String is key=value.
func (l Label) String() string { return l.Key + "=" + l.Value }

// Placement is how the nodes of a pool are filled; empty: PlaceFill.
type Placement struct {
	GPU Strategy `json:"gpu,omitempty"`
	CPU Strategy `json:"cpu,omitempty"`
}

// Strategy is one way to choose among nodes that would do.
type Strategy string

// The strategies of placement.
const (
	PlaceFill    Strategy = "fill"    // what leaves the most room for whole devices and large gangs
	PlaceBinPack Strategy = "binpack" // the fullest node
	PlaceSpread  Strategy = "spread"  // the emptiest node
)

// TaintEffect is what a taint does to workloads that do not tolerate it.
type TaintEffect string

// The effects of taints.
const (
	NoSchedule       TaintEffect = "NoSchedule"       // nothing new is placed on the node
	PreferNoSchedule TaintEffect = "PreferNoSchedule" // only where nothing else would do
	NoExecute        TaintEffect = "NoExecute"        // and what runs there is moved away
)

// Taint keeps workloads off a node that do not tolerate it.
type Taint struct {
	Key    string      `json:"key"`
	Value  string      `json:"value,omitempty"`
	Effect TaintEffect `json:"effect"`
}

// String is key=value:effect.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

// NodeSetting is what an administrator has said of a node. It outlives
// restarts and holds for the node whenever its backend reports it.
type NodeSetting struct {
	ID     NodeID            `json:"name"`
	Cordon bool              `json:"cordon,omitempty"` // it takes nothing new
	Drain  bool              `json:"drain,omitempty"`  // what ran on it was told to move; implies Cordon
	Note   string            `json:"note,omitempty"`   // why
	Labels map[string]string `json:"labels,omitempty"` // beside, or instead of, those that its backend reports
	Taints []Taint           `json:"taints,omitempty"`
}

// Plain reports whether s says nothing.
func (s *NodeSetting) Plain() bool {
	return !s.Cordon && !s.Drain && s.Note == "" && len(s.Labels) == 0 && len(s.Taints) == 0
}
