//go:build linux

package local

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/osuser"
)

// BenchmarkStartToRunning measures from the call of Start until the watch says
// that the command runs, on an idle backend.
func BenchmarkStartToRunning(b *testing.B) {
	p := open(b, Options{})
	start := startOf(b, p, nil)
	start(0) // starts the supervisor
	var took []time.Duration
	for i := 1; b.Loop(); i++ {
		took = append(took, start(i))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(rss(b, p), "supervisor-MiB")
}

// BenchmarkStartAsSubmitter is the same of tasks that run as who submitted them, of an
// account with limits of resources, and as the server does, in turns: what else the
// machine does meets all alike.
func BenchmarkStartAsSubmitter(b *testing.B) {
	plain, _ := asPeople(b, Options{})
	limited, all := asPeople(b, Options{})
	ann := all[annUID]
	ann.Limits = []osuser.Limit{{Name: "core", Soft: new(uint64)}}
	all[annUID] = ann
	as := &core.OSUser{UID: annUID}
	ways := []struct {
		name  string
		start func(int) time.Duration
		took  []time.Duration
	}{{name: "server", start: startOf(b, open(b, Options{}), nil)}, {name: "submitter", start: startOf(b, plain, as)}, {name: "limits", start: startOf(b, limited, as)}}
	for i := 0; b.Loop(); i++ {
		for w := range ways {
			d := ways[w].start(i)
			if i > 0 { // the first starts the supervisor
				ways[w].took = append(ways[w].took, d)
			}
		}
	}
	for _, w := range ways {
		slices.Sort(w.took)
		b.ReportMetric(float64(w.took[len(w.took)/10].Microseconds()), w.name+"-p10-µs")
		b.ReportMetric(float64(w.took[len(w.took)/2].Microseconds()), w.name+"-p50-µs")
	}
}

// startOf starts a task, ends and forgets it, and returns how long it took until it
// was seen to run.
func startOf(b *testing.B, p *Backend, as *core.OSUser) func(i int) time.Duration {
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	seen := make(chan backend.Observation, 1024)
	go func() {
		_ = p.Watch(ctx, func(all []backend.Observation) {
			for _, o := range all {
				seen <- o
			}
		})
	}()
	await := func(id core.TaskID, want func(core.TaskState) bool) {
		for o := range seen {
			if o.ID == id && want(o.State) {
				return
			}
		}
	}
	return func(i int) time.Duration {
		a := backend.Assignment{ID: core.TaskID{Workload: "bench", Index: i}, Argv: []string{"/bin/sleep", "1000"}, As: as}
		begun := time.Now()
		if err := p.Start(ctx, []backend.Assignment{a}); err != nil {
			b.Fatal(err)
		}
		await(a.ID, func(s core.TaskState) bool { return s == core.TaskRunning })
		took := time.Since(begun)
		_ = p.Stop(ctx, []core.TaskID{a.ID}, 0)
		await(a.ID, core.TaskState.Ended)
		_ = p.Forget(ctx, []core.TaskID{a.ID})
		return took
	}
}

// BenchmarkTrue runs `true` to its observed end and forgets it, 8 at a time.
func BenchmarkTrue(b *testing.B) {
	for name, o := range map[string]Options{
		"groups":   {},
		"nogroups": {Exe: []string{"/proc/self/exe", SupervisorArg, noGroups}},
	} {
		b.Run(name, func(b *testing.B) { benchmarkTrue(b, open(b, o)) })
	}
}

func benchmarkTrue(b *testing.B, p *Backend) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var mu sync.Mutex
	over := map[core.TaskID]chan struct{}{}
	go func() {
		_ = p.Watch(ctx, func(all []backend.Observation) {
			mu.Lock()
			defer mu.Unlock()
			for _, o := range all {
				if ch := over[o.ID]; ch != nil && o.State.Ended() {
					close(ch)
					delete(over, o.ID)
				}
			}
		})
	}()
	run := func(i int) {
		a := backend.Assignment{ID: core.TaskID{Workload: core.WorkloadID("bench" + strconv.Itoa(i))}, Argv: []string{"/bin/true"}}
		ch := make(chan struct{})
		mu.Lock()
		over[a.ID] = ch
		mu.Unlock()
		if err := p.Start(ctx, []backend.Assignment{a}); err != nil {
			b.Error(err)
			return
		}
		<-ch
		if err := p.Forget(ctx, []core.TaskID{a.ID}); err != nil {
			b.Error(err)
		}
	}
	run(-1)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := 0; b.Loop(); i++ {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			run(i)
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.ReportMetric(rss(b, p), "supervisor-MiB")
}

// rss is the resident memory of the supervisor in MiB.
func rss(t testing.TB, p *Backend) float64 {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(supervisorPID(t, p)) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// BenchmarkBox measures from the call of Start until the watch says that a
// container with an image that is there runs, one at a time.
func BenchmarkBox(b *testing.B) {
	needBoxes(b)
	p := open(b, Options{Images: newShelf(b)})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	seen := make(chan backend.Observation, 1024)
	go func() {
		_ = p.Watch(ctx, func(all []backend.Observation) {
			for _, o := range all {
				seen <- o
			}
		})
	}()
	var took, whole []time.Duration
	for i := 0; b.Loop(); i++ {
		a := backend.Assignment{ID: core.TaskID{Workload: "box", Index: i}, Image: "busybox", Argv: []string{"true"}}
		begun := time.Now()
		if err := p.Start(ctx, []backend.Assignment{a}); err != nil {
			b.Fatal(err)
		}
		for ran := false; ; {
			o := <-seen
			if o.ID == a.ID && !ran && o.State != core.TaskStarting {
				took, ran = append(took, time.Since(begun)), true
			}
			if o.ID == a.ID && o.State.Ended() {
				whole = append(whole, time.Since(begun))
				break
			}
		}
		_ = p.Forget(ctx, []core.TaskID{a.ID})
	}
	slices.Sort(took)
	slices.Sort(whole)
	for name, all := range map[string][]time.Duration{"running": took, "ended": whole} {
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), name+"-p99-µs")
	}
	b.ReportMetric(rss(b, p), "supervisor-MiB")
}
