// Package terms has what Slurm's tools have in common: what they call a
// workload, its states and its parts, how they find one by its number, and how
// they write times, demands and lists of nodes.
package terms

import (
	"cmp"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// QOS is the name of a job's priority.
func QOS(w *api.Workload) string { return cli.Document(w).Priority.String() }

// Partition is the pool of a job's nodes, or the first that it may use.
func Partition(p *compat.Place, w *api.Workload) string {
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

// Used is how long a job's present attempt has run.
func Used(w *api.Workload, now time.Time) time.Duration {
	a := compat.Last(w)
	if a == nil || a.RunningAt == nil {
		return 0
	}
	if a.EndedAt != nil {
		now = compat.At(a.EndedAt)
	}
	return max(now.Sub(compat.At(a.RunningAt)), 0)
}

// WholeLimit is the time limit of a job with all its digits, as scontrol writes it.
func WholeLimit(w *api.Workload) string {
	if d := cli.Document(w).MaxDuration.Std(); d > 0 {
		return Clock(d)
	}
	return "UNLIMITED"
}

// Limit is the time limit of a job.
func Limit(w *api.Workload) string {
	if d := cli.Document(w).MaxDuration.Std(); d > 0 {
		return Span(d)
	}
	return "UNLIMITED"
}

// Name is what a job was called: workloads have six characters more, and no
// capitals.
func Name(w *api.Workload) string {
	if s := cli.Document(w).Slurm; s != nil && s.Name != "" {
		return s.Name
	}
	return cmp.Or(cli.Document(w).NamePrefix, w.Name)
}
