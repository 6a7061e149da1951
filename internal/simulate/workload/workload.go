// Package workload makes work for simulations: the mixes on which the program's
// own scheduler is measured beside others. The same name gives the same jobs,
// to the second. Only what is said to be measured is; the others are drawn from
// distributions with the proportions that publications tell.
package workload

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/simulate/trace"
)

// Workload is work, and the cluster that it is for.
type Workload struct {
	Name, About        string
	Nodes, GPUsPerNode int
	make               func(g *generator) ([]trace.Job, error)
}

// helios is May 2020 in the cluster Earth of the Helios traces (S-Lab, SC'21),
// rebuilt from the published minute series of running jobs and GPUs: durations
// and sizes are estimates.
//
//go:embed testdata/helios_earth.csv.gz
var helios []byte

const hour, day = 3600.0, 86400.0

// all are the workloads, in the order in which they are shown.
var all = []Workload{
	{"helios", "Helios Earth, May 2020, rebuilt: 38,312 jobs of 16 projects", 72, 8, func(*generator) ([]trace.Job, error) { return trace.Read(bytes.NewReader(helios)) }},
	{"acme95", "like Acme: most GPU time in gangs of 64 to 512 GPUs, bursts of small evaluations, load 0.95", 128, 8, func(g *generator) ([]trace.Job, error) { return g.acme(0.95, 1024, 20), nil }},
	{"gangs", "a stream of single GPUs for a day each, and gangs of 128 GPUs for 8 hours, load 0.95", 64, 8, func(g *generator) ([]trace.Job, error) { return g.gangs(0.70, 0.25, 512, 30), nil }},
	{"load070", "a mix of sizes and lengths, load 0.7", 32, 8, mixed(0.70)},
	{"load085", "the same, load 0.85", 32, 8, mixed(0.85)},
	{"load095", "the same, load 0.95", 32, 8, mixed(0.95)},
	{"load105", "the same, load 1.05", 32, 8, mixed(1.05)},
	{"load130", "the same, load 1.3", 32, 8, mixed(1.30)},
	{"long105", "jobs of 11 to 17 hours, load 1.05", 64, 8, func(g *generator) ([]trace.Job, error) { return g.long(1.05, 512, 30), nil }},
	{"long130", "jobs of 11 to 17 hours, load 1.3", 64, 8, func(g *generator) ([]trace.Job, error) { return g.long(1.30, 512, 20), nil }},
}

// Names lists the workloads.
func Names() []string {
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
	}
	return names
}

