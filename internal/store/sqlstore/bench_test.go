package sqlstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// benchRows is the size of the store that listings are measured on;
// SQLSTORE_BENCH_ROWS=1000000 is the size that the design speaks of.
func benchRows(b *testing.B) int {
	text := os.Getenv("SQLSTORE_BENCH_ROWS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		b.Fatalf("SQLSTORE_BENCH_ROWS is %q; want a number from 1000", text)
	}
	return n
}

// usual is a workload as users write them.
func usual(seq int64) *core.Workload {
	return job(seq, func(w *core.Workload) {
		w.Project = core.ProjectID(fmt.Sprintf("team-%d", seq%20))
		w.User = fmt.Sprintf("user-%d", seq%100)
		w.Spec = &spec.Document{
			Kind: lifecycle.Training, Name: w.Name, Project: string(w.Project), Image: "ghcr.io/acme/train:1.4",
			Command: spec.Command{Argv: []string{"sh", "-c", "python3 train.py --lr 0.1"}, Shell: true},
			Labels:  map[string]string{"run": fmt.Sprint(seq % 1000)}, Workdir: "/home/ada/project",
			Env:       map[string]string{"EPOCHS": "3", "DATA": "/data/mnist"},
			Resources: spec.Resources{CPU: 4000, Memory: 16 << 30 * 1000, GPU: spec.GPU{Count: 1}},
		}
		w.Attempts = []core.Attempt{{QueuedAt: w.CreatedAt}}
		w.PhaseAt = w.CreatedAt
	})
}

func step(seq int64, w *core.Workload) core.Transition {
	return core.Transition{
		Seq: seq, Workload: w.ID, From: lifecycle.Submitted, Event: lifecycle.QueueOpen, To: lifecycle.Queued,
		Actor: "scheduler", At: w.CreatedAt,
	}
}

func placed(w *core.Workload) *core.Task {
	return &core.Task{
		ID: core.TaskID{Workload: w.ID}, Role: "task", Node: "node-17", State: core.TaskRunning, PlacedAt: w.CreatedAt,
		Devices: []core.Share{{Device: "GPU-5a2b1c8e-0000", Index: 3, Milli: 1000}}, StartedAt: w.CreatedAt,
	}
}

func benchCommit(b *testing.B, size int) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "muster.db"))
	term := mustAcquire(b, s)
	var seq int64
	b.ReportAllocs()
	for b.Loop() {
		x := new(store.Batch)
		for range size {
			seq++
			w := usual(seq)
			x.Workloads = append(x.Workloads, w)
			x.Transitions = append(x.Transitions, step(2*seq-1, w), step(2*seq, w))
		}
		mustCommit(b, s, term, x)
	}
	b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "workloads/s")
}

func BenchmarkCommit1(b *testing.B)   { benchCommit(b, 1) }
func BenchmarkCommit100(b *testing.B) { benchCommit(b, 100) }

