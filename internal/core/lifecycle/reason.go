package lifecycle

// ReasonHandedOver is the reason of Submitted while a plane is being asked to
// take the workload.
const ReasonHandedOver Reason = "HandedOver"

// ownReason is why an event that can have only one cause happened in phase;
// empty where the event must say it. Dialects tell outcomes apart by reason,
// so that an event without one would be a failure that nobody can explain.
func ownReason(on Event, phase Phase) Reason {
	if on == Reject && phase == Reserved {
		return ReasonCheckRejected
	}
	return ownReasons[on]
}

var ownReasons = map[Event]Reason{
	Hand:           ReasonHandedOver,
	ReviewRequired: ReasonReviewRequired,
	Refuse:         ReasonSubmitFailed,
	CheckStarted:   ReasonChecksRunning,
	Approve:        ReasonApproved,
	Reject:         ReasonReviewRejected,
	BuildFail:      ReasonImageBuildFailed,
	PullFail:       ReasonFailedImagePull,
	CannotRun:      ReasonContainerCannot,
	MountFail:      ReasonMountFailed,
	TaskFail:       ReasonError,
	Preempt:        ReasonPreempted,
	Move:           ReasonMoved,
	NodeLost:       ReasonNodeLost,
	OutcomeLost:    ReasonOutcomeUnknown,
	BelowMinimum:   ReasonBelowMinimum,
	ModelFail:      ReasonSubmitModelFailed,
	DeployFail:     ReasonDeployFailed,
	Restart:        ReasonRestartedByUser,
	RemoveFail:     ReasonDeleteFailed,
}
