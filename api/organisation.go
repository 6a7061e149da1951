package api

import "encoding/json"

// Project is a queue that workloads are submitted to, or a department, which
// holds projects and takes no workloads itself.
type Project struct {
	Name       string `json:"name"`
	Department bool   `json:"department,omitempty"`
	Stopped    bool   `json:"stopped" doc:"It takes nothing at present: it, or what is above it, is stopped"`
	StoppedBy  string `json:"stoppedBy,omitempty" doc:"The department that stops it, where it is not stopped itself"`
	CreatedAt  *Time  `json:"createdAt,omitempty"`
	ProjectSpec
	Effective *EffectiveRules `json:"effective,omitempty" doc:"What holds for what is submitted now, with what stands above it; absent: no such rule"`
	Warnings  []string        `json:"warnings,omitempty" doc:"In answers to changes: what is allowed and perhaps not meant"`
}

// ProjectSpec is what can be decided about a project or department. Lengths of
// time are written like 12h.
type ProjectSpec struct {
	Parent             string               `json:"parent,omitempty" doc:"The department that it stands below; empty: none"`
	StopMode           string               `json:"stopMode,omitempty" enum:"hold,hold-and-drain," doc:"hold: nothing new starts; hold-and-drain: what runs goes back to its queue too; empty: open"`
	Note               string               `json:"note,omitempty" doc:"Why it is stopped; shown to whoever waits"`
	Pools              map[string]PoolQuota `json:"pools,omitempty" doc:"What it may use of each pool, by name; * stands for all that are not named. Where nothing is said it may use everything"`
	Priority           *int                 `json:"priority,omitempty" doc:"Rank among its siblings: what is left over quota goes to the highest first; default 100"`
	PoolOrder          []string             `json:"poolOrder,omitempty" doc:"Where its workloads go whose documents name no pool, in order"`
	NodeTypes          map[string][]string  `json:"nodeTypes,omitempty" doc:"Node types that its workloads may use, by kind"`
	PreemptMinRuntime  string               `json:"preemptMinRuntime,omitempty" doc:"For how long what has started is let alone by higher priorities of its own queue; empty: as above it"`
	ReclaimMinRuntime  string               `json:"reclaimMinRuntime,omitempty" doc:"The same for other queues"`
	BorrowingTimeLimit string               `json:"borrowingTimeLimit,omitempty" doc:"How long work may last at most, by its maxDuration or a time limit, that uses more than the quota; empty: as above it, else any time"`
	MaxRunning         int                  `json:"maxRunning,omitempty" minimum:"0" doc:"Workloads at once; 0: any"`
	MaxQueued          int                  `json:"maxQueued,omitempty" minimum:"0" doc:"Workloads that have not started; one more is refused. 0: any"`
	UserLimit          *UserLimit           `json:"userLimit,omitempty" doc:"What each user may have in it at once"`
	Budgets            []Budget             `json:"budgets,omitempty" doc:"How much it may use, each by itself; GET /v1/budgets says how they stand"`
	ProjectRules
}

// EffectiveRules are limits and types of nodes with those of the departments above: of
// limits the tightest, of types what every list has.
type EffectiveRules struct {
	TimeLimit map[string]string   `json:"timeLimit,omitempty" doc:"Ends what has run for so long, by kind"`
	IdleLimit map[string]string   `json:"idleLimit,omitempty" doc:"Ends what has let all its GPUs idle for so long, by kind; KIND-preemptible and KIND-non-preemptible are of some of a kind"`
	NodeTypes map[string][]string `json:"nodeTypes,omitempty" doc:"Node types that may be used, by kind; an empty list: none"`
}

// Bounds are what is demanded of one workload beside what its document says.
type Bounds struct {
	TimeLimit string   `json:"timeLimit,omitempty" doc:"Ends it once it has run for so long"`
	IdleLimit string   `json:"idleLimit,omitempty" doc:"Ends it once it has let all its GPUs idle for so long"`
	NodeTypes []string `json:"nodeTypes,omitempty" doc:"Node types that it may use; absent: any"`
}

// PoolQuota is what a project or department may use of a pool.
type PoolQuota struct {
	GPU    *ResourceQuota `json:"gpu,omitempty" doc:"In devices; fractions are allowed"`
	CPU    *ResourceQuota `json:"cpu,omitempty" doc:"In cores"`
	Memory *MemoryQuota   `json:"memory,omitempty"`
}

