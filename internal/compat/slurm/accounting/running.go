package accounting

import (
	"slices"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// Running is a step that runs: what srun has started, or a script.
type Running struct {
	Workload *api.Workload
	Job, ID  string // as sacct calls the job, and the step: 12_3, 12_3.0
	Name     string
	Nodes    []string
	Start    time.Time
	CPUs     int64
	Tasks    int    // processes of what srun has started; 1: a script
	TRES     string // what it holds; empty: a script, which Slurm says nothing of
}

// RunningSteps are the steps that run of what an id means, such as 12, 12_3 or 12.0. None
// of a job that is not there is an error, as with squeue.
func RunningSteps(c *compat.Call, p *compat.Place, id string) ([]Running, error) {
	which, err := parseID(id)
	if err != nil {
		return nil, err
	}
	ws, tasks, err := which.find(c)
	if err != nil {
		return nil, err
	}
	if len(ws) == 0 {
		return nil, cli.Missing("slurm_load_jobs error: Invalid job id specified", "squeue -s lists all steps that run")
	}
	var out []Running
	for _, e := range entriesOfAll(c, p, ws, tasks) {
		if e.Step == "" || e.state != "RUNNING" || which.step != "" && which.step != e.Step {
			continue
		}
		nodes := e.nodes()
		slices.Sort(nodes)
		r := Running{Workload: e.Workload, Job: e.job, ID: e.id(), Name: e.name, Nodes: slices.Compact(nodes), Start: e.start, CPUs: e.StepCPUs, Tasks: e.processes()}
		if e.ofSrun != nil {
			r.TRES = e.TRES()
		}
		out = append(out, r)
	}
	return out, nil
}
