// Package schedule decides which waiting workload goes where: Cycle is a pure
// function from a snapshot to a plan. It knows nothing of planes, stores or
// clocks, and answers everyone: whoever is not placed gets an explanation.
//
// Equal waiting jobs are handled as one class, so a cycle costs what changed
// and what differs, not how many wait.
package schedule

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// Snapshot is everything that may matter to a plan.
type Snapshot struct {
	Revision core.Revision
	Now      int64 // unix milliseconds
	Seed     uint64
	Nodes    []Node
	Queues   []Queue
	Running  []Job // hold resources; their Places say where
	Waiting  []Class
}

// Config switches what the caller does not want of the scheduler.
type Config struct {
	Placement Strategy
}

// Strategy says how nodes are chosen for a task that fits on several.
type Strategy string

// The placement strategies. The zero value is BinPack.
const (
	BinPack Strategy = ""       // fullest node that fits
	Spread  Strategy = "spread" // emptiest node
)

// Node is a node with what is taken of it.
type Node struct {
	core.Node
	UsedCPU    int64
	UsedMemory int64
	UsedMilli  []int // per device of Node.Devices, thousandths
}

// Queue is a node of the queue tree: a department or a project.
type Queue struct {
	ID      core.ProjectID
	Parent  core.ProjectID // empty: top level
	Stopped bool
}

// Need is what one task needs. Zero fields need nothing.
type Need struct {
	Devices int    // GPUs
	Milli   int    // of each device, thousandths; 1000 is a whole one
	Type    string // product must contain this, whatever the case
	CPU     int64  // thousandths of cores
	Memory  int64  // bytes
}

// Group is a set of equal tasks of one job.
type Group struct {
	Name  string
	Count int // tasks to place
	Min   int // placed together or not at all; what is above comes one by one
	Need  Need
}

// Shape is everything about a job that decides where it can go. Jobs of equal
// Key are interchangeable but for their order.
type Shape struct {
	Key    string
	Groups []Group
	Pools  []string // tried in this order, never mixed; empty: any one pool
}

// NewShape returns a shape with its key.
func NewShape(groups []Group, pools []string) *Shape {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "%s:%d/%d:%d*%d%q,%d,%d;", g.Name, g.Min, g.Count, g.Need.Devices, g.Need.Milli, g.Need.Type, g.Need.CPU, g.Need.Memory)
	}
	b.WriteString(strings.Join(pools, ","))
	return &Shape{Key: b.String(), Groups: groups, Pools: pools}
}

// Class is all waiting jobs of one queue, priority and shape, oldest first.
type Class struct {
	Queue       core.ProjectID
	Priority    int
	Preemptible bool
	Shape       *Shape
	Jobs        []Waiter
}

// Waiter is one waiting job of a class. Order is its age: smaller is older,
// and no two jobs share one.
type Waiter struct {
	ID    core.WorkloadID
	Order int64
	Since int64 // unix milliseconds
}

// Job is a job that holds resources.
type Job struct {
	ID          core.WorkloadID
	Queue       core.ProjectID
	Priority    int
	Preemptible bool
	Started     int64 // unix milliseconds
	EndsBy      int64 // unix milliseconds; 0: unknown
	Leaving     bool  // is being ended already
	Places      []Place
}

// Place is one task on a node.
type Place struct {
	Group   string
	Node    core.NodeID
	Devices []core.Share
	CPU     int64
	Memory  int64
}

// Plan answers everyone in the snapshot.
type Plan struct {
	Revision   core.Revision
	Placements []Placement
	Evictions  []Eviction
	Promises   []Promise
	// Verdicts says why what is left of each class waits, by the class's
	// position in the snapshot; nil where nothing of it is left.
	Verdicts []*Verdict
	// Left is how many jobs of each class still wait, by position.
	Left []int
}

// Placement puts tasks of one job on nodes. A gang's minimum is whole in it.
type Placement struct {
	ID    core.WorkloadID
	Tasks []Place
}

// Eviction ends a running job for another's placement.
type Eviction struct {
	ID    core.WorkloadID
	For   core.WorkloadID
	Cause Token
}

// Promise says that a job will start there once named others have left.
type Promise struct {
	ID      core.WorkloadID
	Waiting []core.WorkloadID
	Tasks   []Place
}
