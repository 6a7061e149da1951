package submission

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
)

// stepsMost is how many steps of a task are kept: its record is written anew with
// each. What a script starts beyond them runs as well, and is not told of.
const stepsMost = 500

// StepReport is what srun says of a step: that it starts, or that it has ended.
type StepReport struct {
	Task  core.TaskID // that runs the script; its run is the present one
	Step  core.JobStep
	Ended bool // of Step only number and exit code are said
}

// NoteStep keeps what srun says of a step of a batch script. Saying it again
// changes nothing.
func NoteStep(r StepReport) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(draft.Ref{ID: r.Task.Workload})
		if err != nil {
			return nil, err
		}
		if r.Task.Attempt != d.W.Attempt || d.W.Phase.End() {
			return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("attempt %d of %s is over", r.Task.Attempt, d.W.Name), Hint: "its tasks should end; what they say is not kept"}
		}
		t := d.Tasks.At(r.Task.Index)
		if t == nil {
			return nil, &draft.Error{Code: draft.CodeInvalid, Field: "task", Message: fmt.Sprintf("attempt %d of %s has no task %d", r.Task.Attempt, d.W.Name, r.Task.Index), Hint: "say the task's own index: MUSTER_TASK_INDEX"}
		}
		at := slices.IndexFunc(t.Steps, func(s core.JobStep) bool { return s.ID == r.Step.ID })
		c := *t
		switch {
		case r.Ended && (at < 0 || !t.Steps[at].EndedAt.IsZero()), !r.Ended && (at >= 0 || len(t.Steps) >= stepsMost):
			return d.W, nil
		case r.Ended:
			c.Steps = slices.Clone(t.Steps)
			c.Steps[at].EndedAt, c.Steps[at].ExitCode = tx.Now, r.Step.ExitCode
		default:
			s := r.Step
			s.StartedAt = tx.Now
			c.Steps = append(slices.Clip(t.Steps), s)
		}
		quiet := !d.Touched || d.Quiet
		err = tx.Change(d, func() error {
			d.SetTask(c)
			return nil
		})
		d.Quiet = quiet
		return d.W, err
	}
}
