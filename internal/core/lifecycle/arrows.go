package lifecycle

// ownArrow is a step that a platform's own documents draw or list, and what
// they name as its cause; empty where they name none.
type ownArrow struct{ from, to, cause string }

// jobqArrows is the state diagram of jobq's documentation, complete.
var jobqArrows = []ownArrow{
	{"Submitted", "Pending", "quotaReserved"},
	{"Submitted", "Inadmissible", "queue stopped or missing"},
	{"Inadmissible", "Submitted", "condition resolved"},
	{"Pending", "Admitted", "admitted"},
	{"Admitted", "Succeeded", "success"},
	{"Admitted", "Failed", "error"},
	{"Admitted", "Submitted", "evicted"},
	{"Admitted", "Pending", "requeued"},
}

// mcliArrows is the run lifecycle of MosaicML's documentation.
var mcliArrows = []ownArrow{
	{"PENDING", "QUEUED", "sent to a cluster"},
	{"QUEUED", "STARTING", "nodes assigned"},
	{"QUEUED", "STOPPED", "stopped before it started"},
	{"STARTING", "RUNNING", ""},
	{"STARTING", "TERMINATING", ""},
	{"RUNNING", "TERMINATING", ""},
	{"TERMINATING", "COMPLETED", "ran to its end"},
	{"TERMINATING", "STOPPED", ""},
	{"TERMINATING", "FAILED", ""},
	{"STOPPED", "PENDING", "next resumption"},
	{"FAILED", "PENDING", "next resumption"},
}

