package lifecycle

import "slices"

// Guard is a condition on the state that a rule needs beside its phase.
type Guard string

// The guards. They look at the state only, so replay can evaluate them.
const (
	Always       Guard = ""
	NeverStarted Guard = "never started" // no attempt ever reached Starting
	StartedOnce  Guard = "started before"
	Stronger     Guard = "stronger wish" // the new target outranks the present one
)

// Rule is one row of the machine: On takes a workload from any of From to To.
type Rule struct {
	On   Event
	From []Phase
	// To is where it goes; AsTargeted means to the target recorded on entering
	// Terminating.
	To Phase
	// Targets lists what may follow when To is Terminating. The event names
	// one of them; with a single one it need not.
	Targets []Phase
	When    Guard
	// NewAttempt says that the attempt number grows by one. On a rule with
	// AsTargeted it grows only where the target is Queued or Reserved.
	NewAttempt bool
}

// AsTargeted as Rule.To stands for the recorded target of Terminating.
const AsTargeted Phase = "(target)"

var (
	beforeQueue = []Phase{Submitted, Reviewing, Building}
	unstarted   = []Phase{Submitted, Reviewing, Building, Inadmissible, Queued, Reserved, Backoff}
	checking    = []Phase{Reviewing, Reserved}
	inQueue     = []Phase{Queued, Reserved}
	active      = []Phase{Starting, Running, Restarting}
	ended       = []Phase{Completed, Failed, Stopped, Canceled, Preempted, TimedOut, Lost}
)

// rules is the whole machine. A (phase, event) pair that is not here is
// refused; nothing else in the program may decide what a phase becomes.
var rules = []Rule{
	// Before it runs.
	{On: Submit, From: []Phase{None}, To: Submitted},
	{On: Hand, From: []Phase{Submitted}, To: Submitted},
	{On: ReviewRequired, From: []Phase{Submitted}, To: Reviewing},
	{On: CheckStarted, From: []Phase{Reviewing}, To: Reviewing},
	{On: Approve, From: []Phase{Reviewing}, To: Reviewing},
	{On: Approve, From: []Phase{Reserved}, To: Reserved},
	{On: Reject, From: checking, To: Failed},
	{On: BuildRequired, From: []Phase{Submitted, Reviewing}, To: Building},
	{On: Built, From: []Phase{Building}, To: Building},
	{On: BuildFail, From: []Phase{Building}, To: Failed},
	{On: QueueOpen, From: append(slices.Clone(beforeQueue), Inadmissible), To: Queued},
	{On: QueueClosed, From: append(slices.Clone(beforeQueue), Inadmissible, Queued, Reserved), To: Inadmissible},
	{On: Rewrite, From: []Phase{Reviewing, Inadmissible, Queued}, To: Submitted, When: NeverStarted},
	{On: Reserve, From: []Phase{Queued}, To: Reserved},
	{On: Release, From: []Phase{Reserved}, To: Queued},
	{On: Admit, From: []Phase{Reserved}, To: Starting},
	{On: Stop, From: unstarted, To: Canceled, When: NeverStarted},
	{On: Stop, From: unstarted, To: Stopped, When: StartedOnce},
	{On: Refuse, From: beforeQueue, To: Failed},

	// While it holds resources.
	{On: AllReady, From: []Phase{Starting}, To: Running},
	{On: PullFail, From: []Phase{Starting}, To: Terminating, Targets: []Phase{Failed}},
	{On: CannotRun, From: []Phase{Starting}, To: Terminating, Targets: []Phase{Failed}},
	{On: MountFail, From: []Phase{Starting}, To: Terminating, Targets: []Phase{Failed}},
	{On: TaskFail, From: []Phase{Starting, Running}, To: Restarting},
	{On: TaskFail, From: []Phase{Starting, Running}, To: Terminating, Targets: []Phase{Backoff, Failed}},
	{On: BackoffOver, From: []Phase{Restarting}, To: Starting},
	{On: Succeed, From: []Phase{Running}, To: Terminating, Targets: []Phase{Completed, Publishing}},
	{On: Preempt, From: active, To: Terminating, Targets: []Phase{Queued, Preempted}},
	{On: Move, From: active, To: Terminating, Targets: []Phase{Reserved}},
	{On: Stop, From: active, To: Terminating, Targets: []Phase{Stopped}},
	{On: Deadline, From: active, To: Terminating, Targets: []Phase{TimedOut}},
	{On: NodeLost, From: active, To: Terminating, Targets: []Phase{Queued, Failed}},
	{On: OutcomeLost, From: active, To: Terminating, Targets: []Phase{Lost}},
	{On: Scale, From: []Phase{Running}, To: Running},
	{On: BelowMinimum, From: []Phase{Running}, To: Terminating, Targets: []Phase{Queued}},
	{On: Stop, From: []Phase{Terminating}, To: Terminating, Targets: []Phase{Stopped}, When: Stronger},
	{On: Delete, From: []Phase{Terminating}, To: Terminating, Targets: []Phase{Deleting}, When: Stronger},
	{On: Stuck, From: []Phase{Terminating}, To: Terminating},
	{On: Release, From: []Phase{Terminating}, To: AsTargeted, NewAttempt: true},
	{On: BackoffOver, From: []Phase{Backoff}, To: Queued, NewAttempt: true},

	// After.
	{On: Publish, From: []Phase{Publishing}, To: Completed},
	{On: ModelFail, From: []Phase{Publishing}, To: Failed},
	{On: DeployFail, From: []Phase{Publishing}, To: Failed},
	{On: Restart, From: ended, To: Submitted, NewAttempt: true},
	{On: Delete, From: active, To: Terminating, Targets: []Phase{Deleting}},
	{On: Delete, From: slices.Concat(unstarted, []Phase{Publishing}, ended), To: Deleting},
	{On: Remove, From: []Phase{Deleting}, To: Deleted},
	{On: RemoveFail, From: []Phase{Deleting}, To: Deleting},
}

// Rules returns the table.
func Rules() []Rule { return slices.Clone(rules) }

// strength ranks the wishes that may replace one another in Terminating:
// delete over stop over everything else.
func strength(target Phase) int {
	switch target {
	case Deleting:
		return 2
	case Stopped:
		return 1
	default:
		return 0
	}
}
