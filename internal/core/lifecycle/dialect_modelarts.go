package lifecycle

import (
	"slices"
	"strings"
)

// jobstats are the names of the JOBSTAT codes; the index is the code.
var jobstats = []string{
	"JOBSTAT_UNKNOWN", "JOBSTAT_INIT", "JOBSTAT_IMAGE_CREATING", "JOBSTAT_IMAGE_FAILED",
	"JOBSTAT_SUBMIT_TRYING", "JOBSTAT_SUBMIT_FAILED", "JOBSTAT_DELETE_FAILED", "JOBSTAT_WAITING",
	"JOBSTAT_RUNNING", "JOBSTAT_KILLING", "JOBSTAT_COMPLETED", "JOBSTAT_FAILED",
	"JOBSTAT_KILLED", "JOBSTAT_CANCELED", "JOBSTAT_LOST", "JOBSTAT_SCALING",
	"JOBSTAT_SUBMIT_MODEL_FAILED", "JOBSTAT_DEPLOY_SERVICE_FAILED", "JOBSTAT_CHECK_INIT",
	"JOBSTAT_CHECK_RUNNING", "JOBSTAT_CHECK_RUNNING_COMPLETED", "JOBSTAT_CHECK_FAILED", "JOBSTAT_MOUNT_FAILED",
}

func jobstatWords() []Word {
	words := make([]Word, len(jobstats))
	for code, name := range jobstats {
		end := strings.HasSuffix(name, "FAILED") || slices.Contains([]int{10, 12, 13}, code)
		words[code] = Word{Status: name, Code: new(code), End: end}
	}
	return words
}

// neverRan are the failures that come before a process runs; to call such an
// attempt running while it is cleared away would be a lie.
var neverRan = []Reason{ReasonFailedImagePull, ReasonContainerCannot, ReasonMountFailed}

var modelarts = tongue{
	words: jobstatWords(),
	rows: []row{
		{in: held, backend: true, say: "JOBSTAT_UNKNOWN"},
		{in: held, with: Unreachable, say: "JOBSTAT_LOST"},
		{in: []Phase{Submitted, Building}, why: []Reason{ReasonHandedOver}, say: "JOBSTAT_SUBMIT_TRYING"},
		{in: []Phase{Submitted}, say: "JOBSTAT_INIT"},
		{in: []Phase{Reviewing}, why: []Reason{ReasonChecksRunning}, say: "JOBSTAT_CHECK_RUNNING"},
		{in: []Phase{Reviewing}, why: []Reason{ReasonApproved}, say: "JOBSTAT_CHECK_RUNNING_COMPLETED"},
		{in: []Phase{Reviewing}, why: []Reason{ReasonDeferred}, say: "JOBSTAT_WAITING"}, // nobody reviews it
		{in: []Phase{Reviewing}, say: "JOBSTAT_CHECK_INIT"},
		{in: []Phase{Building}, say: "JOBSTAT_IMAGE_CREATING"},
		{in: []Phase{Inadmissible, Queued, Reserved, Starting, Backoff}, say: "JOBSTAT_WAITING"},
		{in: []Phase{Running}, with: Scaling, say: "JOBSTAT_SCALING"},
		{in: []Phase{Running, Restarting}, say: "JOBSTAT_RUNNING"},
		{in: []Phase{Terminating}, to: []Phase{Stopped, Preempted, TimedOut, Deleting}, say: "JOBSTAT_KILLING"},
		{in: []Phase{Terminating}, to: []Phase{Lost}, say: "JOBSTAT_LOST"},
		{in: []Phase{Terminating}, to: []Phase{Failed}, why: neverRan, say: "JOBSTAT_WAITING"},
		{in: []Phase{Terminating}, say: "JOBSTAT_RUNNING"},
		{in: []Phase{Publishing, Completed}, say: "JOBSTAT_COMPLETED"},
		{in: []Phase{Failed}, why: []Reason{ReasonImageBuildFailed}, say: "JOBSTAT_IMAGE_FAILED"},
		{in: []Phase{Failed}, why: []Reason{ReasonSubmitFailed}, say: "JOBSTAT_SUBMIT_FAILED"},
		{in: []Phase{Failed}, why: []Reason{ReasonSubmitModelFailed}, say: "JOBSTAT_SUBMIT_MODEL_FAILED"},
		{in: []Phase{Failed}, why: []Reason{ReasonDeployFailed}, say: "JOBSTAT_DEPLOY_SERVICE_FAILED"},
		{in: []Phase{Failed}, why: []Reason{ReasonReviewRejected, ReasonCheckRejected}, say: "JOBSTAT_CHECK_FAILED"},
		{in: []Phase{Failed}, why: []Reason{ReasonMountFailed}, say: "JOBSTAT_MOUNT_FAILED"},
		{in: []Phase{Failed, Lost}, say: "JOBSTAT_FAILED"},
		{in: []Phase{Stopped, Preempted, TimedOut}, say: "JOBSTAT_KILLED"},
		{in: []Phase{Canceled}, say: "JOBSTAT_CANCELED"},
		{in: []Phase{Deleted}, say: last},
		{in: []Phase{Deleting}, why: []Reason{ReasonDeleteFailed}, say: "JOBSTAT_DELETE_FAILED"},
		{in: []Phase{Deleting}, say: "JOBSTAT_KILLING"},
	},
	aliases: map[string]string{"fail": "JOBSTAT_FAILED"},
	own:     modelartsArrows,
}
