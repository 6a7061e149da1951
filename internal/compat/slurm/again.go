package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// aimed is a job that a subcommand is about, or some tasks of an array.
type aimed struct {
	*api.Workload
	tasks []int // nil: all of it
}

// jobsOf are those that the words of a subcommand name, and where they are.
func jobsOf(c *compat.Call, sub string) ([]aimed, *client.Client, error) {
	if len(c.Args) == 0 {
		return nil, nil, cli.Wrong("scontrol "+sub+" needs a job", "scontrol "+sub+" 12")
	}
	var out []aimed
	for _, a := range c.Args {
		for _, id := range idsIn(a) {
			if number, _, step := strings.Cut(id, "."); step {
				return nil, nil, cli.Wrong(fmt.Sprintf("Invalid job id specified: %q is a step, which ends with its job", id), "name the job by its number: "+number)
			}
			ws, tasks, err := jobsNamed(c, id)
			if err != nil {
				return nil, nil, err
			}
			for _, w := range ws {
				if _, part, some := strings.Cut(id, "_"); some && tasks == nil {
					if tasks, err = terms.Tasks(w, id, part); err != nil {
						return nil, nil, err
					}
				}
				out = append(out, aimed{w, tasks})
			}
		}
	}
	conn, err := c.Connect(c.Context)
	return out, conn, err
}

// idsIn are the ids of a list with commas; those between brackets are of one id.
func idsIn(text string) (out []string) {
	deep := 0
	for part := range strings.SplitSeq(text, ",") {
		if deep > 0 {
			out[len(out)-1] += "," + part
		} else {
			out = append(out, part)
		}
		deep += strings.Count(part, "[") - strings.Count(part, "]")
	}
	return out
}

// requeue runs jobs again: those that run are sent back to their queue.
func requeue(c *compat.Call) error {
	found, conn, err := jobsOf(c, "requeue")
	if err != nil {
		return err
	}
	for _, w := range found {
		if w.tasks != nil {
			err = requeueTasks(c.Context, conn, w)
		} else {
			err = requeueJob(c.Context, conn, w.Workload)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requeueHold sends jobs back to their queue, and keeps them there.
func requeueHold(c *compat.Call) error {
	found, conn, err := jobsOf(c, "requeuehold")
	if err != nil {
		return err
	}
	for _, w := range found {
		if w.tasks != nil {
			return cli.Wrong(fmt.Sprintf("single tasks of job %d cannot be requeued in held state", w.Number), fmt.Sprintf("scontrol requeue runs tasks again, and scontrol hold %d_N holds one that waits", w.Number))
		}
		if w.Phase != string(lifecycle.Terminating) && !cli.Ended(w.Workload) && !cli.Live(w.Workload) {
			return cli.Conflict(fmt.Sprintf("job %d is %s", w.Number, terms.StateOf(w.Workload).Long), fmt.Sprintf("scontrol hold %d keeps it from starting", w.Number))
		}
		if _, err := conn.Hold(c.Context, w.Project, w.ID, api.HoldOptions{Message: "requeued in held state", Requeue: true}); err != nil {
			return err
		}
	}
	return nil
}

// stand has the processes of jobs stand still, or go on. As far as the scheduler is
// concerned such a job runs: it keeps what it holds.
func stand(c *compat.Call, sub, sig string) error {
	found, conn, err := jobsOf(c, sub)
	if err != nil {
		return err
	}
	for _, w := range found {
		if terms.StateOf(w.Workload) == terms.Pending {
			return cli.Conflict(fmt.Sprintf("Job is pending execution for job %d", w.Number), fmt.Sprintf("scontrol hold %d keeps it from starting", w.Number))
		}
		if err := send(c, conn, victim{Workload: w.Workload, tasks: w.tasks}, "full", sig); err != nil {
			return err
		}
		if sig == "STOP" && !c.Bool("quiet") {
			c.Say("job %d: its processes stand still; it keeps its nodes and its time runs on, where Slurm gives its CPUs to others: scontrol requeuehold does", w.Number)
		}
	}
	return nil
}

// requeued is why what is sent back leaves.
const requeued = "requeued with scontrol"

func requeueJob(ctx context.Context, conn *client.Client, w *api.Workload) error {
	var err error
	switch {
	case cli.Ended(w):
		_, err = conn.Restart(ctx, w.Project, w.ID, api.RestartOptions{})
	case cli.Live(w) && w.Phase != string(lifecycle.Terminating):
		_, err = conn.Preempt(ctx, w.Project, w.ID, api.PreemptOptions{Message: requeued})
	default:
		err = cli.Conflict(fmt.Sprintf("job %d is %s", w.Number, terms.StateOf(w).Long), "it will start by itself")
	}
	return err
}

func requeueTasks(ctx context.Context, conn *client.Client, w aimed) error {
	held := tasksIn(w.Workload, core.TaskState.Held)
	over, done := tasksIn(w.Workload, core.TaskState.Ended), compat.DoneBefore(w.Workload)
	var leave, again []int
	for _, i := range w.tasks {
		switch {
		case slices.Contains(held, i):
			leave = append(leave, i)
		case done[i], slices.Contains(over, i), slices.Contains(w.Canceled, i), cli.Ended(w.Workload):
			again = append(again, i)
		default:
			id := fmt.Sprintf("%d_%d", w.Number, terms.NumberIn(terms.Numbers(w.Workload), i))
			return cli.Conflict("job "+id+" is PENDING", "it will start by itself")
		}
	}
	if leave != nil {
		if _, err := conn.Preempt(ctx, w.Project, w.ID, api.PreemptOptions{Message: requeued, Tasks: leave}); err != nil {
			return err
		}
	}
	if again == nil {
		return nil
	}
	_, err := conn.Restart(ctx, w.Project, w.ID, api.RestartOptions{Tasks: again})
	return err
}

// tasksIn are the indexes of an array's tasks whose last run is in such a state.
func tasksIn(w *api.Workload, in func(core.TaskState) bool) (out []int) {
	last := map[int]core.TaskState{}
	if a := compat.Last(w); a != nil {
		for _, t := range a.Tasks {
			last[t.Index] = core.TaskState(t.State)
		}
	}
	for i, state := range last {
		if in(state) {
			out = append(out, i)
		}
	}
	return out
}

// holdJobs keeps jobs from starting, or lets them go. Of an array that runs it is those
// of its tasks that wait.
func holdJobs(c *compat.Call, sub string, do func(*client.Client, context.Context, string, string, api.HoldOptions) (*api.Workload, error)) error {
	found, conn, err := jobsOf(c, sub)
	if err != nil {
		return err
	}
	for _, w := range found {
		if cli.Document(w.Workload).Array != nil && w.tasks == nil && sub == "hold" && cli.Live(w.Workload) {
			w.tasks = waiting(w.Workload)
		}
		if _, err := do(conn, c.Context, w.Project, w.ID, api.HoldOptions{Tasks: w.tasks}); err != nil {
			return err
		}
	}
	return nil
}

// waiting are the tasks of an array that have not begun.
func waiting(w *api.Workload) []int {
	begun := slices.Concat(tasksIn(w, core.TaskState.Held), tasksIn(w, core.TaskState.Ended), w.Canceled)
	done := compat.DoneBefore(w)
	out := []int{}
	for i := range compat.Count(w) {
		if !done[i] && !slices.Contains(begun, i) {
			out = append(out, i)
		}
	}
	return out
}
