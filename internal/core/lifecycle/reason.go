package lifecycle

// ReasonHandedOver is the reason of Submitted, and of Building once the image
// is there, while the workload is being handed to those who would run it.
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

// otherReasons are what an event may say instead of its own reason where
// dialects tell the two apart.
var otherReasons = map[Event][]Reason{
	ReviewRequired: {ReasonDeferred},
	CheckStarted:   {ReasonDeferred},
	Approve:        {ReasonDeferred},
	TaskFail:       {ReasonExited},
}

var ownReasons = map[Event]Reason{
	Hand:           ReasonHandedOver,
	ReviewRequired: ReasonReviewRequired,
	Refuse:         ReasonSubmitFailed,
	CheckStarted:   ReasonChecksRunning,
	Approve:        ReasonApproved,
	Reject:         ReasonReviewRejected,
	Built:          ReasonHandedOver,
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
