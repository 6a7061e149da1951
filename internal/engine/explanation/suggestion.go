package explanation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// suggestion is a change of a document that might let it start.
type suggestion struct {
	flags string // of muster run
	job   schedule.Job
	// fewer and halves search for a number: of tasks, of GPUs each.
	fewer, halves bool
	part          bool // search for the largest part of a GPU
	beside        int  // of the tasks, how many are none of its workers
	// enough says that what follows is more of the same, for when this helps.
	enough bool
}

// Suggestion is a change with which a workload would start now.
type Suggestion struct {
	Flags   string // to be typed
	Now     bool   // at once; else once those have left whom it displaces
	Pool    string
	Victims []RelatedWorkload
}

// RelatedWorkload is another workload that matters to one that waits.
type RelatedWorkload struct {
	ID      core.WorkloadID
	Name    string
	Project core.ProjectID
	User    string
	GPUs    int             // whole ones that it holds, or asks for where it holds none; parts count as one
	Milli   int64           // the same in thousandths of GPUs
	Tasks   int             // that hold something
	Since   time.Time       // of its phase
	Cause   schedule.Action // of a victim: by which right
	// At is when it is likely to start, or to end; 0: unknown. Ends has the range
	// of an end.
	At   int64
	Ends forecast.Span
}

// Bounds of what is tried and shown.
const (
	suggestionsShown = 5
	projectsTried    = 8
	poolsTried       = 8
	typesTried       = 4
)

// suggestions are the changes that are worth a try, the mildest first.
func suggestions(tx *draft.Tx, w *core.Workload, tasks *workload.Tasks, base schedule.Job) []suggestion {
	var out []suggestion
	add := func(flags string, change func(*spec.Document)) {
		doc, c := *w.Spec, *w
		change(&doc)
		c.Spec = &doc
		if j, ok := tx.State.Job(&c, tasks); ok {
			if p := core.ProjectID(doc.Project); p != w.Project {
				j.Queue, j.Pools = p, poolsIn(tx, &doc, p)
			}
			out = append(out, suggestion{flags: flags, job: j})
		}
	}
	if w.Kind.Foreign() {
		return nil // it is not ours to submit otherwise
	}
	s := w.Spec
	if w.Kind.Ranked() && s.Workers > 1 {
		out = append(out, suggestion{flags: "--workers", job: base, fewer: true, beside: workload.BesideWorkers(s)})
	}
	if s.Topology.Required != "" {
		add("--set topology.required=", func(d *spec.Document) { d.Topology.Required = "" })
	}
	if s.Topology.Segment.Required != "" {
		add("--set 'topology.segment={}'", func(d *spec.Document) { d.Topology.Segment = spec.Segment{} })
	}
	suggestionTypes(tx, s, add)
	for _, pool := range otherPools(tx, base.Pools) {
		add("--set 'pools=["+pool+"]'", func(d *spec.Document) { d.Pools = []string{pool} })
	}
	if len(s.Clusters) > 0 {
		add("--set 'clusters=[]'", func(d *spec.Document) { d.Clusters = nil })
	}
	if flags := freed(s); flags != "" {
		add(flags, func(d *spec.Document) {
			d.NodeSelector, d.NodeAffinity, d.NodeAffinityAny, d.NodeType = nil, nil, nil, ""
		})
	}
	if !*s.Preemptible {
		yes := true
		add("--set preemptible=true", func(d *spec.Document) { d.Preemptible = &yes })
	}
	for _, p := range otherProjects(tx, w.Project) {
		add("--project "+string(p), func(d *spec.Document) { d.Project = string(p) })
	}
	if g := s.Resources.GPU; g.Kind() == spec.WholeGPU && g.Count > 1 {
		out = append(out, suggestion{flags: "--gpus", job: base, halves: true})
	}
	if g := s.Resources.GPU; g.Kind() != spec.WholeGPU && explain.Part(base) > 0 {
		out = append(out, suggestion{flags: "--gpus", job: base, part: true})
	}
	if base.Patient > tx.Now.UnixMilli() {
		add("--patience 0s", func(d *spec.Document) { d.Patience = 0 })
	}
	for _, p := range []spec.Priority{spec.High, spec.VeryHigh} {
		if p > s.Priority {
			add("--priority "+p.String(), func(d *spec.Document) { d.Priority = p })
			out[len(out)-1].enough = true
		}
	}
	return out
}

