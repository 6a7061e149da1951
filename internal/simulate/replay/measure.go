package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/simulate/trace"
)

// Measure says how a Result is made.
type Measure struct {
	Name    string
	Cluster Cluster
	// Weights are projects' parts when GPUs are short, for example their
	// quotas; none at all: everyone has the same.
	Weights map[string]int
	// Buckets is how many spans of time there are; 0: 200.
	Buckets int
}

// Result sums up what was recorded. It returns an error unless every job that
// was submitted has finished.
func (r *Recorder) Result(m Measure) (Result, error) {
	if len(r.jobs) == 0 {
		return Result{}, fmt.Errorf("replay: nothing was recorded")
	}
	out := Result{Name: m.Name, Cluster: m.Cluster, Jobs: len(r.jobs), Check: r.check()}
	for id, l := range r.lives {
		if l.end < 0 {
			return Result{}, fmt.Errorf("replay: job %d has not finished; record until the last one has", id)
		}
		j := r.jobs[id]
		out.WorkGPUSeconds += j.Duration * int64(j.GPUs)
		out.WastedGPUSeconds += l.lost * int64(j.GPUs)
		out.Preemptions += l.starts - 1
		out.MakespanSeconds = max(out.MakespanSeconds, l.end-r.jobs[0].Submit)
		out.LongestRestartSeconds = max(out.LongestRestartSeconds, l.restart)
	}
	all := r.group("all", func(trace.Job) bool { return true })
	out.Wait, out.Completion = all.Wait, all.Completion
	out.WaitPercentilesSeconds = r.waitPercentiles()
	out.BySize = r.bySize()
	out.ByProject = r.byProject(m)
	r.overTime(m, &out)
	return out, nil
}

func (r *Recorder) group(name string, in func(trace.Job) bool) Group {
	g := Group{Name: name}
	var waits, completions []int64
	for id, j := range r.jobs {
		if !in(j) {
			continue
		}
		g.Jobs++
		g.WorkGPUSeconds += j.Duration * int64(j.GPUs)
		waits = append(waits, r.lives[id].first-j.Submit)
		completions = append(completions, r.lives[id].end-j.Submit)
	}
	g.Wait, g.Completion = spread(waits), spread(completions)
	return g
}

func (r *Recorder) waitPercentiles() []int64 {
	waits := make([]int64, len(r.jobs))
	for id, j := range r.jobs {
		waits[id] = r.lives[id].first - j.Submit
	}
	slices.Sort(waits)
	var out []int64
	for n := range 101 {
		out = append(out, percentile(waits, n))
	}
	return out
}

func (r *Recorder) bySize() []Group {
	var out []Group
	above := 0
	for _, c := range sizeClasses {
		out = append(out, r.group(c.name, func(j trace.Job) bool { return j.GPUs > above && j.GPUs <= c.most }))
		above = c.most
	}
	return out
}

// byProject gathers jobs first, so that thousands of projects are one pass.
func (r *Recorder) byProject(m Measure) []Project {
	type lists struct {
		group              Group
		waits, completions []int64
	}
	found := map[string]*lists{}
	for id, j := range r.jobs {
		p := found[j.Project]
		if p == nil {
			p = &lists{group: Group{Name: j.Project}}
			found[j.Project] = p
		}
		p.group.Jobs++
		p.group.WorkGPUSeconds += j.Duration * int64(j.GPUs)
		p.waits = append(p.waits, r.lives[id].first-j.Submit)
		p.completions = append(p.completions, r.lives[id].end-j.Submit)
	}
	var out []Project
	for name, p := range found {
		p.group.Wait, p.group.Completion = spread(p.waits), spread(p.completions)
		weight := 1.0
		if len(m.Weights) > 0 {
			weight = float64(m.Weights[name])
		}
		out = append(out, Project{Group: p.group, Weight: weight})
	}
	slices.SortFunc(out, func(a, b Project) int {
		return cmp.Or(cmp.Compare(b.WorkGPUSeconds, a.WorkGPUSeconds), cmp.Compare(a.Name, b.Name))
	})
	return out
}