// New returns a workload by its name, or an error that lists the names.
func New(name string) (Workload, error) {
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, fmt.Errorf("workload %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// Jobs makes its jobs, sorted and numbered as trace.Read does.
func (w Workload) Jobs() ([]trace.Job, error) {
	seed := uint64(0)
	for _, c := range w.Name {
		seed = seed*31 + uint64(c)
	}
	jobs, err := w.make(&generator{rand.New(rand.NewPCG(seed, 1))})
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	slices.SortStableFunc(jobs, func(a, b trace.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	first := jobs[0].Submit
	for i := range jobs {
		jobs[i].ID, jobs[i].Submit = i, jobs[i].Submit-first
	}
	return jobs, nil
}

// generator draws jobs.
type generator struct{ *rand.Rand }

// length draws seconds from a log-normal distribution by its median and mean.
func (g *generator) length(median, mean, most float64) int64 {
	spread := math.Sqrt(2 * math.Log(mean/median))
	return int64(max(5, min(most, median*math.Exp(spread*g.NormFloat64()))))
}

func (g *generator) size(sizes ...int) int { return sizes[g.IntN(len(sizes))] }

// acme is pretraining in large gangs, tuning in middle ones, and bursts of
// evaluations.
func (g *generator) acme(load float64, gpus, days int) []trace.Job {
	span := float64(days) * day
	var jobs []trace.Job
	done, target := 0.0, load*float64(gpus)*span
	add := func(at float64, length int64, size int, project string) {
		jobs = append(jobs, trace.Job{Submit: int64(at), Duration: length, GPUs: size, Project: project})
		done += float64(length) * float64(size)
	}
	for done < 0.8*target {
		add(g.Float64()*span, g.length(4*hour, 14*hour, 6*day), g.size(64, 128, 128, 256, 256, 512), fmt.Sprintf("pretrain%d", g.IntN(3)))
	}
	for done < 0.9*target {
		add(g.Float64()*span, g.length(hour/2, 3*hour, 2*day), g.size(8, 16, 32, 32), "tune")
	}
	for done < target {
		at, size, burst := g.Float64()*span, g.size(1, 1, 1, 1, 2, 4, 8), g.size(1, 1, 1, 20, 60)
		for k := range burst {
			if burst == 1 {
				add(at, g.length(122, 1400, day), size, "evaluate")
			} else {
				add(at+float64(k), g.length(300, 900, day), size, "evaluate")
			}
		}
	}
	return jobs
}

// stream draws submissions until the end of so many days, at random instants.
func (g *generator) stream(days int, every float64, draw func() trace.Job) []trace.Job {
	var jobs []trace.Job
	for at := g.ExpFloat64() * every; at < float64(days)*day; at += g.ExpFloat64() * every {
		j := draw()
		j.Submit = int64(at)
		jobs = append(jobs, j)
	}
	return jobs
}

// gangs is single GPUs of four projects, and gangs of a quarter of the cluster.
func (g *generator) gangs(single, wide float64, gpus, days int) []trace.Job {
	jobs := g.stream(days, day/(single*float64(gpus)), func() trace.Job {
		return trace.Job{Duration: int64(max(60, g.ExpFloat64()*day)), GPUs: 1, Project: fmt.Sprintf("single%d", g.IntN(4))}
	})
	return append(jobs, g.stream(days, 8*hour*float64(gpus/4)/(wide*float64(gpus)), func() trace.Job {
		return trace.Job{Duration: int64(max(60, g.ExpFloat64()*8*hour)), GPUs: gpus / 4, Project: "gang"}
	})...)
}

// long is work that all takes about as long as any other.
func (g *generator) long(load float64, gpus, days int) []trace.Job {
	const length = 14 * hour
	sizes := []int{1, 2, 4, 8, 8, 16, 32}
	sum := 0
	for _, s := range sizes {
		sum += s
	}
	return g.stream(days, length*float64(sum)/float64(len(sizes))/(load*float64(gpus)), func() trace.Job {
		return trace.Job{Duration: int64(length * (0.8 + 0.4*g.Float64())), GPUs: g.size(sizes...), Project: fmt.Sprintf("team%d", g.IntN(8))}
	})
}

// mixed is the generic mix: many short and small jobs, much of the GPU time in
// few long and wide ones, projects that differ in how long theirs take.
func mixed(load float64) func(*generator) ([]trace.Job, error) {
	return func(g *generator) ([]trace.Job, error) {
		const gpus, days = 256, 14
		kinds := []struct {
			part         float64 // of the load
			median, mean float64
			sizes        []int
			project      string
		}{
			{0.10, 10 * 60, 1 * hour, []int{1, 1, 1, 2, 4}, "vision"},
			{0.25, 1 * hour, 5 * hour, []int{1, 2, 4, 8}, "speech"},
			{0.35, 4 * hour, 16 * hour, []int{8, 16, 32}, "language"},
			{0.30, 12 * hour, 40 * hour, []int{8, 32, 64}, "models"},
		}
		var jobs []trace.Job
		for _, k := range kinds {
			sum := 0
			for _, s := range k.sizes {
				sum += s
			}
			jobs = append(jobs, g.stream(days, k.mean*float64(sum)/float64(len(k.sizes))/(load*k.part*gpus), func() trace.Job {
				return trace.Job{Duration: g.length(k.median, k.mean, 14*day), GPUs: g.size(k.sizes...), Project: k.project}
			})...)
		}
		return jobs, nil
	}
}