// ResourceQuota is what a queue may use of one resource.
type ResourceQuota struct {
	Quota        *float64 `json:"quota,omitempty" minimum:"0" doc:"Promised, in GPUs or cores; what is over it is lent and can be taken back. Absent: no bound"`
	Limit        *float64 `json:"limit,omitempty" minimum:"0" doc:"In GPUs or cores; never exceeded. Absent: no bound"`
	LendingLimit *float64 `json:"lendingLimit,omitempty" minimum:"0" doc:"In GPUs or cores: of quota, what others may use at most while it does not; the rest is kept for it. Absent: all of it"`
	Weight       *float64 `json:"weight,omitempty" minimum:"0" doc:"Part of what nobody is promised, a proportion against its siblings: 0 lowest, 1 low, 2 medium (default), 3 high"`
}

// MemoryQuota is the same of memory, in quantities like 512Gi.
type MemoryQuota struct {
	Quota        string   `json:"quota,omitempty"`
	Limit        string   `json:"limit,omitempty"`
	LendingLimit string   `json:"lendingLimit,omitempty"`
	Weight       *float64 `json:"weight,omitempty" minimum:"0" doc:"As of the other resources, a proportion against its siblings"`
}

// UserLimit is what each user may have in a project at once.
type UserLimit struct {
	GPU        *float64 `json:"gpu,omitempty" minimum:"0" doc:"Devices; absent: any"`
	MaxRunning int      `json:"maxRunning,omitempty" minimum:"0" doc:"Workloads; 0: any"`
	MaxQueued  int      `json:"maxQueued,omitempty" minimum:"0" doc:"Workloads that have not started; one more is refused. 0: any"`
}

// ProjectRules is what a project demands of its workloads. What departments
// above it demand holds as well: checks add up, and of limits the tightest
// holds. Lengths of time are written like 12h.
type ProjectRules struct {
	Checks       json.RawMessage   `json:"checks,omitempty" doc:"Checks of every workload, each as in a document's checks"`
	TimeLimit    map[string]string `json:"timeLimit,omitempty" doc:"Ends what has run for so long, by kind"`
	IdleLimit    map[string]string `json:"idleLimit,omitempty" doc:"Ends what has let all its GPUs idle for so long, by kind; KIND-preemptible and KIND-non-preemptible are of some of a kind"`
	BudgetHours  float64           `json:"budgetGpuHours,omitempty" minimum:"0" doc:"GPU-hours that may be used in every budgetPeriod"`
	BudgetPeriod string            `json:"budgetPeriod,omitempty" doc:"Like 30d"`
}

// ProjectList is every project, or every department.
type ProjectList struct {
	Items []Project `json:"items" nullable:"false"`
	Next  string    `json:"next"`
}

// NewProject is a project or department to make.
type NewProject struct {
	Name string `json:"name"`
	ProjectSpec
}

// ProjectOptions refine stopping a project.
type ProjectOptions struct {
	Note string `json:"note,omitempty" doc:"Why; shown to whoever waits"`
	Mode string `json:"mode,omitempty" enum:"hold,hold-and-drain," doc:"hold (default): nothing new starts; hold-and-drain: what runs goes back to its queue too"`
}

// Pool is a set of nodes that are scheduled together, with what is held of it.
type Pool struct {
	Name      string `json:"name"`
	CreatedAt *Time  `json:"createdAt,omitempty" doc:"Absent of default, and of pools that a backend names"`
	PoolSpec
	Nodes    int      `json:"nodes"`
	GPU      Amount   `json:"gpu" doc:"Thousandths of devices"`
	CPU      Amount   `json:"cpu" doc:"Thousandths of cores"`
	Memory   Amount   `json:"memory" doc:"Bytes"`
	IdleGPU  int64    `json:"idleGpu" doc:"Thousandths of devices whose workloads have let all their GPUs idle for 30 minutes or more"`
	ShutGPU  int64    `json:"shutGpu" doc:"Thousandths of devices on nodes that are cordoned or drained"`
	Warnings []string `json:"warnings,omitempty" doc:"In answers to changes: what is allowed and perhaps not meant"`
}

// PoolSpec is what can be decided about a pool.
type PoolSpec struct {
	Selector   string         `json:"selector,omitempty" doc:"KEY=VALUE: the label that gathers its nodes; default has none"`
	Placement  *PoolPlacement `json:"placement,omitempty" doc:"How its nodes are filled"`
	Topology   []string       `json:"topology,omitempty" doc:"Labels of its nodes from the widest domain to the narrowest"`
	MinRuntime string         `json:"minRuntime,omitempty" doc:"For how long what has started in it is not displaced"`
	Note       string         `json:"note,omitempty"`
}

