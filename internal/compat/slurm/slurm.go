// Package slurm is the command line of Slurm, as seen from outside of a job:
// sbatch, srun, squeue, scancel, sinfo and scontrol. A job is a workload and its
// id the number of that, a node of a job one of its tasks, a partition a pool.
package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// versionFlag is of every command.
var versionFlag = compat.Flag{Names: "version V", Does: "print the version"}

// asked prints the version where that is asked for.
func asked(c *compat.Call) (bool, error) {
	if !c.Bool("version") {
		return false, nil
	}
	_, err := fmt.Fprintf(c.Out(), "slurm (Muster %s)\n", c.Version().Version)
	return true, err
}

// state is a job's state, long and short.
type state struct{ long, short string }

var states = map[lifecycle.Phase]state{
	lifecycle.Starting: {"CONFIGURING", "CF"}, lifecycle.Running: {"RUNNING", "R"}, lifecycle.Restarting: {"RUNNING", "R"},
	lifecycle.Terminating: {"COMPLETING", "CG"}, lifecycle.Publishing: {"COMPLETING", "CG"}, lifecycle.Deleting: {"COMPLETING", "CG"},
	lifecycle.Completed: {"COMPLETED", "CD"}, lifecycle.Failed: {"FAILED", "F"},
	lifecycle.Stopped: {"CANCELLED", "CA"}, lifecycle.Canceled: {"CANCELLED", "CA"}, lifecycle.Deleted: {"CANCELLED", "CA"},
	lifecycle.Preempted: {"PREEMPTED", "PR"}, lifecycle.TimedOut: {"TIMEOUT", "TO"}, lifecycle.Lost: {"NODE_FAIL", "NF"},
}

var pending = state{"PENDING", "PD"}

func stateOf(w *api.Workload) state {
	if w.Phase == string(lifecycle.Failed) && w.Reason == string(lifecycle.ReasonOutOfMemory) {
		return state{"OUT_OF_MEMORY", "OOM"}
	}
	if s, ok := states[lifecycle.Phase(w.Phase)]; ok {
		return s
	}
	return pending
}

// knownStates are all that can be asked for.
func knownStates() []state {
	all := []state{pending, {"OUT_OF_MEMORY", "OOM"}, {"SUSPENDED", "S"}, {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"}}
	for _, s := range states {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b state) int { return strings.Compare(a.long, b.long) })
	return all
}

// job is the workload of a number, or of a name.
func job(c *compat.Call, text string) (*api.Workload, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" && text[0] != '@' {
		return c.Find(c.Context, "", text)
	}
	var list []api.Workload
	if n > 0 { // zero would ask for any
		if list, err = c.Pages(c.Context, client.ListOptions{Number: n, Deleted: true}, 1, nil); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		if w, index, is := taskJob(c, text); is {
			return nil, cli.Missing(fmt.Sprintf("Invalid job id specified: %s is a task of an array, %d_%d", text, w.Number, numberIn(arrayNumbers(w), index)), fmt.Sprintf("name the whole array: %d", w.Number))
		}
		return nil, cli.Missing(fmt.Sprintf("Invalid job id specified: %s", cmp.Or(text, `""`)), "squeue lists the jobs that there are")
	}
	return &list[0], nil
}

// taskJob is the array that has not ended of which the job of a number is a
// task, and which one.
func taskJob(c *compat.Call, text string) (w *api.Workload, index int, ok bool) {
	return arrayOf(c, text, true)
}

// arrayOf is the array that the job of a number is a task of, and which one:
// each has a number of its own, those below the array's.
func arrayOf(c *compat.Call, text string, live bool) (w *api.Workload, index int, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return nil, 0, false
	}
	in := func(w *api.Workload) bool {
		return w.Number >= n && w.Number-cli.Document(w).SlurmJobs() < n
	}
	list, err := c.Pages(c.Context, client.ListOptions{Live: live, Deleted: !live}, 1, in)
	if err != nil || len(list) == 0 {
		return nil, 0, false
	}
	w = &list[0]
	return w, int(n - 1 - w.Number + cli.Document(w).SlurmJobs()), true
}

