package draft

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/engine/accounts"
	"github.com/musterhq/muster/internal/engine/agenda"
	"github.com/musterhq/muster/internal/engine/estimate"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// Deps is what the engine is given; it fetches nothing by itself.
type Deps struct {
	Store  store.Store
	Holder string // names this process in the leadership record
	Log    *slog.Logger
	// NewID and NewName make identities: a workload's id at a time, a name for
	// a prefix (empty: a whole made-up name).
	NewID   func(time.Time) core.WorkloadID
	NewName func(prefix string) string
	// Port proposes a rendezvous port for a gang.
	Port func() int
	// Elapsed is a stopwatch for metrics.
	Elapsed func() time.Duration
	// Images says whether a backend can run container images; Builds whether
	// images can be made and artifacts published.
	Images, Builds bool
	// Clusters are the names of all backends; nil: those that nodes are of.
	Clusters []string
	// Secrets opens what workloads refer to; nil: there are none.
	Secrets launch.Keyring
	// AsSubmitter says that tasks run as who submitted them.
	AsSubmitter bool
	// Mail says whether notifications can be sent as mail. Deliver is called
	// after a commit that has something to send, and must not wait; nil: what
	// there is to send stays in the store.
	Mail    bool
	Deliver func()
	// Address is where the other tasks of its attempt reach a task of a backend;
	// nil or empty: at its node's address.
	Address func(backendName string, id core.TaskID) string
	// Self is how tasks start this program, for the agents of mpi workloads;
	// nil: they cannot.
	Self func() []string
	// Reach is how tasks of a backend reach this server to report; nil: they
	// cannot.
	Reach func(backendName string, image bool) launch.Way
	// Policy is how work is scheduled; unless schedule.NewPolicy has made it, the
	// usual one.
	Policy schedule.Policy
	Past   Past // counts where Policy.K is not zero
	// Failed is given every fault of the scheduler, with what it takes to repeat
	// it, and must not wait; it may be called by several goroutines. nil: it is
	// only logged.
	Failed func(*schedule.Fault)
	// Models is where, on the node, models that containers write are kept until
	// they are published.
	Models string
	// NodeGrace is for how long a node may be silent before its tasks are
	// lost; 0: 5 minutes, as in Kubernetes.
	NodeGrace time.Duration
	// TaskEnv is what tasks of a workload's present attempt are given beside
	// what their document says, NAME=VALUE each; nil: nothing.
	TaskEnv func(w *core.Workload) []string
	// Meter counts what happens; nil: nobody does.
	Meter Meter
	// Permitted is given who may do what, once it is durable, and must not wait;
	// nil: nobody asks.
	Permitted func(*rbac.Policy)
	// Recorded is told that the audit log has more entries, once they are durable, and
	// must not wait; nil: nobody asks.
	Recorded func()
}

// State is what is committed, with every index over it, and what of a draft the
// indexes already show. Its parts differ in where they come from and in what a
// server that begins knows of them. Not safe for concurrent use.
type State struct {
	D Deps
	Records
	Fleet
	Indexes
	Planning
	Experience
	Writing
}

// Records are what is stored: read when a server begins, and changed by commits only.
type Records struct {
	Live     map[core.WorkloadID]*Entry // not ended (or with a timer)
	Projects map[core.ProjectID]core.Project
	Pools    map[string]core.Pool
	Reserved map[string]core.Reservation
	licenses map[string]core.License
	Settings map[core.NodeID]core.NodeSetting // what was said of nodes
	secrets  map[core.SecretID]core.Secret
	// subscribed are the subscriptions of each user, by name.
	subscribed     map[string][]core.Subscription
	Watchers       []core.Subscription               // those to everyone's workloads
	Templates      map[core.TemplateID]core.Template // schedules too
	Policies       map[policy.ID]Policy
	Checks         map[core.TemplateID]ScopeCheck           // of Templates
	Delegations    map[core.TemplateID]admission.Delegation // of Templates
	bounds         map[string]core.UserBound                // what users may have over all projects
	priced         *core.Template                           // the record of what GPUs cost; nil: there is none
	Promised       map[core.WorkloadID]Promise              // for whom others were told to leave
	StoredPromises []core.Promise                           // promised as it is stored, in line
	Seq            store.Counters
	Rights         *rbac.Policy // who may do what
	Audited        audit.Head   // the last entry of the audit log
}

// Fleet is what backends have said since the server began; they say it anew to the
// next one.
type Fleet struct {
	Reported  map[core.NodeID]core.Node // as their backends say
	Departed  map[core.NodeID]struct{}  // of reported: those that no backend has any more, and on which something is held
	Nodes     map[core.NodeID]core.Node // reported, with their settings and pools
	Complete  bool                      // every node is known on which something is held
	Cut       map[string]Silence        // backends that do not answer
	Connected map[string]bool           // backends that have answered, and not been cut off since
	Begun     time.Time                 // of the first command
	Claims    claims
	Strays    map[core.TaskID]Stray // that were told to end
}

