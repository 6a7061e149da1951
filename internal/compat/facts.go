package compat

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/spec"
)

// Place is where nodes are and what GPUs they have, by name of the node.
type Place struct {
	Nodes    map[string]api.Node
	Clusters []api.ClusterInfo
	All      *api.Cluster
}

// Places asks where nodes are.
func Places(ctx context.Context, t *cli.Tool) (*Place, error) {
	c, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	p := &Place{Nodes: map[string]api.Node{}, Clusters: list.Items, All: all}
	for _, n := range all.Nodes {
		p.Nodes[n.Name] = n
	}
	return p, nil
}

// Product is the GPU that a workload has, or asks for; "" where nobody can tell
// before it has one.
func (p *Place) Product(w *api.Workload) string {
	if a := Last(w); a != nil && p != nil {
		for _, t := range a.Tasks {
			if ds := p.Nodes[t.Node].Devices; len(t.Devices) > 0 && len(ds) > 0 {
				return ds[0].Product
			}
		}
	}
	return cli.Document(w).Resources.GPU.Type
}

// Cluster is where a workload is, or the only one where it could be.
func (p *Place) Cluster(w *api.Workload) string {
	for _, n := range Nodes(Last(w)) {
		if backend := p.Nodes[n].Backend; backend != "" {
			return backend
		}
	}
	if cs := cli.Document(w).Clusters; len(cs) == 1 {
		return cs[0]
	}
	if len(p.Clusters) == 1 {
		return p.Clusters[0].Name
	}
	return ""
}

// Last is the latest attempt; nil in a summary.
func Last(w *api.Workload) *api.Attempt {
	if len(w.Attempts) == 0 {
		return nil
	}
	return &w.Attempts[len(w.Attempts)-1]
}

// DoneBefore are the indexes of the tasks of an array that have succeeded in former
// attempts, so that the last one leaves them out.
func DoneBefore(w *api.Workload) map[int]bool {
	a := Last(w)
	if a == nil || a.Todo == "" {
		return nil
	}
	todo, err := spec.ParseIndexes(a.Todo)
	if err != nil {
		todo = nil // none is its to run
	}
	out := map[int]bool{}
	for i := range Count(w) {
		out[i] = true
	}
	for _, i := range slices.Concat(todo, w.Canceled) {
		delete(out, i)
	}
	return out
}

// SucceededBefore are the records of such tasks, by index; they are there only where
// the workload was asked for by itself.
func SucceededBefore(w *api.Workload) []api.Task {
	left := DoneBefore(w)
	var out []api.Task
	for k := len(w.Attempts) - 2; k >= 0 && len(left) > 0; k-- {
		for _, t := range w.Attempts[k].Tasks {
			if left[t.Index] && t.State == string(core.TaskSucceeded) {
				out = append(out, t)
				delete(left, t.Index)
			}
		}
	}
	slices.SortFunc(out, func(a, b api.Task) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// Nodes are those of an attempt's tasks, each once, in the order of tasks.
func Nodes(a *api.Attempt) []string {
	var out []string
	if a == nil {
		return nil
	}
	for _, t := range a.Tasks {
		if t.Node != "" && !slices.Contains(out, t.Node) {
			out = append(out, t.Node)
		}
	}
	return out
}

// Count is how many tasks a workload has.
func Count(w *api.Workload) int { return max(w.Tasks.Total, 1) }

// At is an instant; zero: not yet.
func At(t *api.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Time(*t)
}

// Begun is when the first attempt got its resources, and Over when it ended.
func Begun(w *api.Workload) *api.Time {
	for i := range w.Attempts {
		if w.Attempts[i].StartedAt != nil {
			return w.Attempts[i].StartedAt
		}
	}
	return w.StartedAt
}

// Matches reports whether a name is one of several, some of which may be globs.
func Matches(patterns []string, names ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			ok, err := path.Match(p, n)
			return p == n || err == nil && ok
		})
	})
}

// IsGlob reports whether a name stands for several.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// Dash is a text, or a dash where there is none.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Number is a number without needless digits.
func Number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// Hours are seconds in hours, to the thousandth: the first minutes show.
func Hours(seconds float64) string { return amount.Thousandths(int64(seconds/3.6 + 0.5)) }

// Upper makes the first letter a capital one: RUNNING and running are Running.
func Upper(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + strings.ToLower(word[1:])
}

// Name makes a name that workloads and secrets may have of any text.
func Name(text string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, text)
	out = strings.Trim(out, "-")
	if len(out) > 52 {
		out = strings.TrimRight(out[:52], "-")
	}
	if out == "" {
		return "run"
	}
	return out
}
