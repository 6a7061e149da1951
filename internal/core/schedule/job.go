package schedule

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// Need is what one task needs. Zero fields need nothing.
type Need struct {
	Devices   int    // GPUs
	Milli     int    // of each, thousandths; 1000 is a whole one
	GPUMemory int64  `json:"Share"` // instead of Milli: bytes of the memory of each; files of faults keep their keys
	Type      string // the product must contain this, whatever the case
	CPU       int64  // thousandths of cores
	Memory    int64  // bytes
	Extended  string `json:"MIG"` // extended resources, partitions among them: whatever is counted by name, "1g.5gb=2,rdma/hca=1", sorted
	Never     bool   // a task of a kind that is never placed
}

// Rule is where a task may go beside what it needs.
type Rule struct {
	Terms     []Term
	Any       [][]Term // all terms of one of these must hold, too; empty: no matter
	Tolerates []Toleration
	// Near and Away demand, resp. forbid, tasks with the same Tags in the same
	// domain of that node label; empty: no matter.
	Near, Away string
	Tags       string // of the task itself, for others' Near and Away
	// Alone has the task share its node only with tasks that say the same, with
	// none where that is AloneEach; empty: with all that say nothing.
	Alone      string
	PlaceNever bool
}

// Term is a condition on a node's labels; all of a rule's must hold.
type Term struct {
	Key    string
	Op     string // In, NotIn, Exists, DoesNotExist, Gt, Lt
	Values []string
}

// Toleration lets a task go to nodes with a taint.
type Toleration struct {
	Key    string // empty: any
	Value  string // empty: any
	Effect string // empty: any
}

// Topology binds the tasks of a set to one domain of the network.
type Topology struct {
	Levels    []string // node label keys, the widest first
	Required  string   // level within which all must be; empty: none
	Preferred string   // level within which all should be; empty: none
}

// Run is a number of equal tasks that are still to be placed.
type Run struct {
	Need  Need
	Rule  *Rule // nil: anywhere
	Count int
}

// Group is a set of tasks of which Min run together or none.
type Group struct {
	Name     string
	Set      int // the set it belongs to, an index of Shape.Sets
	Min      int
	Runs     []Run // still to be placed, in this order
	Topology *Topology
	// Segment is how many tasks each segment of the job has, if the group is one
	// of them: what its Topology says is then of every segment for itself. The
	// last may have fewer.
	Segment int
}

// Set is an inner node of a job's tree of groups. The first is the job itself.
type Set struct {
	Parent    int // index of Shape.Sets; -1 for the first
	MinGroups int // members that must be whole; 0: all
	Topology  *Topology
}

// Shape is everything about a job's tasks that decides where it can go. Jobs
// of one queue whose shapes have equal keys are interchangeable but for age.
type Shape struct {
	Key    string `json:"-"`
	Sets   []Set
	Groups []Group
}

// Flat returns the shape of a job with one set.
func Flat(groups ...Group) *Shape { return NewShape([]Set{{Parent: -1}}, groups) }

// NewShape returns a shape with its key.
func NewShape(sets []Set, groups []Group) *Shape {
	k := make(Key, 0, 128)
	k.shape(sets, groups)
	return &Shape{Key: string(k), Sets: sets, Groups: groups}
}

func (n Need) Key() string {
	k := make(Key, 0, 64)
	k.Need(&n)
	return string(k)
}

// Job is one workload as the scheduler sees it: what it holds, and what it
// still wants.
type Job struct {
	ID          core.WorkloadID
	Queue       core.ProjectID
	User        string
	Priority    int
	Preemptible bool
	Turn        int64    // unix ms as of which it stands in line among those of its queue and priority; 0: by its age alone
	Order       int64    // its age: smaller is older; no two jobs share one
	Pools       []string // tried in this order, never mixed; empty: any one
	Shape       *Shape
	Held        []Held
	StartBy     int64   // unix ms by which it has to start to be done by its deadline; 0: any time will do
	Licenses    []Count // that it holds from its placement to its end, by name
	// Due is from when it makes others leave who have had more, if nothing else
	// helps; unix ms, 0: never. Attained is what it had before Started, in ms.
	Due, Attained int64
	Since         int64 // unix ms since when it waits, or waited before its start; 0: unknown
	Starved       int64 // unix ms from when everybody gives way to it who has run for a while, if it is due; 0: never
	Displaced     int   // how often it had to leave for others
	Expected      int64 // ms that it probably still takes, once it runs; 0: unknown
	Unsaved       bool  // what it has done since Started is lost if it has to leave
	Promised      bool  // others were told to leave for it: it goes first
	Rank          int   // its place among those who are promised something; 0: none
	Owed          int   // for how many of its tasks others leave; 0: nobody has counted
	Moved         bool  // it left its place for another's sake: it goes after them
	Started       int64 // unix ms since when it has held its minimum; 0: it has not
	MaxRun        int64 // ms after its start by which it has ended for sure; 0: unknown
	EndsBy        int64 // unix ms; 0: unknown
	Likely        int64 // unix ms at which such jobs usually end; 0: unknown
	BelowSince    int64 // unix ms since when its gang has been below its minimum; 0: it is not
	Done          []int // per group: tasks that have ended well and count as placed; nil: none
	StaleGrace    *int64
	// Aside is that it gets nothing and gives nothing up: the scheduler has failed
	// while it looked at it.
	Aside      bool
	AsideUntil int64   // unix ms
	Patient    int64   // unix ms before which it displaces nobody; 0: it need not wait
	Window     string  // that it is to be in; empty: none
	Earmark    Earmark // quota that it has though it holds nothing
	Booked     Booking // the time to start that it was told; zero: none
}

// Booking is a time to start that a job was told: by then it has room.
type Booking struct {
	At    int64 // unix ms
	Since int64 // unix ms since when it has had one, be it another
	Pool  string
}

// Held is a task with a place.
type Held struct {
	Group   int // index of Shape.Groups
	Task    int // the caller's number for it
	Need    Need
	Rule    *Rule
	Place   Place
	Leaving bool // was told to end
	Stuck   bool // was told to end, and nobody knows when it will
}

// Place is one task's room on a node.
type Place struct {
	Node     core.NodeID
	Devices  []core.Share
	CPU      int64
	Memory   int64
	Extended string `json:"MIG"`
}

// Wants is how many tasks the group has still to place.
func (g *Group) Wants() int {
	n := 0
	for _, r := range g.Runs {
		n += r.Count
	}
	return n
}

// Earmark is quota that is reserved for a job which holds nothing yet: it counts
// against quotas, limits and shares as if its tasks had their places, and no place
// is kept for them.
type Earmark struct {
	Pool    string // empty: nothing is reserved
	Amounts quota.Amounts
}
