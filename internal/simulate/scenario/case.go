// Package scenario judges a scheduler by cases kept as data: a cluster, what
// waits and runs on it, and what is to become of it. The format is described
// in testdata/kai/README.md; any scheduler can be put behind Scheduler.
package scenario

import "strconv"

// Mode says how a case is run.
type Mode string

// The modes.
const (
	SinglePass Mode = "single_pass" // one action, once; what it decides is judged
	Rounds     Mode = "rounds"      // whole cycles, with their effects between them
)

// Action is a part of a scheduler's cycle.
type Action string

// The actions, in the order of a cycle.
const (
	Allocate          Action = "allocate"
	Consolidation     Action = "consolidation"
	Reclaim           Action = "reclaim"
	Preempt           Action = "preempt"
	StaleGangEviction Action = "stalegangeviction"
)

// Status is where a task stands.
type Status string

// The statuses.
const (
	Pending          Status = "pending"
	Binding          Status = "binding"   // placed in this cycle, on what is free now
	Pipelined        Status = "pipelined" // promised what is being freed
	Running          Status = "running"
	Releasing        Status = "releasing"        // chosen as a victim, or ending anyway
	StuckInReleasing Status = "stuckinreleasing" // ending, but its node does not let go
	Failed           Status = "failed"
	Succeeded        Status = "succeeded"
)

// Case is one scenario.
type Case struct {
	File string `json:"-"` // its base name, without .json

	Name         string        `json:"name"`
	Source       string        `json:"source"` // file:function of the test it was
	Index        int           `json:"index"`  // its position there
	Line         int           `json:"line"`
	Mode         Mode          `json:"mode"`
	Actions      []Action      `json:"actions"`
	Config       Config        `json:"config"`
	Features     []string      `json:"features"`
	Notes        []string      `json:"notes"`
	IdleFits     []string      `json:"idle_fits"` // jobs that would fit without disturbing anyone
	Nodes        []Node        `json:"nodes"`
	Topologies   []Topology    `json:"topologies"`
	Queues       []Queue       `json:"queues"`
	Jobs         []Job         `json:"jobs"`
	DeviceClaims *DeviceClaims `json:"device_claims"`
	Expected     Expected      `json:"expected"`
}

// ID is file#index, unique but for a few; the name is beside it everywhere.
func (c *Case) ID() string { return c.File + "#" + strconv.Itoa(c.Index) }

// Config is what of the configuration differs from the defaults.
type Config struct {
	Plugins           []Plugin `json:"plugins"` // replaces the list, if it is not empty
	NodePlacement     string   `json:"node_placement"`
	DevicePlacement   string   `json:"device_placement"`
	PredicatesOff     bool     `json:"predicates_off"`
	DeviceClaims      bool     `json:"device_claims"`
	StaleGraceSeconds *float64 `json:"stale_grace_seconds"`
	// RoundDelayMillis is how long the source waited between rounds for its
	// own machinery; time does not pass in a case.
	RoundDelayMillis int `json:"round_delay_millis"`
}

// Plugin is a part of the source's scheduler, with its arguments.
type Plugin struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// Node is a machine.
type Node struct {
	Name         string            `json:"name"`
	GPUs         int               `json:"gpus"`
	GPUMemMiB    int64             `json:"gpu_mem_mib"` // of each device
	GPUMemMiBRaw int64             `json:"gpu_mem_mib_raw"`
	CPUMillis    int64             `json:"cpu_millis"`
	MemBytes     int64             `json:"mem_bytes"`
	MaxPods      int               `json:"max_pods"`
	Labels       map[string]string `json:"labels"`
	MIG          *MIG              `json:"mig"`
}

// MIG is a node's partitioning.
type MIG struct {
	Strategy  string         `json:"strategy"`  // mixed, single
	Instances map[string]int `json:"instances"` // by resource name
}

// Topology names node labels from the widest to the narrowest.
type Topology struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
}

// Queue is a queue or a department; Parent "" is the top.
type Queue struct {
	Name         string  `json:"name"`
	Parent       string  `json:"parent"`
	Kind         string  `json:"kind"`
	Implicit     bool    `json:"implicit"`
	CreatedOrder int64   `json:"created_order"` // smaller is older
	Priority     int     `json:"priority"`
	GPU          Terms   `json:"gpu"`
	CPUMillis    Terms   `json:"cpu_millis"`
	MemBytes     Terms   `json:"mem_bytes"`
	MinRuntime   float64 `json:"reclaim_min_runtime_seconds"`
}

// Terms are a queue's rights to one resource; nil is unlimited.
type Terms struct {
	Quota  *float64 `json:"quota"`
	Limit  *float64 `json:"limit"`
	Weight float64  `json:"over_quota_weight"`
}