// freed are the flags that lift every condition of a document on nodes.
func freed(s *spec.Document) string {
	var out []string
	if len(s.NodeSelector) > 0 {
		out = append(out, "--set 'nodeSelector={}'")
	}
	if len(s.NodeAffinity) > 0 {
		out = append(out, "--set 'nodeAffinity=[]'")
	}
	if len(s.NodeAffinityAny) > 0 {
		out = append(out, "--set 'nodeAffinityAny=[]'")
	}
	if s.NodeType != "" {
		out = append(out, "--set nodeType=")
	}
	return strings.Join(out, " ")
}

// suggestionTypes offers the GPUs of other products that there are.
func suggestionTypes(tx *draft.Tx, s *spec.Document, add func(string, func(*spec.Document))) {
	want := s.Resources.GPU.Type
	if want == "" {
		return
	}
	products := map[string]bool{}
	for _, n := range tx.State.Nodes {
		for _, d := range n.Devices {
			if n.Ready && d.Product != "" && !spec.OfType(d.Product, d.Memory, want) {
				products[d.Product] = true
			}
		}
	}
	for i, p := range slices.Sorted(maps.Keys(products)) {
		if i == typesTried {
			return
		}
		flag := p
		if strings.ContainsAny(p, " '\"$") {
			flag = fmt.Sprintf("%q", p)
		}
		add("--gpu-type "+flag, func(d *spec.Document) { d.Resources.GPU.Type = p })
	}
}

// otherPools are pools with nodes that are not among pools.
func otherPools(tx *draft.Tx, pools []string) []string {
	there := map[string]bool{}
	for _, n := range tx.State.Nodes {
		if n.Ready && !slices.Contains(pools, n.Pool) {
			there[n.Pool] = true
		}
	}
	if len(pools) == 0 { // it may use all already
		return nil
	}
	all := slices.Sorted(maps.Keys(there))
	return all[:min(len(all), poolsTried)]
}

// otherProjects are open projects beside id.
func otherProjects(tx *draft.Tx, id core.ProjectID) []core.ProjectID {
	var all []core.ProjectID
	for p := range tx.EachProject() {
		if mode, _ := tx.Tree().Stopped(p.ID); p.ID != id && !p.Department && mode == core.StopNone {
			all = append(all, p.ID)
		}
	}
	slices.Sort(all)
	return all[:min(len(all), projectsTried)]
}

// poolsIn are the pools that a document may use in a project.
func poolsIn(tx *draft.Tx, doc *spec.Document, id core.ProjectID) []string {
	if len(doc.Pools) > 0 {
		return doc.Pools
	}
	return tx.State.Tree.Pools(id)
}

// try asks a state of its own for what becomes of the offer.
func (o *suggestion) try(st *state.State, now int64) (string, explain.Trial) {
	switch {
	case o.fewer:
		n, t := explain.Fewer(st, now, o.job)
		return fmt.Sprintf("%s %d", o.flags, n-o.beside), t
	case o.part:
		n, t := explain.Smaller(st, now, o.job)
		return fmt.Sprintf("%s %s", o.flags, strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)), t
	case o.halves:
		for j, ok := explain.Halved(o.job); ok; j, ok = explain.Halved(j) {
			if t := explain.Turn(st, now, j); t.Starts() {
				groups := j.Shape.Groups
				return fmt.Sprintf("%s %d", o.flags, groups[len(groups)-1].Runs[0].Need.Devices), t
			}
		}
		return "", explain.Trial{}
	default:
		return o.flags, explain.Turn(st, now, o.job)
	}
}