// Indexes follow from records and fleet: Reindex makes them anew, Index and Unindex
// keep them.
type Indexes struct {
	Names    map[FullName]core.WorkloadID // of live
	Held     map[core.WorkloadID]struct{} // workloads whose phase holds resources
	Wanting  map[core.WorkloadID]struct{} // who has something to be placed
	Usage    map[core.NodeID]*Usage
	Timers   timers
	Awaited  awaitedBy
	Queued   accounts.Queued
	Waiting  accounts.Waiting
	Instants instants // at which a plan may come out differently
	// Governing is what policies come to by project and kind; nil: nobody has asked
	// since they changed.
	Governing map[Governed]*policy.Effective
	Agenda    agenda.Agenda // of schedules
}

// Planning is what the scheduler has been told, and what it has not been told yet.
// Reindex begins it anew.
type Planning struct {
	Sched   *state.State             // what the scheduler knows: all that hold or want something
	Bare    *state.State             // the nodes with nothing on them: what can ever fit
	Tree    org.Tree                 // of projects, as the present draft has it
	Dirty   bool                     // something changed that a cycle should look at
	Stale   bool                     // nodes are not as the scheduler knows them
	Renewed map[core.NodeID]struct{} // which of them may not be
	Regroup bool                     // nor are queues and pools
	choosy  bool                     // some nodes do not run everything
	shunned map[core.WorkloadID]bool // of whom some node has said that others keep them away
	Planned time.Time                // when the last plan was made
}

// Experience is what the server has learnt while it ran, and reads from the store or
// learns again after a restart.
type Experience struct {
	Insight *estimate.Learnt
	Work    []fragmentation.Shape // what is usual here
	Learnt  int64                 // submissions when that was last looked at
	Past    past
	// When work that is up has probably ended, whose end is to be foreseen, and
	// when each has to be looked at again.
	Expected   map[core.WorkloadID]Expectation
	Unforeseen map[core.WorkloadID]struct{}
	Foreseen   timers
	Aside      map[core.WorkloadID]SetAside // over whom the scheduler has failed
	Simple     time.Time                    // until when it only places, as it fails at more
	Waits      map[core.WorkloadID]Asked    // of the last census
	// Spending is what was used of budgets, see package spending. Reindex forgets it.
	Spending accounts.Spending
}

// Writing is how far the one writer is: the present round, and the commits.
type Writing struct {
	Now      time.Time // of the present round, or of the last
	Actions  []Action
	RetryAt  time.Time // after a failed commit; else zero
	Stats    stats
	LostTerm error // another process writes now
	term     store.Term
	swept    time.Time // when old idempotency keys were last dropped
	publish  func([]Change)
}

// Asked is why a workload waited when a census last asked that.
type Asked struct {
	Reason string
	At     time.Time // zero: never
}

// stats count what has happened since the start, for metrics.
type stats struct {
	Commits int64
	Spent   time.Duration
	Entered map[lifecycle.Phase]int64
}

// FullName is a name in its project.
type FullName struct {
	Project core.ProjectID
	Name    string
}

// Entry is a live workload with the tasks of its present attempt, by index, each
// by its last run.
type Entry struct {
	W     *core.Workload
	Tasks *workload.Tasks
	// seen is when each task was last reported, or its backend asked to start it, by
	// the caller's clock; a full observation that began earlier cannot prove its
	// absence.
	Seen map[int]time.Time
}

// Command is one use case, which answers an R: it drafts changes on tx, or returns
// an error having drafted nothing.
type Command[R any] func(tx *Tx) (R, error)

// Nothing is what a command answers that only changes something: nil.
type Nothing *struct{}

// Work is what a round carries out: a command, whatever it answers.
type Work interface{ Do(tx *Tx) error }

// Do carries out a command whose answer nobody waits for.
func (c Command[R]) Do(tx *Tx) error {
	_, err := c(tx)
	return err
}

// Question is a command whose answer somebody waits for. The answer is true once the
// round that carried the command out is committed.
type Question[R any] struct {
	Command Command[R]
	Answer  R
}

// Do carries out the command and keeps its answer.
func (q *Question[R]) Do(tx *Tx) (err error) {
	q.Answer, err = q.Command(tx)
	return err
}

// Change is a committed change of one workload.
type Change struct {
	Workload    *core.Workload
	Former      []*core.Task // last words of an attempt that this change has ended
	Tasks       []*core.Task // of the present attempt, by index: all of a few, else the changed ones
	Partial     bool         // Tasks are not all of the present attempt
	Transitions []core.Transition
}

