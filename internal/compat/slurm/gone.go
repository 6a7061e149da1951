package slurm

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// withoutGone drops from documents what the server has refused to wait for because
// there is no such job, or none any more, and reports whether there was any. Slurm
// forgets jobs soon after they have ended, and takes one that it does not know for one
// that is over, whatever is to have become of it (sbatch --dependency; tried with
// 22.05). What is there, in another project or as a task of an array, stays refused.
func withoutGone(c *compat.Call, docs []*spec.Document, refused error) bool {
	p := (*api.Problem)(nil)
	if !errors.As(refused, &p) {
		return false
	}
	fields := []string{}
	for _, e := range p.Errors {
		fields = append(fields, e.Path)
	}
	dropped := false
	for _, doc := range docs {
		for i := len(doc.After) - 1; i >= 0; i-- {
			id := doc.After[i].Workload
			refused := func(field string) bool {
				return slices.ContainsFunc(fields, func(f string) bool { return strings.HasSuffix(f, "after["+strconv.Itoa(i)+"]."+field) })
			}
			if noTask := refused("tasks"); noTask {
				id += "_" + doc.After[i].Tasks
			} else if !refused("workload") || !gone(c, id) {
				continue
			}
			doc.After = slices.Delete(slices.Clone(doc.After), i, i+1)
			if dropped = true; doc == docs[0] && !c.Bool("quiet") {
				c.Say("sbatch: warning: there is no job %s, or none any more: it is not waited for", id)
			}
		}
	}
	return dropped
}

// gone reports whether there is no job of a number, nor a task of an array.
func gone(c *compat.Call, id string) bool {
	w, err := terms.Find(c, id)
	if err == nil {
		return w.Phase == string(lifecycle.Deleted)
	}
	if cli.CodeOf(err) != cli.CodeOf(cli.Missing("", "")) {
		return false
	}
	_, _, task := terms.ArrayOf(c, id, false)
	return !task
}
