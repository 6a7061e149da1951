package ledger

import (
	"github.com/musterhq/muster/internal/core/quota"
)

// Class is the job classes whose jobs want the same of the same pools, whatever their
// queues and priorities: whether there is a site for one there is for all. Job classes
// of jobs that hold something or are promised it are in classes of their own,
// for each of them has to be looked at.
type Class struct {
	Key          ClassKey
	Pools        []string // to be tried, in this order; nil: all
	JobClasses   []*JobClass
	At           int      // its place among all
	Asks         [][]*Ask // by group and run
	Options      [][]Try  // once known
	known        bool
	priced       []quota.Amounts // what each option counts for in pricedIn
	pricedIn     *Pool
	pricedAt     uint64      // its shape
	Bookable     []bool      // by option: whether there will be room; empty: there is
	Begun        []*JobClass // of whom a job was placed in cycle since
	Since        uint64
	Kept         Kept
	Consolidated Vain
	Reclaimed    Vain
	Sought       Sought
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

// Vain is a search for those who would make room for one of a class that came to
// nothing. It would for the others, too, until somebody gets a place: who is moved,
// and in which order, is the same for all of a class; and not even with all gone
// who may be made to leave there is enough room, for all whose queues have the same
// parent, are within their quota or not as that one was, and from whom no fewer are
// protected.
type Vain struct {
	Pool     *Pool
	Cycle    uint64
	Log      int   // of that cycle
	Parent   int32 // of the queue
	Within   bool  // with what was sought the queue keeps within its quota
	Hard     bool  // it was looked for among those as well who had to leave before and were spared
	Shields  bool  // somebody was spared who had to leave before
	Expected int64 // how long the job probably takes, in ms
	Since    int64 // since when it waits, in unix ms; Never: that is not known
}

// Kept is an allocation that came to nothing since somebody has a time to start.
type Kept struct {
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
