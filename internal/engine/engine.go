// Package engine turns the pure core into a program, and is itself one without a
// clock, a goroutine or a lock. The Engine is the one writer: it holds the live
// state in memory, applies commands, timers and the scheduler's plan to a draft,
// commits the draft in one durable batch, and only then shows it to anyone or asks
// a backend to act on it. Control drives it in real time, the simulator in virtual
// time.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/engine/estimate"
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
	Secrets Keyring
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
	Reach func(backendName string, image bool) Way
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
}

// Engine is the one writer. Not safe for concurrent use.
type Engine struct {
	D    Deps
	term store.Term
	seq  store.Counters

	live     map[core.WorkloadID]*entry // committed, not ended (or with a timer)
	names    map[name]core.WorkloadID   // of live
	projects map[core.ProjectID]core.Project
	secrets  map[core.SecretID]core.Secret
	// subscribed are the subscriptions of each user, by name.
	subscribed map[string][]core.Subscription
	watchers   []core.Subscription // those to everyone's workloads
	// templates are all templates.
	templates map[core.TemplateID]core.Template
	pools     map[string]core.Pool
	reserved  map[string]core.Reservation
	licenses  map[string]core.License
	settings  map[core.NodeID]core.NodeSetting // what was said of nodes
	reported  map[core.NodeID]core.Node        // as their backends say
	departed  map[core.NodeID]struct{}         // of reported: those that no backend has any more, and on which something is held
	nodes     map[core.NodeID]core.Node        // reported, with their settings and pools

	cut   map[string]Silence // backends that do not answer
	heard map[string]bool    // backends that have answered, and not been cut off since

	sched   *state.State                 // what the scheduler knows: all that hold or want something
	bare    *state.State                 // the nodes with nothing on them: what can ever fit
	stale   bool                         // nodes are not as the scheduler knows them
	renewed map[core.NodeID]struct{}     // which of them may not be
	choosy  bool                         // some nodes do not run everything
	shunned map[core.WorkloadID]bool     // of whom some node has said that others keep them away
	regroup bool                         // nor are queues and pools
	tree    org.Tree                     // of projects, as the present draft has it
	work    []fragmentation.Shape        // what is usual here
	aside   map[core.WorkloadID]setAside // over whom the scheduler has failed
	simple  time.Time                    // until when it only places, as it fails at more
	learnt  int64                        // submissions when that was last looked at
	past    past
	now     time.Time // of the present round, or of the last
	Planned time.Time // when the last plan was made
	// When work that is up has probably ended, whose end is to be foreseen, and
	// when each has to be looked at again.
	expected   map[core.WorkloadID]expectation
	unforeseen map[core.WorkloadID]struct{}
	foreseen   timers
	promised   map[core.WorkloadID]promise // for whom others were told to leave
	pledged    []core.Promise              // promised as it is stored, in line
	begun      time.Time                   // of the first command
	complete   bool                        // every node is known on which something is held
	usage      map[core.NodeID]*usage
	held       map[core.WorkloadID]struct{} // workloads whose phase holds resources
	timers     timers
	awaited    awaitedBy
	instants   instants                     // at which a plan may come out differently
	wanting    map[core.WorkloadID]struct{} // who has something to be placed
	dirty      bool                         // something changed that a cycle should look at
	retryAt    time.Time                    // after a failed commit; else zero
	actions    []Action
	Claims     claims
	strays     map[core.TaskID]stray // that were told to end
	swept      time.Time             // when old idempotency keys were last dropped
	deposed    error                 // another process writes now
	publish    func([]Change)
	stats      stats
	Insight    *estimate.Learnt
	waits      map[core.WorkloadID]asked // of the last census
}

// stats count what has happened since the start, for metrics.
type stats struct {
	commits int64
	spent   time.Duration
	entered map[lifecycle.Phase]int64
}

type name struct {
	project core.ProjectID
	name    string
}

// entry is a live workload with the tasks of its present attempt, by index, each
// by its last run.
type entry struct {
	w     *core.Workload
	tasks map[int]*core.Task
	// seen is when each task was last reported, or its backend asked to start it, by
	// the caller's clock; a full observation that began earlier cannot prove its
	// absence.
	seen map[int]time.Time
}

// Command is one use case: it drafts changes on tx, or returns an error having
// drafted nothing.
type Command func(tx *tx) (any, error)

// Result is what became of a command.
type Result struct {
	Value any
	Err   error
}

// Change is a committed change of one workload.
type Change struct {
	Workload    *core.Workload
	Former      []*core.Task // last words of an attempt that this change has ended
	Tasks       []*core.Task // of the present attempt, by index: all of a few, else the changed ones
	Partial     bool         // Tasks are not all of the present attempt
	Transitions []core.Transition
}