// BenchmarkUpdate100 is the hot path: a hundred workloads step, each with a
// task and a transition, among those of a busy store.
func BenchmarkUpdate100(b *testing.B) {
	const rows, size = 20_000, 100
	s := mustOpen(b, filepath.Join(b.TempDir(), "muster.db"))
	term := mustAcquire(b, s)
	ws := make([]*core.Workload, rows)
	for i := range ws {
		ws[i] = usual(int64(i + 1))
	}
	for part := range slices.Chunk(ws, 1000) {
		mustCommit(b, s, term, &store.Batch{Workloads: part})
	}
	phases := []lifecycle.Phase{lifecycle.Reserved, lifecycle.Starting, lifecycle.Running, lifecycle.Terminating}
	var seq int64
	at := 0
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		x := new(store.Batch)
		for range size {
			w := *ws[at]
			w.Version++
			w.Phase = phases[w.Version%4]
			ws[at] = &w
			at = (at + 7919) % rows
			seq++
			x.Workloads = append(x.Workloads, &w)
			x.Tasks = append(x.Tasks, placed(&w))
			x.Transitions = append(x.Transitions, step(seq, &w))
		}
		began := time.Now()
		mustCommit(b, s, term, x)
		took = append(took, time.Since(began))
	}
	percentiles(b, took)
	b.ReportMetric(size*float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

// BenchmarkLife is what really happens to workloads, one hundred at a time among
// many that run: placed, running, ending, ended with their devices given back.
func BenchmarkLife(b *testing.B) {
	const rows, size = 20_000, 100
	s := mustOpen(b, filepath.Join(b.TempDir(), "muster.db"))
	term := mustAcquire(b, s)
	var seq, steps int64
	var took []time.Duration
	commit := func(ws []*core.Workload, p lifecycle.Phase, state core.TaskState) {
		x := new(store.Batch)
		for i := range ws {
			w := *ws[i]
			w.Phase, w.Version = p, w.Version+1
			ws[i] = &w
			k := placed(&w)
			k.State = state
			switch state {
			case core.TaskStarting:
				k.StartedAt = time.Time{}
			case core.TaskSucceeded:
				k.EndedAt = w.CreatedAt.Add(time.Hour)
				k.ReleasedAt = k.EndedAt
			}
			steps++
			x.Workloads, x.Tasks = append(x.Workloads, &w), append(x.Tasks, k)
			x.Transitions = append(x.Transitions, step(steps, &w))
		}
		began := time.Now()
		mustCommit(b, s, term, x)
		took = append(took, time.Since(began))
	}
	submit := func(n int) []*core.Workload {
		x := new(store.Batch)
		for range n {
			seq++
			x.Workloads = append(x.Workloads, usual(seq))
		}
		mustCommit(b, s, term, x)
		return x.Workloads
	}
	for range rows / size {
		commit(submit(size), lifecycle.Running, core.TaskStarting)
	}
	took = nil
	b.ReportAllocs()
	for b.Loop() {
		ws := submit(size)
		commit(ws, lifecycle.Starting, core.TaskStarting)
		commit(ws, lifecycle.Running, core.TaskRunning)
		commit(ws, lifecycle.Terminating, core.TaskStopping)
		commit(ws, lifecycle.Completed, core.TaskSucceeded)
	}
	percentiles(b, took)
	b.ReportMetric(4*size*float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// large is the store that all listings are measured on, made once.
var large struct {
	sync.Once
	s    *Store
	rows int
	took time.Duration
}

func largeStore(b *testing.B) *Store {
	large.Do(func() {
		large.rows = benchRows(b)
		dir, err := os.MkdirTemp("", "sqlstore-bench") // outlives this benchmark
		if err != nil {
			b.Fatal(err)
		}
		s, err := Open(context.Background(), filepath.Join(dir, "muster.db"))
		if err != nil {
			b.Fatal(err)
		}
		// It stays open for the others; its files go with the process.
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		term := mustAcquire(b, s)
		x := new(store.Batch)
		for i := range large.rows {
			w := usual(int64(i + 1))
			if i < large.rows*9/10 {
				w.Phase = lifecycle.Completed
			}
			if i == 500 {
				w.Phase = lifecycle.Failed
			}
			if x.Workloads = append(x.Workloads, w); len(x.Workloads) == 2000 || i == large.rows-1 {
				mustCommit(b, s, term, x)
				x = new(store.Batch)
			}
		}
		large.s, large.took = s, time.Since(began)
	})
	if large.s == nil {
		b.Fatal("the store could not be made; the benchmark that tried says why")
	}
	return large.s
}

// BenchmarkList reports the median and the 99th percentile beside the mean.
func BenchmarkList(b *testing.B) {
	s := largeStore(b)
	middle := int64(large.rows / 2)
	for _, c := range []struct {
		name string
		q    store.Query
	}{
		{"FirstPage", store.Query{}},
		{"MiddlePage", store.Query{Cursor: middle}},
		{"Project", store.Query{Project: "team-7"}},
		{"User", store.Query{User: "user-7"}},
		{"ProjectUser", store.Query{Project: "team-7", User: "user-7"}},
		{"Phase", store.Query{Phases: []lifecycle.Phase{lifecycle.Completed}}},
		{"RarePhase", store.Query{Phases: []lifecycle.Phase{lifecycle.Failed}, Project: "team-1"}},
		{"Phases", store.Query{Phases: []lifecycle.Phase{lifecycle.Completed, lifecycle.Failed, lifecycle.Queued}}},
		{"Live", store.Query{Live: true, Project: "team-7"}},
		{"Label", store.Query{Labels: map[string]string{"run": "123"}}},
		{"Prefix", store.Query{Prefix: "job-000000.0012"}},
		{"Since", store.Query{Since: job(int64(large.rows) - 50).CreatedAt}},
		{"Nothing", store.Query{Project: "team-7", User: "user-8"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				if _, err := s.List(context.Background(), c.q); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			percentiles(b, took)
		})
	}
}

func BenchmarkChangedSince(b *testing.B) {
	s := largeStore(b)
	c, err := s.Counters(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		page, err := s.ChangedSince(context.Background(), c.Revision-1, 100)
		if err != nil || len(page) == 0 {
			b.Fatal(len(page), err)
		}
	}
}

func BenchmarkWorkload(b *testing.B) {
	s := largeStore(b)
	id := job(int64(large.rows / 2)).ID
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Workload(context.Background(), id); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLive is what a restart waits for: 100,000 live workloads with a
// task each.
func BenchmarkLive(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "muster.db"))
	term := mustAcquire(b, s)
	const rows = 100_000
	x := new(store.Batch)
	for i := range rows {
		w := usual(int64(i + 1))
		w.Phase = lifecycle.Running
		x.Workloads, x.Tasks = append(x.Workloads, w), append(x.Tasks, placed(w))
		if len(x.Workloads) == 2000 {
			mustCommit(b, s, term, x)
			x = new(store.Batch)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		live, err := s.Live(context.Background())
		if err != nil || len(live) != rows {
			b.Fatal(len(live), err)
		}
		runtime.KeepAlive(live)
	}
}

// BenchmarkUses reads the charged time of 100,000 tasks that have ended and of
// 1,000 that run, whole and of the last hundredth.
func BenchmarkUses(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "muster.db"))
	term := mustAcquire(b, s)
	const ended, running = 100_000, 1000
	var last time.Time
	x := new(store.Batch)
	for i := range int64(ended + running) {
		w := usual(i + 1)
		k := placed(w)
		k.PlacedAt = time.Unix(1_700_000_000+i, 0)
		if i < ended {
			k.ReleasedAt = k.PlacedAt.Add(time.Hour)
		}
		last = k.PlacedAt
		x.Workloads, x.Tasks = append(x.Workloads, w), append(x.Tasks, k)
		if len(x.Workloads) == 1000 {
			mustCommit(b, s, term, x)
			x = new(store.Batch)
		}
	}
	for _, c := range []struct {
		name string
		q    store.UseQuery
		want int
	}{
		{"All", store.UseQuery{Now: last}, ended + running - 1}, // the last is placed just now
		{"Recent", store.UseQuery{Now: last, From: last.Add(-time.Second * (running - 1))}, 3600 + running},
		{"RecentOfProject", store.UseQuery{Now: last, From: last.Add(-time.Second * (running - 1)), Project: "team-7"}, 230},
		{"Workload", store.UseQuery{Now: last, Workload: job(777).ID}, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				if err := s.Uses(context.Background(), c.q, func(core.Use) bool { n++; return true }); err != nil {
					b.Fatal(err)
				}
				if n < c.want*9/10 || n > c.want*11/10 {
					b.Fatalf("%d uses, want about %d", n, c.want)
				}
			}
		})
	}
}