// PoolPlacement is how the nodes of a pool are filled: fill (the default) leaves
// the most room for whole devices and large gangs, binpack takes the fullest
// node, spread the emptiest.
type PoolPlacement struct {
	GPU string `json:"gpu,omitempty" enum:"fill,binpack,spread," doc:"By work with GPUs"`
	CPU string `json:"cpu,omitempty" enum:"fill,binpack,spread," doc:"By work without"`
}

// NewPool is a pool to make.
type NewPool struct {
	Name string `json:"name"`
	PoolSpec
}

// PoolList is every pool.
type PoolList struct {
	Items []Pool `json:"items" nullable:"false"`
	Next  string `json:"next"`
}

// NodeList is every node.
type NodeList struct {
	Items []Node `json:"items" nullable:"false"`
	Next  string `json:"next"`
}

// Node is a machine with what is held of it.
type Node struct {
	Name     string            `json:"name"`
	Backend  string            `json:"backend"`
	Pool     string            `json:"pool"`
	Labels   map[string]string `json:"labels,omitempty"`
	Taints   []Taint           `json:"taints,omitempty"`
	Ready    bool              `json:"ready"`
	Message  string            `json:"message,omitempty"`
	Cordoned bool              `json:"cordoned" doc:"It takes nothing new"`
	Draining bool              `json:"draining,omitempty" doc:"And what ran on it was told to move; once tasks is 0 it is drained"`
	CutOff   bool              `json:"cutOff,omitempty" doc:"Its cluster does not answer: it takes nothing new, and what runs there goes on"`
	Note     string            `json:"note,omitempty" doc:"Why"`
	CPU      Amount            `json:"cpu" doc:"Thousandths of cores"`
	Memory   Amount            `json:"memory" doc:"Bytes"`
	GPU      Amount            `json:"gpu" doc:"Thousandths of devices"`
	Extended map[string]Amount `json:"extended,omitempty" doc:"Extended resources by name, used by tasks and by others"`
	MIG      map[string]Amount `json:"mig,omitempty" doc:"MIG partitions by profile, used by tasks and by others; on which GPU each is clusters do not tell"`
	Tasks    int               `json:"tasks"`
	Devices  []Device          `json:"devices" nullable:"false"`
	Links    []DeviceLink      `json:"links,omitempty" doc:"What connects its GPUs, each pair once; absent: nobody knows"`
}

// Taint keeps workloads off a node that do not tolerate it.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect" enum:"NoSchedule,PreferNoSchedule,NoExecute"`
}

// NodeOptions refine what is asked of a node; each action reads its own.
type NodeOptions struct {
	Note   string            `json:"note,omitempty" doc:"cordon, drain: why"`
	Force  bool              `json:"force,omitempty" doc:"drain: also what is not preemptible"`
	Set    map[string]string `json:"set,omitempty" doc:"label: labels to set"`
	Drop   []string          `json:"drop,omitempty" doc:"label: keys to drop; taint: KEY or KEY:EFFECT to drop"`
	Taints []Taint           `json:"taints,omitempty" doc:"taint: taints to set"`
}

// Drain is what a drain does, or would do.
type Drain struct {
	Node  Node        `json:"node"`
	Items []DrainStep `json:"items" nullable:"false"`
}

// DrainStep is what becomes of one workload that has tasks on a node.
type DrainStep struct {
	Project  string `json:"project"`
	Workload string `json:"workload"`
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	User     string `json:"user"`
	Tasks    int    `json:"tasks" doc:"On the node"`
	GPU      int64  `json:"gpu" doc:"Thousandths of the node's devices that they hold"`
	Action   string `json:"action" enum:"move,park,wait,ending" doc:"move: it starts again on other nodes; park: it is ended, and waits since no other node could take it; wait: it is not preemptible and runs to its own end; ending: it is on its way out"`
	Grace    string `json:"grace,omitempty" doc:"How long its tasks have to end"`
	EndsBy   *Time  `json:"endsBy,omitempty" doc:"When it ends by itself at the latest, where that is known"`
}

