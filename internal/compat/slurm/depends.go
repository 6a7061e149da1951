package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/predecessor"
	"github.com/musterhq/muster/internal/core/spec"
)

// dependency says what a job waits for still, as sbatch takes it, and behind each
// whether it can still come (squeue(1), %E; tried with 22.05).
func (r *row) dependency() string {
	var out []string
	between := ","
	for _, d := range cli.Document(r.w).After {
		i := slices.IndexFunc(r.w.Checks, func(c api.Check) bool { return c.Name == predecessor.Name(d) })
		state := "unfulfilled"
		if i >= 0 {
			switch c := r.w.Checks[i]; {
			case c.Verdict == "approved" && !d.PerTask:
				continue
			case c.Verdict == "waiting" && c.Message != "" && c.AskAt == nil:
				state = "failed" // it waits for somebody to run that again
			}
		}
		word := map[string]string{spec.AfterFailed: "afternotok", spec.AfterEnded: "afterany", spec.AfterStarted: "after"}[d.When]
		if d.PerTask {
			word = "aftercorr"
		}
		job := r.foregoer(d)
		if d.Any {
			between = "?"
		}
		for _, task := range tasksOfDependency(d) {
			item := cmp.Or(word, "afterok") + ":" + job + task
			if d.Delay > 0 {
				item += fmt.Sprintf("+%d", int64(d.Delay.Std()/time.Minute))
			}
			out = append(out, item+"("+state+")")
		}
	}
	return strings.Join(out, between)
}

// foregoer is what Slurm calls the job that is waited for: all of an array is 12_*.
func (r *row) foregoer(d spec.Dependency) string {
	w, err := terms.Find(r.c, d.Workload)
	if err != nil {
		return d.Workload // it was deleted
	}
	number := strconv.FormatInt(w.Number, 10)
	if cli.Document(w).Array != nil && d.Tasks == "" {
		number += "_*"
	}
	return number
}

// tasksOfDependency is what stands behind the job's number for each task that is
// waited for.
func tasksOfDependency(d spec.Dependency) []string {
	numbers, err := spec.ParseIndexes(d.Tasks)
	if d.Tasks == "" || err != nil {
		return []string{""}
	}
	var out []string
	for _, n := range numbers {
		out = append(out, "_"+strconv.Itoa(n))
	}
	return out
}