// modelartsArrows are the changes of code that follow from the names, texts
// and pages of ModelArts; it draws no diagram itself.
var modelartsArrows = []ownArrow{
	{"JOBSTAT_INIT", "JOBSTAT_CHECK_INIT", "image needs a review"},
	{"JOBSTAT_CHECK_INIT", "JOBSTAT_CHECK_RUNNING", ""},
	{"JOBSTAT_CHECK_RUNNING", "JOBSTAT_CHECK_RUNNING_COMPLETED", "review passed"},
	{"JOBSTAT_CHECK_RUNNING", "JOBSTAT_CHECK_FAILED", "review refused"},
	{"JOBSTAT_CHECK_RUNNING_COMPLETED", "JOBSTAT_IMAGE_CREATING", ""},
	{"JOBSTAT_INIT", "JOBSTAT_IMAGE_CREATING", ""},
	{"JOBSTAT_IMAGE_CREATING", "JOBSTAT_SUBMIT_TRYING", "image ready"},
	{"JOBSTAT_IMAGE_CREATING", "JOBSTAT_IMAGE_FAILED", "image failed"},
	{"JOBSTAT_SUBMIT_TRYING", "JOBSTAT_WAITING", "accepted by the scheduler"},
	{"JOBSTAT_SUBMIT_TRYING", "JOBSTAT_SUBMIT_FAILED", "refused for good"},
	{"JOBSTAT_WAITING", "JOBSTAT_RUNNING", "process started"},
	{"JOBSTAT_RUNNING", "JOBSTAT_SCALING", "scale"},
	{"JOBSTAT_SCALING", "JOBSTAT_RUNNING", "scaled"},
	{"JOBSTAT_RUNNING", "JOBSTAT_COMPLETED", "exit code 0"},
	{"JOBSTAT_RUNNING", "JOBSTAT_FAILED", ""},
	{"JOBSTAT_RUNNING", "JOBSTAT_WAITING", "issued again"},
	{"JOBSTAT_RUNNING", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_WAITING", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_SCALING", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_INIT", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_IMAGE_CREATING", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_SUBMIT_TRYING", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_CHECK_INIT", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_CHECK_RUNNING", "JOBSTAT_KILLING", "stop asked"},
	{"JOBSTAT_KILLING", "JOBSTAT_KILLED", ""},
	{"JOBSTAT_WAITING", "JOBSTAT_CANCELED", "canceled before it ran"},
	{"JOBSTAT_INIT", "JOBSTAT_CANCELED", "canceled before it ran"},
	{"JOBSTAT_IMAGE_CREATING", "JOBSTAT_CANCELED", "canceled before it ran"},
	{"JOBSTAT_SUBMIT_TRYING", "JOBSTAT_CANCELED", "canceled before it ran"},
	{"JOBSTAT_RUNNING", "JOBSTAT_LOST", ""},
	{"JOBSTAT_WAITING", "JOBSTAT_LOST", ""},
	{"JOBSTAT_SCALING", "JOBSTAT_LOST", ""},
	{"JOBSTAT_LOST", "JOBSTAT_RUNNING", "found again"},
	{"JOBSTAT_LOST", "JOBSTAT_FAILED", "given up"},
	{"JOBSTAT_COMPLETED", "JOBSTAT_SUBMIT_MODEL_FAILED", "model refused"},
	{"JOBSTAT_COMPLETED", "JOBSTAT_DEPLOY_SERVICE_FAILED", "service not deployed"},
	{"JOBSTAT_WAITING", "JOBSTAT_MOUNT_FAILED", "mount failed"},
	{"JOBSTAT_COMPLETED", "JOBSTAT_KILLING", "delete asked"},
	{"JOBSTAT_FAILED", "JOBSTAT_KILLING", "delete asked"},
	{"JOBSTAT_KILLED", "JOBSTAT_KILLING", "delete asked"},
	{"JOBSTAT_KILLING", "JOBSTAT_DELETE_FAILED", "clean-up failed"},
}

// runaiJobArrows are the flows that Run:ai's page on job statuses tells.
var runaiJobArrows = []ownArrow{
	{"Pending", "ContainerCreating", "scheduled"},
	{"ContainerCreating", "Running", ""},
	{"Running", "Succeeded", "exit code 0"},
	{"Running", "Terminating", "evicted or over"},
	{"Terminating", "Pending", "queued again"},
	{"Terminating", "TimedOut", "time limit"},
	{"Terminating", "Preempted", "interactive-preemptible"},
	{"Terminating", "Deleted", "delete"},
	{"Pending", "Deleted", "delete"},
	{"Running", "Unknown", "finished unseen"},
	{"Running", "Error", "non-zero exit"},
	{"Error", "Pending", "next attempt"},
	{"Error", "Fail", "retries used up"},
	{"Error", "CrashLoopBackOff", "interactive"},
	{"CrashLoopBackOff", "Running", "started again in place"},
	{"ContainerCreating", "ErrImagePull", ""},
	{"ErrImagePull", "ImagePullBackOff", ""},
	{"ImagePullBackOff", "ErrImagePull", ""},
	{"ContainerCreating", "ContainerCannotRun", ""},
	{"Pending", initPattern, "scheduled"},
	{initPattern, "PodInitializing", "init containers done"},
	{"PodInitializing", "Running", ""},
	{initPattern, "Init:Error", "init container failed"},
	{"Init:Error", "Init:CrashLoopBackOff", "failed again"},
	{"Init:CrashLoopBackOff", initPattern, ""},
}

// runaiWorkloadArrows are the entries and exits of Run:ai's workload phases.
var runaiWorkloadArrows = []ownArrow{
	{"Creating", "Pending", "pod group exists"},
	{"Pending", "Initializing", "all pods scheduled"},
	{"Initializing", "Running", "all pods initialised"},
	{"Running", "Terminating", "completion or failure"},
	{"Initializing", "Terminating", "initialisation failed"},
	{"Degraded", "Terminating", "completion or failure"},
	{"Terminating", "Completed", ""},
	{"Terminating", "Failed", ""},
	{"Initializing", "Degraded", "pods run with problems"},
	{"Running", "Degraded", "pods not all healthy"},
	{"Degraded", "Running", "healthy again"},
	{"Running", "Updating", "rolling update"},
	{"Updating", "Running", "updated"},
	{"Running", "Stopping", "stop"},
	{"Stopping", "Stopped", ""},
	{"Stopped", "Resuming", "run again"},
	{"Resuming", "Pending", "pod group exists"},
	{"Stopped", "Deleting", "delete"},
	{"Running", "Deleting", "delete"},
	{"Running", "Unknown", "cluster does not report"},
	{"Unknown", "Running", "cluster reports"},
	{"Deleting", "Deleted", "all resources gone"},
}
