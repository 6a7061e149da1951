package lifecycle

import (
	"slices"
	"strconv"
)

var jobq = tongue{
	words: []Word{
		{Status: "Submitted"},
		{Status: "Pending"},
		{Status: "Inadmissible"},
		{Status: "Admitted"},
		{Status: "Succeeded", End: true},
		{Status: "Failed", End: true},
	},
	rows: []row{
		{in: []Phase{Inadmissible}, say: "Inadmissible"},
		{in: slices.Concat(beforeQueue, []Phase{Queued, Backoff}), say: "Submitted"},
		{in: []Phase{Reserved}, say: "Pending"},
		{in: slices.Concat(held, []Phase{Publishing}), say: "Admitted"},
		{in: []Phase{Completed}, say: "Succeeded"},
		{in: []Phase{Failed, Stopped, Canceled, Preempted, TimedOut, Lost}, say: "Failed"},
		{in: []Phase{Deleting, Deleted}, say: last},
	},
	aliases: map[string]string{"fail": "Failed", "executing": "Admitted"},
	own:     jobqArrows,
}

var mcli = tongue{
	words: []Word{
		{Status: "PENDING"},
		{Status: "QUEUED"},
		{Status: "STARTING"},
		{Status: "RUNNING"},
		{Status: "TERMINATING"},
		{Status: "COMPLETED", End: true},
		{Status: "STOPPED", End: true},
		{Status: "FAILED", End: true},
		{Status: "UNKNOWN"},
	},
	rows: []row{
		{in: held, backend: true, say: "UNKNOWN"},
		{in: slices.Concat(beforeQueue, []Phase{Inadmissible, Backoff}), say: "PENDING"},
		{in: []Phase{Queued, Reserved}, say: "QUEUED"},
		{in: []Phase{Starting}, say: "STARTING"},
		{in: []Phase{Running, Restarting}, say: "RUNNING"},
		{in: []Phase{Terminating, Publishing}, say: "TERMINATING"},
		{in: []Phase{Completed}, say: "COMPLETED"},
		{in: []Phase{Failed}, say: "FAILED"},
		{in: []Phase{Stopped, Canceled, Preempted, TimedOut, Lost}, say: "STOPPED"},
		{in: []Phase{Deleting, Deleted}, say: last},
	},
	aliases: map[string]string{"fail": "FAILED"},
	reason:  mcliReason,
	own:     mcliArrows,
}

// mcliReason is the text that mcli shows in brackets after an end.
func mcliReason(v View) string {
	switch v.State.Phase {
	case Preempted:
		return "Preempted"
	case Lost:
		return "Node Failure"
	case Stopped, Canceled:
		if v.State.Reason == ReasonStoppedByUser || v.State.Reason == ReasonNone {
			return v.State.Message // what the user gave with the stop
		}
	case Failed:
		return mcliFailure(v)
	}
	return ""
}

func mcliFailure(v View) string {
	switch r := v.State.Reason; r {
	case ReasonNone, ReasonError, ReasonOutOfMemory, ReasonKilled:
		if t := failedTask(v); t != nil {
			return strconv.Itoa(*t.ExitCode)
		}
		if r == ReasonOutOfMemory {
			return "137" // mcli has no other word for it
		}
		return "Error"
	case ReasonNodeLost:
		return "Node Failure"
	default:
		return string(r)
	}
}
