package lifecycle

// FailureClass is what sort of failure ended a task. Retries, restarts and pauses
// are decided by it; the reason beside it is for people.
type FailureClass string

// The classes. A retry rule of a document names them by these words.
const (
	NoFailure        FailureClass = ""
	FailureError     FailureClass = "Error"              // its command failed
	FailureMemory    FailureClass = "OutOfMemory"        // it used more memory than it may
	FailureKilled    FailureClass = "Killed"             // somebody ended it
	FailureCannotRun FailureClass = "ContainerCannotRun" // its command cannot be run at all
	FailureImage     FailureClass = "FailedImagePull"    // its image cannot be had
	FailureMount     FailureClass = "MountFailed"        // its files cannot be had
	FailureNode      FailureClass = "NodeLost"           // its node is gone
	FailureSystem    FailureClass = "SystemFailure"      // its backend refused it or took it away
	FailureDuration  FailureClass = "MaxDurationExceeded"
	FailureUnknown   FailureClass = "OutcomeUnknown" // nobody saw how it ended
	FailureOther     FailureClass = "Other"          // a word that no rule is about
)

// FailureClasses returns every class of failures.
func FailureClasses() []FailureClass {
	return []FailureClass{
		FailureError, FailureMemory, FailureKilled, FailureCannotRun, FailureImage, FailureMount,
		FailureNode, FailureSystem, FailureDuration, FailureUnknown, FailureOther,
	}
}

// Systemic reports whether the work is not to blame: the same may well succeed in
// another place.
func (c FailureClass) Systemic() bool { return c == FailureNode || c == FailureSystem }

// Hopeless reports whether starting the task again in the same place cannot help.
func (c FailureClass) Hopeless() bool {
	return c == FailureImage || c == FailureCannotRun || c == FailureMount
}

// classes are what the tokens mean by which backends say how a task ended.
var classes = map[Reason]FailureClass{
	ReasonNone:            NoFailure,
	ReasonError:           FailureError,
	ReasonOutOfMemory:     FailureMemory,
	ReasonKilled:          FailureKilled,
	ReasonContainerCannot: FailureCannotRun,
	ReasonFailedImagePull: FailureImage,
	ReasonMountFailed:     FailureMount,
	ReasonNodeLost:        FailureNode,
	ReasonSystem:          FailureSystem,
	ReasonMaxDuration:     FailureDuration,
	ReasonOutcomeUnknown:  FailureUnknown,
}

// Classify reads the token by which a backend says how a task ended. It is read
// once, where the observation arrives; after that the class decides.
func Classify(reason Reason) FailureClass {
	if c, ok := classes[reason]; ok {
		return c
	}
	return FailureOther
}
