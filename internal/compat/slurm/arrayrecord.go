package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// jobsNamed are the jobs of an id with the tasks of an array that it means; nil: all of
// them, or it is no array.
func jobsNamed(c *compat.Call, id string) (ws []*api.Workload, tasks []int, err error) {
	number, part, of := strings.Cut(id, "_")
	if of {
		w, err := terms.Find(c, number)
		if err == nil && cli.Document(w).Array != nil {
			given, err := spec.ParseIndexes(strings.TrimSuffix(strings.TrimPrefix(part, "["), "]"))
			if err != nil {
				return nil, nil, cli.Wrong("Invalid job id specified: "+id, "an array's tasks are named like 12_3 or 12_[1,4-6]")
			}
			numbers := terms.Numbers(w)
			for i := range compat.Count(w) {
				if slices.Contains(given, terms.NumberIn(numbers, i)) {
					tasks = append(tasks, i)
				}
			}
			if len(tasks) == 0 {
				return nil, nil, cli.Missing("Invalid job id specified: "+id, "squeue -r lists the tasks that there are")
			}
			return []*api.Workload{w}, tasks, nil
		}
	}
	if array, index, is := terms.TaskOf(c, id); is && strconv.FormatInt(array.Number, 10) != id {
		return []*api.Workload{array}, []int{index}, nil
	}
	ws, err = terms.FindAll(c, []string{id})
	return ws, nil, err
}

// recordRows are the jobs that scontrol shows of a workload: of an array each task that
// has begun, and those that wait together.
func recordRows(c *compat.Call, p *compat.Place, w *api.Workload, some []int) []row {
	d := cli.Document(w)
	whole := row{c: c, p: p, w: w, state: terms.StateOf(w), count: compat.Count(w), task: -1}
	if a := compat.Last(w); a != nil {
		whole.tasks = a.Tasks
	}
	if d.Array == nil {
		return []row{whole}
	}
	var out []row
	if !cli.Ended(w) {
		out = rowsOf(c, p, w, some)
	}
	for _, t := range slices.Concat(compat.SucceededBefore(w), whole.tasks) {
		r := whole
		r.tasks, r.count, r.task = []api.Task{t}, 1, t.Index
		switch t.State {
		case "succeeded":
			r.state = terms.States[lifecycle.Completed]
		case "failed":
			if r.state = terms.States[lifecycle.Failed]; slices.Contains(w.Canceled, t.Index) {
				r.state = terms.States[lifecycle.Stopped]
			}
		case "lost":
			r.state = terms.States[lifecycle.Lost]
		default:
			continue
		}
		if some == nil || slices.Contains(some, t.Index) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return []row{whole}
	}
	return out
}

// ofArray is where in an array a job is: its own number, the array's, and its task, or
// those that wait together.
func (r *row) ofArray() (job, array string, tasks string, is bool) {
	array = strconv.FormatInt(r.w.Number, 10)
	if of, _, task, member := terms.Member(r.w); member {
		return array, strconv.FormatInt(of, 10), strconv.Itoa(task), true
	}
	d := cli.Document(r.w)
	if d.Array == nil || r.task < 0 && !strings.Contains(r.id, "[") {
		return array, "", "", false
	}
	job, _ = r.value('A')
	if r.task >= 0 {
		return job, array, strconv.Itoa(terms.NumberIn(terms.Numbers(r.w), r.task)), true
	}
	_, tasks, _ = strings.Cut(r.id, "_")
	tasks = strings.Trim(tasks, "[]")
	if most := d.Array.Parallelism; most > 0 {
		tasks += fmt.Sprintf("%%%d", most)
	}
	return job, array, tasks, true
}

// lasted are when a job began and ended, and how long it ran: of a task of an array its
// own.
func (r *row) lasted() (began, ended time.Time, ran time.Duration) {
	if r.task < 0 || len(r.tasks) != 1 {
		if r.state == terms.Pending && cli.Document(r.w).Array != nil {
			return time.Time{}, time.Time{}, 0
		}
		return start(r.w), end(r.w), terms.Used(r.w, r.c.Now())
	}
	t := r.tasks[0]
	began, ended = compat.At(t.StartedAt), compat.At(t.EndedAt)
	switch {
	case began.IsZero():
		began = compat.At(t.PlacedAt)
	case ended.IsZero():
		ran = r.c.Now().Sub(began)
	default:
		ran = ended.Sub(began)
	}
	if limit := cli.Document(r.w).MaxDuration.Std(); ended.IsZero() && limit > 0 && !began.IsZero() {
		ended = began.Add(limit)
	}
	return began, ended, max(ran, 0)
}

// notLaunched is how a job has ended that nothing ran of.
var notLaunched = fmt.Sprintf("0:%d", terms.NotLaunched)

// exitCode is how a job has ended, as Slurm writes it.
func (r *row) exitCode() string {
	code := (*int)(nil)
	if a := compat.Last(r.w); a != nil {
		code = a.ExitCode
	}
	if r.task >= 0 {
		if code = nil; len(r.tasks) == 1 {
			code = r.tasks[0].ExitCode
		}
	} else if r.state == terms.Pending && cli.Document(r.w).Array != nil {
		code = nil
	}
	switch {
	case code == nil && r.state == terms.States[lifecycle.Failed] && cli.Document(r.w).Slurm != nil:
		return notLaunched
	case code == nil:
		return "0:0"
	case *code > 128:
		return fmt.Sprintf("0:%d", *code-128)
	}
	return fmt.Sprintf("%d:0", *code)
}