// Job is a set of tasks.
type Job struct {
	Name                   string      `json:"name"`
	Namespace              string      `json:"namespace"`
	Queue                  string      `json:"queue"`
	Priority               int         `json:"priority"`
	PriorityClass          string      `json:"priority_class"`
	Preemptible            bool        `json:"preemptible"`
	PreemptibleExplicit    bool        `json:"preemptible_explicit"` // it was said, not concluded
	CreatedOrder           int64       `json:"created_order"`
	AgeMinutes             float64     `json:"age_minutes"`
	MinAvailable           *int        `json:"min_available"` // nil: see Min
	MinGroups              *int        `json:"min_groups"`    // nil: all
	Groups                 []Group     `json:"groups"`
	TopologyConstraint     *Constraint `json:"topology_constraint"`
	Elastic                bool        `json:"elastic"`
	BestEffort             bool        `json:"best_effort"`
	GPUs                   float64     `json:"gpus_per_task"`
	GPUFraction            float64     `json:"gpu_fraction_per_task"`
	GPUMemMiB              int64       `json:"gpu_mem_mib_per_task"`
	Devices                int         `json:"devices_per_task"`
	CPUMillis              int64       `json:"cpu_millis_per_task"`
	MemBytes               int64       `json:"mem_bytes_per_task"`
	StaleSeconds           *float64    `json:"stale_seconds"`
	StaleGraceSeconds      *float64    `json:"stale_grace_seconds"` // negative: never
	PreemptionDelaySeconds *float64    `json:"preemption_delay_seconds"`
	StaysReleasing         bool        `json:"stays_releasing"`
	Tasks                  []Task      `json:"tasks"`
}

// Min is how many tasks a flat job needs at once: all, if it does not say.
func (j *Job) Min() int {
	if j.MinAvailable == nil {
		return len(j.Tasks)
	}
	return *j.MinAvailable
}

// Shares reports whether the job's tasks use parts of devices, on how many.
func (j *Job) Shares() (devices int) {
	if j.GPUFraction == 0 && j.GPUMemMiB == 0 {
		return 0
	}
	return max(j.Devices, 1)
}

// Group is a sub-group of a job: a leaf with tasks, or more groups.
type Group struct {
	Name               string      `json:"name"`
	MinAvailable       *int        `json:"min_available"`
	MinGroups          *int        `json:"min_groups"`
	TopologyConstraint *Constraint `json:"topology_constraint"`
	Groups             []Group     `json:"groups"`
}

// Constraint asks for tasks close to one another.
type Constraint struct {
	Topology  string `json:"topology"`
	Required  string `json:"required"`
	Preferred string `json:"preferred"`
}

// Task is a member of a job.
type Task struct {
	Name            string            `json:"name"`
	State           Status            `json:"state"`
	Node            string            `json:"node"`
	GPUGroups       []string          `json:"gpu_groups"` // labels of the shared devices it is on
	Group           string            `json:"group"`
	GPUs            *float64          `json:"gpus"` // nil: the job's
	MIG             map[string]int    `json:"mig"`
	LegacyMIG       bool              `json:"legacy_mig"`
	Priority        int               `json:"priority"`
	NodeAffinityIn  []string          `json:"node_affinity_in"`
	PodLabels       map[string]string `json:"pod_labels"`
	AffinityKey     string            `json:"pod_affinity_topology_key"`
	AntiAffinityKey string            `json:"pod_anti_affinity_topology_key"`
	Claims          []string          `json:"claims"`
	ClaimTemplates  []string          `json:"claim_templates"`
}

// DeviceClaims are devices that are asked for by name.
type DeviceClaims struct {
	Classes []string `json:"classes"`
	Slices  []Slice  `json:"slices"`
	Claims  []Claim  `json:"claims"`
}

// Slice is a node's devices of one class.
type Slice struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	Node  string `json:"node"`
	Count int    `json:"count"`
}

// Claim asks for devices of a class.
type Claim struct {
	Name             string            `json:"name"`
	Namespace        string            `json:"namespace"`
	Class            string            `json:"class"`
	Count            int               `json:"count"`
	Labels           map[string]string `json:"labels"`
	Allocated        []ClaimDevice     `json:"allocated"`
	ReservedFor      []string          `json:"reserved_for"`
	ReservedForCount int               `json:"reserved_for_count"`
}

// ClaimDevice is a device that a claim has.
type ClaimDevice struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

// Expected is the verdict. Jobs and tasks that it does not name are not judged.
type Expected struct {
	RoundsUntilMatch int                   `json:"rounds_until_match"`
	RoundsAfterMatch int                   `json:"rounds_after_match"`
	Jobs             map[string]Expect     `json:"jobs"`
	Tasks            map[string]Expect     `json:"tasks"`
	Nodes            map[string]NodeExpect `json:"nodes"`
	MaxBinds         *int                  `json:"max_binds_per_round"` // nil: any number
	MaxEvictions     *int                  `json:"max_evictions_per_round"`
	MaxPipelined     *int                  `json:"max_pipelined_per_round"`
}

// Expect is what becomes of a task, or of every task of a job. Only Status,
// Node and Vacuous decide; the rest is the source's hints and sums.
type Expect struct {
	Status                    Status   `json:"status"`
	Node                      string   `json:"node"`
	Vacuous                   bool     `json:"vacuous_upstream"` // it names nothing
	ProbablyMeant             string   `json:"probably_meant"`
	GPUGroupsHint             []string `json:"gpu_groups_hint"`
	MessageHint               string   `json:"message_hint"`
	RequestedGPUs             *float64 `json:"requested_gpus"`
	RequestedCPUMillis        *float64 `json:"requested_cpu_millis"`
	RequestedMemBytes         *float64 `json:"requested_mem_bytes"`
	AcceptedGPUs              *float64 `json:"accepted_gpus"`
	LastStartOlderThanSeconds *float64 `json:"last_start_older_than_seconds"`
}

// NodeExpect is what of a node's devices is free, and what is about to be.
type NodeExpect struct {
	IdleGPUs      *float64 `json:"idle_gpus"`
	ReleasingGPUs *float64 `json:"releasing_gpus"`
}