// Standing is how a project or department stands in one pool.
type Standing struct {
	Project    string `json:"project"`
	Department bool   `json:"department,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Pool       string `json:"pool"`
	GPU        Use    `json:"gpu" doc:"In devices"`
	CPU        Use    `json:"cpu" doc:"In cores"`
	Memory     Use    `json:"memory" doc:"In bytes"`
	Queued     int    `json:"queued" doc:"Workloads that wait and would go to this pool first"`
	QueuedGPUs int    `json:"queuedGpus" doc:"GPUs that these ask for"`
}

// Use is what is used of one resource, and what may be.
type Use struct {
	Guaranteed   *float64 `json:"guaranteed,omitempty" doc:"Its quota, in the unit of the resource; absent: no bound"`
	Used         float64  `json:"used" doc:"By tasks that have a place, in the unit of the resource"`
	Reserved     float64  `json:"reserved" doc:"By workloads that are Reserved, in the unit of the resource: it counts like what is used, and no place is kept for it"`
	Fixed        float64  `json:"fixed" doc:"Of used, what is not preemptible, in the same unit"`
	Over         float64  `json:"over" doc:"Of used and reserved, what is over the quota and can be taken back, in the same unit"`
	Limit        *float64 `json:"limit,omitempty" doc:"In the unit of the resource; absent: no bound"`
	LendingLimit *float64 `json:"lendingLimit,omitempty" doc:"In the unit of the resource; absent: all of the quota may be lent"`
	Kept         float64  `json:"kept" doc:"Of the quota, what it does not use and does not lend, in the same unit"`
	Lendable     float64  `json:"lendable" doc:"Of the quota, what it does not use and others may, or do, in the same unit"`
	Weight       float64  `json:"weight" doc:"A proportion against its siblings"`
	FairShare    float64  `json:"fairShare" doc:"What it is due at present, in the unit of the resource: its quota as far as it wants it, and its part of what others do not want"`
	Share        *float64 `json:"share,omitempty" doc:"used and reserved in proportion to guaranteed; absent where nothing is guaranteed"`
}

// StandingList is how everybody stands.
type StandingList struct {
	Items []Standing `json:"items" nullable:"false"`
	Next  string     `json:"next"`
	At    Time       `json:"at"`
}

// Manifest is a list of records as they are to be, each with its kind (Project,
// Department, Pool, License, Node, Reservation, Policy, UserLimit or Prices) and name
// beside its other fields.
type Manifest struct {
	Items []map[string]any `json:"items" nullable:"false" maxItems:"10000"`
}

// Applied is what has become of a manifest: all of it, or none.
type Applied struct {
	Items  []AppliedItem `json:"items" nullable:"false"`
	DryRun bool          `json:"dryRun,omitempty"`
}

// AppliedItem is what has become of one record.
type AppliedItem struct {
	Kind     string        `json:"kind"`
	Name     string        `json:"name"`
	Action   string        `json:"action" enum:"created,updated,unchanged"`
	Changes  []FieldChange `json:"changes,omitempty"`
	Warnings []string      `json:"warnings,omitempty" doc:"What is allowed and perhaps not meant"`
}

// Changes are changes of projects and departments, by their names: of each a JSON
// merge patch, in which null takes a field away.
type Changes struct {
	Projects map[string]map[string]any `json:"projects" doc:"By name; departments too"`
}

// Preview is what changes would come to at once, by the scheduler's own rules,
// if nobody came and nothing ended.
type Preview struct {
	At       Time              `json:"at"`
	Items    []AppliedItem     `json:"items" nullable:"false" doc:"What would be another"`
	Standing []StandingShift   `json:"standing" nullable:"false" doc:"How everybody would stand, as far as that would be another"`
	Starts   []RelatedWorkload `json:"starts" nullable:"false" doc:"Who would start with the changes, and does not without"`
	Waits    []RelatedWorkload `json:"waits" nullable:"false" doc:"Who is about to start, and would not with the changes"`
	Leaves   []RelatedWorkload `json:"leaves" nullable:"false" doc:"Who would have to make room with the changes, and not without"`
	Stays    []RelatedWorkload `json:"stays" nullable:"false" doc:"Who is about to make room, and would not with the changes"`
}

// StandingShift is how somebody stands in a pool, and would.
type StandingShift struct {
	Before Standing `json:"before"`
	After  Standing `json:"after"`
}

// FieldChange is one field that has changed; an absent value means that the
// field says nothing.
type FieldChange struct {
	Path string          `json:"path"`
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}
