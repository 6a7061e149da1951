package schedule

import (
	"github.com/musterhq/muster/internal/core"
)

// Plan is what is to be done now.
type Plan struct {
	Placements []Placement // start at once; a gang's minimum is whole in it
	Promises   []Placement // in the order in which they were placed: start once those who were told to leave have left
	Evictions  []Eviction
	// Bookings are whose time to start is not what the job says that it was told.
	Bookings []Booked
}

// Booked is the time to start that a job is to be told; zero: it has none any
// more.
type Booked struct {
	ID core.WorkloadID
	Booking
}

// Placement puts tasks of one job on nodes.
type Placement struct {
	ID    core.WorkloadID
	Tasks []Placed
	Takes Earmark // what the tasks that start now count for, in quotas
}

// Placed is one task: the Task-th of those that its group still has to place
// (negative numbers never occur), or a running one that moves.
type Placed struct {
	Group int
	Task  int
	Moves bool // Task is the caller's number of a task that leaves its place for this one
	Later bool
	Place Place
}

// Eviction ends tasks of a job; without tasks it takes back what is reserved for one
// that holds nothing.
type Eviction struct {
	ID    core.WorkloadID
	For   core.WorkloadID // who gets the room; empty: nobody
	Cause Action
	Tasks []int // the caller's numbers
	Whole bool  // these are all that it holds
	Moves bool  // all of them get a new place in the same plan
	// Window is the one that begins, where that is the cause.
	Window string
}
