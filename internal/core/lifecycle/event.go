package lifecycle

import "slices"

// Event is what happened to a workload, or what someone wants of it.
type Event string

// The events.
const (
	Submit         Event = "submit"
	Hand           Event = "hand"            // it is being handed to a backend
	Refuse         Event = "refuse"          // the backend refuses it for good
	Rewrite        Event = "rewrite"         // its document is another before it has started
	ReviewRequired Event = "review_required" // checks before queueing exist
	CheckStarted   Event = "check_started"
	Approve        Event = "approve" // all checks approved
	Reject         Event = "reject"
	BuildRequired  Event = "build_required"
	Built          Event = "built"
	BuildFail      Event = "build_failed"
	QueueOpen      Event = "queue_open"
	QueueClosed    Event = "queue_closed" // stopped or missing
	Reserve        Event = "reserve"
	Release        Event = "release" // resources or a reservation are given back
	Admit          Event = "admit"
	AllReady       Event = "all_ready"
	PullFail       Event = "pull_failed"
	CannotRun      Event = "cannot_run"
	MountFail      Event = "mount_failed"
	TaskFail       Event = "task_failed"
	BackoffOver    Event = "backoff_over"
	Succeed        Event = "succeeded"
	Preempt        Event = "preempt"
	Move           Event = "move" // consolidation or a drained node
	Stop           Event = "stop"
	Deadline       Event = "deadline"
	NodeLost       Event = "node_lost"
	OutcomeLost    Event = "outcome_lost"
	Scale          Event = "scale"
	BelowMinimum   Event = "below_minimum"
	Stuck          Event = "stuck"
	Publish        Event = "published"
	ModelFail      Event = "model_failed"
	DeployFail     Event = "deploy_failed"
	Restart        Event = "restart"
	Delete         Event = "delete"
	Remove         Event = "removed"
	RemoveFail     Event = "remove_failed"
)

// Events returns every event that the table uses, in the table's order.
func Events() []Event {
	var all []Event
	for _, r := range rules {
		if !slices.Contains(all, r.On) {
			all = append(all, r.On)
		}
	}
	return all
}

// Reason is a token that explains a transition. It is part of the API and
// never decides anything by being parsed.
type Reason string

// Reasons of transitions. The pending reasons (why a workload waits) are the
// scheduler's and live in package schedule.
const (
	ReasonNone              Reason = ""
	ReasonReviewRejected    Reason = "ReviewRejected"
	ReasonReviewRequired    Reason = "ReviewRequired"
	ReasonChecksRunning     Reason = "ChecksRunning"
	ReasonDeferred          Reason = "Deferred" // until a time, or until others have ended
	ReasonApproved          Reason = "Approved"
	ReasonImageBuildFailed  Reason = "ImageBuildFailed"
	ReasonCheckRejected     Reason = "CheckRejected"
	ReasonSubmitFailed      Reason = "SubmitFailed"
	ReasonQueueStopped      Reason = "QueueStopped"
	ReasonQueueNotFound     Reason = "QueueNotFound"
	ReasonHeld              Reason = "Held"
	ReasonOverBudget        Reason = "OverBudget"
	ReasonFailedImagePull   Reason = "FailedImagePull"
	ReasonContainerCannot   Reason = "ContainerCannotRun"
	ReasonMountFailed       Reason = "MountFailed"
	ReasonError             Reason = "Error"
	ReasonExited            Reason = "Exited" // with code 0, and is started again all the same
	ReasonOutOfMemory       Reason = "OutOfMemory"
	ReasonKilled            Reason = "Killed"
	ReasonNodeLost          Reason = "NodeLost"
	ReasonOutcomeUnknown    Reason = "OutcomeUnknown"
	ReasonPreempted         Reason = "Preempted"
	ReasonMoved             Reason = "Moved"
	ReasonStoppedByUser     Reason = "StoppedByUser"
	ReasonMaxDuration       Reason = "MaxDurationExceeded"
	ReasonIdleLimit         Reason = "IdleLimitExceeded"
	ReasonProjectTimeLimit  Reason = "ProjectTimeLimitExceeded"
	ReasonBelowMinimum      Reason = "BelowMinimum"
	ReasonSubmitModelFailed Reason = "SubmitModelFailed"
	ReasonDeployFailed      Reason = "DeployServiceFailed"
	ReasonDeletedByUser     Reason = "DeletedByUser"
	ReasonTTL               Reason = "RetentionOver"
	ReasonDeleteFailed      Reason = "DeleteFailed"
	ReasonRestartedByUser   Reason = "RestartedByUser"
	ReasonSystem            Reason = "SystemFailure"
	ReasonScaled            Reason = "Scaled"
	ReasonUpdated           Reason = "Updated"
	ReasonRetry             Reason = "CheckWantsRetry"
	ReasonMadeAgain         Reason = "MadeAgain"
	ReasonDeadlineMissed    Reason = "DeadlineMissed"
)

// ConditionType names a fact that may hold beside a phase.
type ConditionType string

// The conditions.
const (
	Degraded      ConditionType = "Degraded"
	Scaling       ConditionType = "Scaling"
	Updating      ConditionType = "Updating"
	Unreachable   ConditionType = "Unreachable"
	Idle          ConditionType = "Idle"
	Unschedulable ConditionType = "Unschedulable"
	DeadlineNear  ConditionType = "DeadlineNear"
	// DeadlineAtRisk is only told: it is about work that waits.
	DeadlineAtRisk ConditionType = "DeadlineAtRisk"
	DeadlineMissed ConditionType = "DeadlineMissed"
	// BudgetNear and BudgetOver are only told.
	BudgetNear ConditionType = "BudgetNear"
	BudgetOver ConditionType = "BudgetOver"
)

// ConditionTypes returns every condition.
func ConditionTypes() []ConditionType {
	return []ConditionType{Degraded, Scaling, Updating, Unreachable, Idle, Unschedulable, DeadlineNear, DeadlineMissed}
}
