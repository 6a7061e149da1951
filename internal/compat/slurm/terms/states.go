package terms

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// State is a job's state, long and short.
type State struct{ Long, Short string }

// States are those of jobs by the phases of their workloads; what is not among
// them is pending.
var States = map[lifecycle.Phase]State{
	lifecycle.Starting: {"CONFIGURING", "CF"}, lifecycle.Running: {"RUNNING", "R"}, lifecycle.Restarting: {"RUNNING", "R"},
	lifecycle.Terminating: {"COMPLETING", "CG"}, lifecycle.Publishing: {"COMPLETING", "CG"}, lifecycle.Deleting: {"COMPLETING", "CG"},
	lifecycle.Completed: {"COMPLETED", "CD"}, lifecycle.Failed: {"FAILED", "F"},
	lifecycle.Stopped: {"CANCELLED", "CA"}, lifecycle.Canceled: {"CANCELLED", "CA"}, lifecycle.Deleted: {"CANCELLED", "CA"},
	lifecycle.Preempted: {"PREEMPTED", "PR"}, lifecycle.TimedOut: {"TIMEOUT", "TO"}, lifecycle.Lost: {"NODE_FAIL", "NF"},
}

// Pending is the state of whatever waits.
var Pending = State{"PENDING", "PD"}

// StateOf is the state of a job.
func StateOf(w *api.Workload) State {
	if w.Phase == string(lifecycle.Failed) && w.Reason == string(lifecycle.ReasonOutOfMemory) {
		return State{"OUT_OF_MEMORY", "OOM"}
	}
	if s, ok := States[lifecycle.Phase(w.Phase)]; ok {
		return s
	}
	return Pending
}

// KnownStates are all that can be asked for.
func KnownStates() []State {
	all := []State{Pending, {"OUT_OF_MEMORY", "OOM"}, {"SUSPENDED", "S"}, {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"}}
	for _, s := range States {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b State) int { return strings.Compare(a.Long, b.Long) })
	return all
}

// reasons are Slurm's words for why a job waits.
var reasons = map[string]string{
	"NeverFits": "PartitionNodeLimit", "QueueStopped": "JobHeldAdmin", "QueueNotFound": "InvalidAccount", "OverLimit": "QOSGrpLimit", "OverBudget": "AssocGrpGRESMinutes", "NotLent": "QOSGrpLimit", "BorrowingTimeLimit": "AssocMaxWallDurationPerJobLimit", "WaitingForLicense": "Licenses",
	"NonPreemptibleOverQuota": "AssocGrpLimit", "WaitingForQuota": "Priority", "WaitingForCapacity": "Resources", "Fragmented": "Resources",
	"TopologyUnsatisfied": "Resources", "WaitingForPreemption": "Resources", "NotYetEvaluated": "None", "AdmissionChecks": "JobHeldUser", "Dependency": "Dependency", "BeginTime": "BeginTime", "Held": "JobHeldUser",
	"RetryBackoff": "BeginTime", "Reserved": "Reservation", "Reservation": "Reservation", "NoNodes": "ReqNodeNotAvail", "ImageBuild": "Prolog", "PlanningFailed": "SystemFailure",
}

// Reason is why a job waits or how it ended.
func Reason(w *api.Workload) string {
	if w.Pending != nil && len(w.Pending.Reasons) > 0 {
		token := w.Pending.Reasons[0].Token
		if r, ok := reasons[token]; ok {
			return r
		}
		return token
	}
	switch lifecycle.Phase(w.Phase) {
	case lifecycle.Failed:
		return "NonZeroExitCode"
	case lifecycle.TimedOut:
		return "TimeLimit"
	case lifecycle.Lost:
		return "NodeDown"
	}
	return "None"
}

// RecordedStates are those that sacct knows (slurm.schedmd.com/sacct.html, job
// state codes).
var RecordedStates = []State{
	{"BOOT_FAIL", "BF"}, {"CANCELLED", "CA"}, {"COMPLETED", "CD"}, {"DEADLINE", "DL"}, {"FAILED", "F"}, {"NODE_FAIL", "NF"}, {"OUT_OF_MEMORY", "OOM"},
	{"PENDING", "PD"}, {"PREEMPTED", "PR"}, {"RUNNING", "R"}, {"REQUEUED", "RQ"}, {"RESIZING", "RS"}, {"REVOKED", "RV"}, {"SUSPENDED", "S"}, {"TIMEOUT", "TO"},
}