// whole refuses ids of a part of a job: what is done, is done to all of it.
func whole(done string, ids []string) error {
	for _, id := range ids {
		if number, _, part := strings.Cut(id, "_"); part {
			return cli.Wrong(fmt.Sprintf("Invalid job id specified: %q is a part of an array: only the whole array can be %s", id, done), "name it by its number: "+number)
		}
		if number, _, part := strings.Cut(id, "."); part {
			return cli.Wrong(fmt.Sprintf("Invalid job id specified: %q is a step: only the whole job can be %s", id, done), "name it by its number: "+number)
		}
	}
	return nil
}

// jobs are those of several ids; an array's task is its array.
func jobs(c *compat.Call, texts []string) ([]*api.Workload, error) {
	var out []*api.Workload
	for _, text := range texts {
		number, _, _ := strings.Cut(text, "_")
		w, err := job(c, number)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// reasons are Slurm's words for why a job waits.
var reasons = map[string]string{
	"NeverFits": "PartitionNodeLimit", "QueueStopped": "JobHeldAdmin", "QueueNotFound": "InvalidAccount", "OverLimit": "QOSGrpLimit", "NotLent": "QOSGrpLimit", "WaitingForLicense": "Licenses",
	"NonPreemptibleOverQuota": "AssocGrpLimit", "WaitingForQuota": "Priority", "WaitingForCapacity": "Resources", "Fragmented": "Resources",
	"TopologyUnsatisfied": "Resources", "WaitingForPreemption": "Resources", "NotYetEvaluated": "None", "AdmissionChecks": "JobHeldUser", "Dependency": "Dependency", "BeginTime": "BeginTime", "Held": "JobHeldUser",
	"RetryBackoff": "BeginTime", "Reserved": "Reservation", "Reservation": "Reservation", "NoNodes": "ReqNodeNotAvail", "ImageBuild": "Prolog", "PlanningFailed": "SystemFailure",
}

// reason is why a job waits or how it ended.
func reason(w *api.Workload) string {
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

// partition is the pool of a job's nodes, or the first that it may use.
func partition(p *compat.Place, w *api.Workload) string {
	for _, n := range compat.Nodes(compat.Last(w)) {
		if pool := p.Nodes[n].Pool; pool != "" {
			return pool
		}
	}
	if pools := cli.Document(w).Pools; len(pools) > 0 {
		return strings.Join(pools, ",")
	}
	return "default"
}

// used is how long a job's present attempt has run.
func used(w *api.Workload, now time.Time) time.Duration {
	a := compat.Last(w)
	if a == nil || a.RunningAt == nil {
		return 0
	}
	if a.EndedAt != nil {
		now = compat.At(a.EndedAt)
	}
	return max(now.Sub(compat.At(a.RunningAt)), 0)
}

// span is a length of time as [D-][H:]MM:SS.
func span(d time.Duration) string {
	s := int(d.Seconds())
	days, h, m := s/86400, s/3600%24, s/60%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, h, m, s%60)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, s%60)
	default:
		return fmt.Sprintf("%d:%02d", m, s%60)
	}
}

// limit is the time limit of a job.
func limit(w *api.Workload) string {
	if d := cli.Document(w).MaxDuration.Std(); d > 0 {
		return span(d)
	}
	return "UNLIMITED"
}

// instant is a time as Slurm writes it.
func instant(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Local().Format("2006-01-02T15:04:05")
}

// name is what a job was called: workloads have six characters more, and no
// capitals.
func name(w *api.Workload) string {
	if s := cli.Document(w).Slurm; s != nil && s.Name != "" {
		return s.Name
	}
	return cmp.Or(cli.Document(w).NamePrefix, w.Name)
}