// Open loads everything needed to continue from the store and becomes its
// writer.
func Open(ctx context.Context, d Deps, publish func([]Change)) (*Engine, error) {
	if !d.Policy.Made() {
		d.Policy = schedule.NewPolicy()
	}
	e := &Engine{D: d, publish: publish, renewed: map[core.NodeID]struct{}{}, reported: map[core.NodeID]core.Node{}, departed: map[core.NodeID]struct{}{}, nodes: map[core.NodeID]core.Node{}, strays: map[core.TaskID]stray{}, cut: map[string]Silence{}, shunned: map[core.WorkloadID]bool{}, heard: map[string]bool{}, Claims: newClaims(), aside: map[core.WorkloadID]setAside{}, expected: map[core.WorkloadID]expectation{}, unforeseen: map[core.WorkloadID]struct{}{}, Insight: estimate.New(), stats: stats{entered: map[lifecycle.Phase]int64{}}}
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

// Do applies commands, due timers and, where something changed, the
// scheduler's plan; commits all of it at once; publishes it. When the commit
// fails every command fails and nothing has changed.
func (e *Engine) Do(ctx context.Context, now time.Time, commands []Command) []Result {
	tx := &tx{e: e, ctx: ctx, now: now.Truncate(time.Microsecond), drafts: map[core.WorkloadID]*draft{}}
	e.tree, e.now = tx.tree(), tx.now
	tx.look()
	tx.remember()
	tx.depart()
	results := make([]Result, len(commands))
	for i, c := range commands {
		results[i].Value, results[i].Err = c(tx)
	}
	tx.settleClaims()
	tx.wake()
	if e.instants.passed(tx.now) && len(e.wanting) > 0 {
		e.dirty = true
	}
	tx.heedAll()
	for e.dirty {
		e.dirty = false
		began := e.D.Elapsed()
		tx.schedule()
		if e.D.Meter != nil {
			e.D.Meter.Planned(e.D.Elapsed() - began)
		}
		if len(tx.moved) == 0 {
			break
		}
		tx.heedAll()
	}
	if err := tx.commit(); err != nil {
		e.D.Log.Error("commit failed", "err", err)
		for i := range results {
			results[i] = Result{Err: fromStore(err)}
		}
		e.retryAt = tx.now.Add(commitRetry)
		tx.org = organisation{}
		tx.survey()
		e.pledge(e.pledged)
		e.reindex() // the draft has touched the indexes; what is committed is the truth
		if errors.Is(err, store.ErrTermLost) {
			e.deposed = err
		}
		return results
	}
	e.retryAt = time.Time{}
	return results
}

// Deposed says that another process has become the writer; nothing that this
// engine does can succeed any more.
func (e *Engine) Deposed() error { return e.deposed }

// commitRetry is the pause before timers and the plan are tried again whose
// commit failed.
const commitRetry = time.Second

// NextWake is when the next timer is due, or what could not be stored is to be
// tried again; zero: never.
func (e *Engine) NextWake() time.Time {
	if !e.retryAt.IsZero() {
		return e.retryAt
	}
	at := e.timers.next()
	if len(e.wanting) > 0 {
		at = earliest(at, e.instants.next())
	}
	return at
}

// TakeActions returns what the backends are to do because of what has been
// committed, in order, and forgets it.
func (e *Engine) TakeActions() []Action {
	a := e.actions
	e.actions = nil
	return a
}

// Resume returns the actions that bring the backends to the committed state after
// a restart: every held task that may not have been started is started (a
// no-op where it was), every one being ended is ended.
func (e *Engine) Resume() {
	tx := &tx{e: e, drafts: map[core.WorkloadID]*draft{}}
	ids := make([]core.WorkloadID, 0, len(e.held))
	for id := range e.held {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		en := e.live[id]
		for _, t := range en.sorted() {
			switch {
			case t.State == core.TaskStarting && t.RestartAt.IsZero() && en.w.Phase != lifecycle.Terminating && en.w.Phase != lifecycle.Restarting:
				tx.start(en.w, t)
			case t.State == core.TaskStopping:
				tx.stop(t, en.w.Grace())
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.live)) {
		tx.resumeOperations(e.live[id].w)
	}
	e.actions = append(e.actions, tx.actions...)
}

// sorted returns the tasks by index.
func (en *entry) sorted() []*core.Task {
	return sortedTasks(en.tasks)
}

func sortedTasks(m map[int]*core.Task) []*core.Task {
	all := make([]*core.Task, 0, len(m))
	for _, t := range m {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *core.Task) int { return cmp.Compare(a.ID.Index, b.ID.Index) })
	return all
}
