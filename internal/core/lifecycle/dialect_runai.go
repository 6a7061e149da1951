package lifecycle

import "slices"

var held = []Phase{Starting, Running, Restarting, Terminating}

const (
	runaiGreen  = "#599b3e"
	runaiOrange = "#fd8608"
	runaiBlue   = "#0000ff"
	runaiGrey   = "#afafaf"
	runaiRed    = "#fb0007"
	runaiPale   = "#d0d0d0"
)

var runaiJob = tongue{
	words: []Word{
		{Status: "Running", Color: runaiGreen, Resources: "Yes"},
		{Status: "Terminating", Color: runaiGreen, Resources: "Yes"},
		{Status: "ContainerCreating", Color: runaiGreen, Resources: "Yes"},
		{Status: "Pending", Color: runaiOrange},
		{Status: "Succeeded", End: true, Color: runaiBlue},
		{Status: "Deleted", End: true, Color: runaiGrey},
		{Status: "TimedOut", End: true, Color: runaiGrey},
		{Status: "Preempted", End: true, Color: runaiGrey},
		{Status: "ContainerCannotRun", End: true, Color: runaiRed},
		{Status: "Error", Color: runaiRed, Resources: "Yes, of interactive jobs"},
		{Status: "Fail", End: true, Color: runaiRed},
		{Status: "CrashLoopBackOff", Color: runaiRed, Resources: "Yes"},
		{Status: "ErrImagePull", Color: runaiRed, Resources: "Yes"},
		{Status: "ImagePullBackOff", Color: runaiRed, Resources: "Yes"},
		{Status: "Unknown", End: true, Color: runaiPale},
		{Status: initPattern, Color: runaiGreen, Resources: "Yes"},
		{Status: "PodInitializing", Color: runaiGreen, Resources: "Yes"},
		{Status: "Init:Error", Color: runaiRed},
		{Status: "Init:CrashLoopBackOff", Color: runaiRed},
	},
	// Unknown is an end there, so what runs out of sight keeps its word until its
	// end is given up on.
	rows: []row{
		{in: slices.Concat(beforeQueue, []Phase{Inadmissible, Queued, Reserved}), say: "Pending"},
		{in: []Phase{Starting}, say: "ContainerCreating", tasks: []string{
			"Running", "ContainerCreating", initPattern, "PodInitializing",
			"ErrImagePull", "ImagePullBackOff", "Init:Error", "Init:CrashLoopBackOff", "CrashLoopBackOff",
		}},
		{in: []Phase{Running, Publishing}, say: "Running"},
		{in: []Phase{Restarting}, why: []Reason{ReasonExited}, say: "CrashLoopBackOff"}, // Error is another exit code
		{in: []Phase{Restarting}, say: "Error", tasks: []string{"Error", "CrashLoopBackOff"}},
		{in: []Phase{Terminating}, to: []Phase{Completed, Publishing, Lost}, say: "Running"},
		{in: []Phase{Terminating}, to: []Phase{Failed}, why: []Reason{ReasonFailedImagePull}, say: "ImagePullBackOff"},
		{in: []Phase{Terminating}, to: []Phase{Failed}, why: []Reason{ReasonContainerCannot}, say: "ContainerCreating"},
		{in: []Phase{Terminating}, to: []Phase{Failed, Backoff}, say: "Error"},
		{in: []Phase{Terminating}, say: "Terminating"},
		{in: []Phase{Backoff}, say: "Error"},
		{in: []Phase{Completed}, say: "Succeeded"},
		{in: []Phase{Failed}, why: []Reason{ReasonContainerCannot}, say: "ContainerCannotRun"},
		{in: []Phase{Failed}, say: "Fail"},
		{in: []Phase{Stopped, Canceled}, say: "Pending"}, // suspended: the job object stays, without pods
		{in: []Phase{Deleting, Deleted}, say: "Deleted"}, // it holds nothing any more
		{in: []Phase{Preempted}, say: "Preempted"},
		{in: []Phase{TimedOut}, say: "TimedOut"},
		{in: []Phase{Lost}, say: "Unknown"},
	},
	aliases: map[string]string{"failed": "Fail"},
	own:     runaiJobArrows,
}

var runaiWorkload = tongue{
	words: []Word{
		{Status: "Creating"},
		{Status: "Initializing"},
		{Status: "Resuming"},
		{Status: "Pending"},
		{Status: "Deleting"},
		{Status: "Running"},
		{Status: "Updating"},
		{Status: "Stopped"},
		{Status: "Stopping"},
		{Status: "Degraded"},
		{Status: "Failed", End: true},
		{Status: "Completed", End: true},
		{Status: "Terminating"},
		{Status: "Unknown"},
		{Status: "Deleted", End: true},
	},
	rows: []row{
		{in: held, backend: true, say: "Unknown"},
		{in: held, with: Unreachable, say: "Degraded"},
		{in: beforeQueue, again: true, say: "Resuming"},
		{in: beforeQueue, say: "Creating"},
		{in: []Phase{Inadmissible, Queued, Reserved, Backoff}, say: "Pending"},
		{in: []Phase{Starting}, say: "Initializing"},
		{in: []Phase{Running}, with: Updating, say: "Updating"}, // a rolling update is short of replicas on purpose
		{in: []Phase{Running}, with: Degraded, say: "Degraded"},
		{in: []Phase{Running}, say: "Running"},
		{in: []Phase{Restarting}, say: "Degraded"},
		{in: []Phase{Terminating}, to: []Phase{Stopped}, say: "Stopping"},
		{in: []Phase{Terminating}, to: []Phase{Deleting}, say: "Deleting"},
		{in: []Phase{Terminating, Publishing}, say: "Terminating"},
		{in: []Phase{Completed}, say: "Completed"},
		{in: []Phase{Failed, Lost}, say: "Failed"}, // Unknown is no end: the cluster may report again
		{in: []Phase{Stopped, Canceled, Preempted, TimedOut}, say: "Stopped"},
		{in: []Phase{Deleting}, say: "Deleting"},
		{in: []Phase{Deleted}, say: "Deleted"},
	},
	aliases: map[string]string{"fail": "Failed"},
	own:     runaiWorkloadArrows,
}
