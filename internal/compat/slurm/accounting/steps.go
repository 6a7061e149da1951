package accounting

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// withSteps is a job with its steps, once it has begun: its script, and what srun
// has started in that.
func (e *entry) withSteps() []*entry {
	if e.state == "CANCELLED" {
		e.by = e.canceller()
	}
	if e.start.IsZero() || e.state == terms.Pending.Long {
		return []*entry{e}
	}
	out := []*entry{e}
	direct, alone := terms.Direct(e.Document)
	if !direct || alone {
		out = append(out, e.script(alone))
	}
	for i := range e.tasks {
		for j := range e.tasks[i].Steps {
			s := e.step(&e.tasks[i].Steps[j])
			e.derived = max(e.derived, raw(s.exit()))
			out = append(out, s)
		}
	}
	if alone {
		e.derived = raw(out[1].exit())
	}
	return out
}

// raw is an exit code and a signal as Slurm compares them: as the system has them.
func raw(code, signal int) int { return code<<8 | signal }

// script is the step that a job's script is; where it is a command of srun alone,
// that is the first that srun starts.
func (e *entry) script(alone bool) *entry {
	s := *e
	s.Step, s.name, s.by = "batch", "batch", ""
	if alone {
		s.Step, s.name = "0", terms.Name(e.Workload)
		if argv := e.Document.Command.Argv; len(argv) > 4 {
			s.name = filepath.Base(argv[4])
		}
	}
	switch e.state {
	case "TIMEOUT", "REQUEUED", "PREEMPTED":
		s.state = "CANCELLED"
	}
	return &s
}

// step is what srun has started. Where nobody has said that it ended, it has ended
// with its job.
func (e *entry) step(of *api.JobStep) *entry {
	s := *e
	s.Step, s.name, s.by, s.ofSrun = strconv.Itoa(of.ID), of.Name, "", of
	s.StepCPUs, s.StepNodes = int64(of.CPUs), int64(max(len(e.nodes()), 1))
	if e.Document.Array == nil {
		s.StepNodes = e.NodeCount()
	}
	if of.On != nil {
		s.StepNodes = int64(len(of.On))
		s.tasks = slices.DeleteFunc(slices.Clone(e.tasks), func(t api.Task) bool { return !slices.Contains(of.On, t.Index) && e.Document.Array == nil })
	}
	s.start, s.code, s.signal = compat.At((*api.Time)(&of.StartedAt)), nil, 0
	switch {
	case of.EndedAt != nil:
		code := of.ExitCode
		s.end, s.code, s.state = compat.At(of.EndedAt), &code, "COMPLETED"
		switch {
		case code > 128:
			s.state, s.signal, s.code = "CANCELLED", code-128, nil
		case code > 0:
			s.state = "FAILED"
		}
	case e.end.IsZero() && !cli.Ended(e.Workload):
		s.state = "RUNNING"
	case e.state != "OUT_OF_MEMORY" && e.state != "NODE_FAIL":
		s.state = "CANCELLED"
	}
	return &s
}

// processes are those of a step.
func (e *entry) processes() int {
	if e.ofSrun != nil {
		return e.ofSrun.Tasks
	}
	return 1
}
