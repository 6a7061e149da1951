package lifecycle

import "slices"

// Cause is on whose account a workload left its place, or was ended. It is what
// programs read; the message beside it says the same to people.
type Cause string

// The causes. The first six are the scheduler's, and called as its actions are.
const (
	CauseNone        Cause = ""
	CauseReclaim     Cause = "reclaim"           // a queue takes what it is due
	CausePreempt     Cause = "preempt"           // a higher priority
	CauseConsolidate Cause = "consolidation"     // it moves so that another fits
	CauseRelieve     Cause = "relieve"           // another has waited for too long
	CauseReservation Cause = "reservation"       // a reservation of nodes begins
	CauseStaleGang   Cause = "stalegangeviction" // too few of a gang were left
	CauseDrain       Cause = "drain"             // its node, or its queue, is emptied
	CauseBudget      Cause = "budget"            // a budget is used up
	CausePerson      Cause = "person"            // somebody had it leave
	CauseStop        Cause = "stop"              // somebody stopped or deleted it
	CauseLimit       Cause = "limit"             // a limit of time
	CauseDeadline    Cause = "deadline"          // its deadline has passed
	CauseCheck       Cause = "check"             // a check rejected it, or wants to be asked again
	CauseMaker       Cause = "maker"             // whoever made its pods took them away
)

// Displacements are the causes for which work leaves that goes on later.
func Displacements() []Cause {
	return []Cause{CauseReclaim, CausePreempt, CauseConsolidate, CauseRelieve, CauseReservation, CauseStaleGang, CauseDrain, CauseBudget, CausePerson}
}

// Causes are all.
func Causes() []Cause {
	return append(Displacements(), CauseStop, CauseLimit, CauseDeadline, CauseCheck, CauseMaker)
}

// Known reports whether c is one of the causes.
func (c Cause) Known() bool { return slices.Contains(Causes(), c) }

// written are the event and the cause of a state that was written before states
// had them, by the reason that it was given.
var written = map[Reason]State{
	ReasonMoved:            {Event: Move},
	ReasonPreempted:        {Event: Preempt},
	ReasonDeleteFailed:     {Event: RemoveFail},
	ReasonNodeLost:         {Event: NodeLost},
	ReasonSystem:           {Event: NodeLost},
	ReasonOutcomeUnknown:   {Event: OutcomeLost},
	ReasonBelowMinimum:     {Event: BelowMinimum},
	ReasonRetry:            {Event: Release, Cause: CauseCheck},
	ReasonReviewRejected:   {Event: Reject, Cause: CauseCheck},
	ReasonCheckRejected:    {Event: Reject, Cause: CauseCheck},
	ReasonStoppedByUser:    {Event: Stop, Cause: CauseStop},
	ReasonDeletedByUser:    {Event: Delete, Cause: CauseStop},
	ReasonMaxDuration:      {Event: Deadline, Cause: CauseLimit},
	ReasonProjectTimeLimit: {Event: Deadline, Cause: CauseLimit},
	ReasonIdleLimit:        {Event: Deadline, Cause: CauseLimit},
	ReasonDeadlineMissed:   {Event: Deadline, Cause: CauseDeadline},
	ReasonKilled:           {Event: Stop, Cause: CauseMaker},
	ReasonRestartedByUser:  {Event: Restart},
	ReasonMadeAgain:        {Event: Restart},
	ReasonTTL:              {Event: Delete},
	ReasonError:            {Event: TaskFail},
	ReasonOutOfMemory:      {Event: TaskFail},
	ReasonFailedImagePull:  {Event: PullFail},
	ReasonContainerCannot:  {Event: CannotRun},
	ReasonMountFailed:      {Event: MountFail},
	ReasonImageBuildFailed: {Event: BuildFail},
	ReasonHandedOver:       {Event: Hand},
}

// Written is the event and the cause of a record that has none, since it was
// written before there were any. Only a store asks.
func Written(why Reason) (Event, Cause) {
	s := written[why]
	return s.Event, s.Cause
}

// ConditionCause is what a condition comes from, where that decides when it goes
// or what follows. Its word is the reason that people are shown.
type ConditionCause string

// The causes of conditions.
const (
	BackendSilent    ConditionCause = "PlaneUnreachable" // Unreachable: its backend does not answer
	NodeSilent       ConditionCause = "NodeUnreachable"  // Unreachable: its node does not report
	StuckEnding      ConditionCause = "Stuck"            // Degraded: its tasks do not end
	RanksLost        ConditionCause = "TasksLost"        // Degraded: an elastic gang goes on without tasks that were taken from it
	TasksPreempted   ConditionCause = "TasksPreempted"   // Degraded: single tasks of an array had to leave
	MembersMissing   ConditionCause = "MembersMissing"   // Degraded: fewer members are up than run together
	ReplicasNotReady ConditionCause = "ReplicasNotReady" // Degraded: fewer replicas are ready than are wanted
)
