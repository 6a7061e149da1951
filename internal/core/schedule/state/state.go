// Package state is what the scheduler knows of nodes, queues and jobs, with its
// indexes. It is given nodes and jobs as they change, and says at once what is
// free where, who is to be served next and what the quotas allow. Steps of a
// trial go through its journal, which takes them back. Its fields are for the
// packages of the scheduler only.
package state

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/queues"
)

// State is what the scheduler knows, with its indexes, kept between cycles, so
// that a cycle costs what changed and what differs, not how much there is.
// It is not safe for use by several goroutines.
type State struct {
	ledger.Nodes
	ledger.Asks
	*queues.Queues
	Waiting
	ledger.Journal
	Now       int64
	Jobs      map[core.WorkloadID]*ledger.Job
	Tenants   map[core.NodeID]map[core.WorkloadID]*ledger.Job // who holds something there, be the node known or not
	Lic       Licenses
	Below     map[core.WorkloadID]*ledger.Job // gangs that are below their minimum
	Scopes    []*ledger.Subset                // parts of pools that are being tried
	Firm      bool                            // segments are where they should be, not only where they must
	Empty     *State                          // the same nodes with nothing on them; nil: not known
	Version   uint64                          // grows whenever something is put or dropped
	Announced map[core.WorkloadID]*ledger.Job // who was told a time to start
	Marks     map[core.WorkloadID]*ledger.Job // who has an earmark
	Ends      []*ledger.Job                   // as inOrderOfEnd says; nil: not known
	Quiet     Quiet
	slots     []slot             // of the line that is walked, by queue
	lines     uint64             // that there were
	cursors   []Cursor           // room for those of a line
	Picked    []*ledger.JobClass // room for the job classes of a visit
	Due       int64              // nobody who waits is due before
	// TakesTurns is that more job classes are due than room is looked for at a time,
	// so that the next minute has others looked at.
	TakesTurns bool
	unsaved    int               // of those who run, how many lose what they did if they have to leave
	counted    []string          // pools, when demand was counted
	recount    bool              // all demand is to be counted again
	Passed     []*ledger.Account // with victims who are gone in this cycle
	Sight      uint64            // counts the times that sites were looked at, each once
	Cycles     uint64            // that there were
	// forgetful makes every search look for itself: so tests find out whether what
	// is remembered is true.
	Forgetful bool
	Win       Windows
	went      map[*ledger.Hold]int // for Shorten
	seats     int                  // holds of all jobs, but for those of the present cycle
	At        *ledger.Job          // who is being looked at; nil: nobody
	steps     int                  // of that look
	Most      int                  // steps that it may take; 0: any number
}

// NewState returns a state that knows nothing yet.
func NewState(cfg schedule.Config) *State {
	st := &State{
		Nodes: ledger.Nodes{Cfg: cfg, Pools: map[string]*ledger.Pool{}, Sites: map[core.NodeID]*ledger.Site{}}, Asks: ledger.Asks{All: map[string]*ledger.Ask{}}, Waiting: newWaiting(),
		Jobs: map[core.WorkloadID]*ledger.Job{}, Tenants: map[core.NodeID]map[core.WorkloadID]*ledger.Job{}, Due: ledger.Never, Below: map[core.WorkloadID]*ledger.Job{}, Announced: map[core.WorkloadID]*ledger.Job{},
	}
	st.Queues = queues.New(nil, &st.Cfg)
	return st
}

// Classes is how many classes of interchangeable jobs wait.
func (st *State) Classes() int { return len(st.JobClasses) }
