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
	out.Times = all.Times
	out.WaitPercentilesSeconds = r.waitPercentiles()
	out.BySize = r.bySize()
	out.ByProject = r.byProject(m)
	r.overTime(m, &out)
	return out, nil
}

// gathered is what is summed up of some jobs.
type gathered struct {
	group                      Group
	waits, completions, totals []int64
	slowdowns, starts          []float64
}

func (g *gathered) add(j *trace.Job, l *life) {
	g.group.Jobs++
	g.group.WorkGPUSeconds += j.Duration * int64(j.GPUs)
	g.group.LostGPUSeconds += l.lost * int64(j.GPUs)
	took := l.end - j.Submit
	g.waits = append(g.waits, l.first-j.Submit)
	g.completions = append(g.completions, took)
	g.totals = append(g.totals, took-j.Duration)
	g.slowdowns = append(g.slowdowns, max(float64(took)/float64(max(j.Duration, slowdownLeast)), 1))
	g.starts = append(g.starts, float64(l.starts))
}

func (g *gathered) sum() Group {
	g.group.Wait, g.group.Completion, g.group.TotalWait = spread(g.waits), spread(g.completions), spread(g.totals)
	g.group.Slowdown, g.group.Starts = ratios(g.slowdowns), ratios(g.starts)
	return g.group
}

func (r *Recorder) group(name string, in func(trace.Job) bool) Group {
	g := gathered{group: Group{Name: name}}
	for id := range r.jobs {
		if in(r.jobs[id]) {
			g.add(&r.jobs[id], &r.lives[id])
		}
	}
	return g.sum()
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
	for _, c := range sizeClasses {
		out = append(out, r.group(c.name, func(j trace.Job) bool { return j.GPUs > c.more && j.GPUs <= c.most }))
	}
	return out
}

// byProject gathers jobs first, so that thousands of projects are one pass.
func (r *Recorder) byProject(m Measure) []Project {
	found := map[string]*gathered{}
	for id := range r.jobs {
		name := r.jobs[id].Project
		p := found[name]
		if p == nil {
			p = &gathered{group: Group{Name: name}}
			found[name] = p
		}
		p.add(&r.jobs[id], &r.lives[id])
	}
	var out []Project
	for name, p := range found {
		weight := 1.0
		if len(m.Weights) > 0 {
			weight = float64(m.Weights[name])
		}
		out = append(out, Project{Group: p.sum(), Weight: weight})
	}
	slices.SortFunc(out, func(a, b Project) int {
		return cmp.Or(cmp.Compare(b.WorkGPUSeconds, a.WorkGPUSeconds), cmp.Compare(a.Name, b.Name))
	})
	return out
}