// Load is the state as the store has it, whose writer d becomes.
func Load(ctx context.Context, d Deps, publish func([]Change)) (*State, error) {
	if !d.Policy.Made() {
		d.Policy = schedule.NewPolicy()
	}
	e := &State{
		D: d,
		Fleet: Fleet{
			Reported: map[core.NodeID]core.Node{}, Departed: map[core.NodeID]struct{}{}, Nodes: map[core.NodeID]core.Node{},
			Cut: map[string]Silence{}, Connected: map[string]bool{}, Claims: newClaims(), Strays: map[core.TaskID]Stray{},
		},
		Planning: Planning{Renewed: map[core.NodeID]struct{}{}, shunned: map[core.WorkloadID]bool{}},
		Experience: Experience{
			Insight: estimate.New(), Aside: map[core.WorkloadID]SetAside{},
			Expected: map[core.WorkloadID]Expectation{}, Unforeseen: map[core.WorkloadID]struct{}{},
		},
		Writing: Writing{publish: publish, Stats: stats{Entered: map[lifecycle.Phase]int64{}}},
	}
	if e.D.Meter != nil {
		e.Insight.Score.Off = e.D.Meter.Estimated
	}
	var err error
	if e.term, err = d.Store.Acquire(ctx, d.Holder); err != nil {
		return nil, fmt.Errorf("become the writer: %w", err)
	}
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	if err := e.Insight.Seed(ctx, d.Store); err != nil {
		d.Log.Warn("estimates of starts begin without experience", "err", err)
	}
	return e, nil
}

// Deposed says that another process has become the writer; nothing that this
// engine does can succeed any more.
func (e *State) Deposed() error { return e.LostTerm }

// NextWake is when the next timer is due, or what could not be stored is to be
// tried again; zero: never.
func (e *State) NextWake() time.Time {
	if !e.RetryAt.IsZero() {
		return e.RetryAt
	}
	at := workload.Earliest(workload.Earliest(e.Timers.next(), e.Agenda.Next(e.Now)), e.Spending.Next())
	if len(e.Wanting) > 0 {
		at = workload.Earliest(at, e.Instants.next())
	}
	return at
}

// TakeActions returns what the backends are to do because of what has been
// committed, in order, and forgets it.
func (e *State) TakeActions() []Action {
	a := e.Actions
	e.Actions = nil
	return a
}

// Sorted returns the tasks by index.
func (en *Entry) Sorted() []*core.Task {
	return workload.SortedTasks(en.Tasks)
}

// SetAside says how long the scheduler plans without a workload.
type SetAside struct {
	Until time.Time
	Times int  // how often it has failed over it
	Back  bool // it is planned again
}

// NewState is a state that knows nothing yet.
func (e *State) NewState() *state.State { return state.NewState(e.Policy().Config) }

// Policy is how work is scheduled at present.
func (e *State) Policy() *schedule.Policy {
	if e.Simple.IsZero() {
		return &e.D.Policy
	}
	p := e.D.Policy.Simple()
	return &p
}

// Failed tells of a fault of the scheduler.
func (e *State) Failed(f *schedule.Fault) {
	e.D.Log.Error("the scheduler failed", "workload", f.Job, "err", f.What, "stack", f.Stack)
	if e.D.Failed != nil {
		e.D.Failed(f)
	}
}

// Silence is that of a backend which does not answer.
type Silence struct {
	Since   time.Time
	Message string // why, in the backend's words
}

// Stray is a task of a backend that was told to end because nobody claims it.
type Stray struct {
	Backend string
	At      time.Time
}

// Past says how what projects have had lately counts in their fair shares.
type Past struct {
	Window   time.Duration // how far back; 0: a week
	HalfLife time.Duration // what is older by this counts half; 0: no decay
}

// past is what queues have had, by pool. It is not stored by itself: a server
// that begins reads it from the tasks that there have been.
type past struct {
	Of   map[PastKey]*quota.Usage
	Read bool // from the store, for the time before
	// Tried is when that was last tried in vain: it is a walk over all tasks.
	Tried time.Time
	// PassedAt is when the scheduler was last given them: shares change slowly. Zero: it
	// has forgotten.
	PassedAt time.Time
}

// PastKey is a queue in a pool.
type PastKey struct {
	Pool  string
	Queue core.ProjectID
}

// Usage is what a queue has had of a pool.
func (p *past) Usage(how Past, k PastKey) *quota.Usage {
	u := p.Of[k]
	if u == nil {
		u = quota.NewUsage(how.Window, how.HalfLife)
		Put(&p.Of, k, u)
	}
	return u
}
