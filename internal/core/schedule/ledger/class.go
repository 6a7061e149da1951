package ledger

import (
	"github.com/musterhq/muster/internal/core/quota"
)

// Class is the job classes whose jobs want the same of the same pools, whatever their
// queues and priorities: whether there is a site for one there is for all. Job classes
// of jobs that hold something or are promised it are in classes of their own,
// for each of them has to be looked at.
type Class struct {
	Key        ClassKey
	Pools      []string // to be tried, in this order; nil: all
	JobClasses []*JobClass
	At         int      // its place among all
	Asks       [][]*Ask // by group and run
	Options    [][]Try  // once known
	known      bool
	priced     []quota.Amounts // what each option counts for in pricedIn
	pricedIn   *Pool
	pricedAt   uint64      // its shape
	Bookable   []bool      // by option: whether there will be room; empty: there is
	Begun      []*JobClass // of whom a job was placed in cycle since
	Since      uint64
	Kept       Vain
	Keeps      Room // of which all that are alike keep out
	Vain       Vain
	Sought     Sought
}

// Sought is whether there was any room for what a class wants when that was looked
// for last.
type Sought struct {
	Pool       *Pool
	Cycle, Ops uint64
	Found      bool
}

// ClassKey tells apart what does not want the same of the same pools.
type ClassKey struct {
	Shape, Pools string
	Pass         Pass
	Own          bool
}

// Vain is a consolidation of somebody of a class that came to nothing because
// not even with all gone who may be moved there was enough room. Who is moved,
// and in which order, is the same for all of the class, so that it holds for the
// others until somebody gets a place.
type Vain struct {
	Pool   *Pool
	Cycle  uint64
	Log    int // of that cycle
	Booked int // how many had a time to start by then
}

// Room is that of a pool in one cycle.
type Room struct {
	Pool  *Pool
	Cycle uint64
}
