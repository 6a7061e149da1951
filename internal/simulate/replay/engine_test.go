package replay_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/simulate/replay"
	"github.com/musterhq/muster/internal/simulate/trace"
)

// invariants fails a test when a run breaks a rule that holds for any policy.
type invariants struct {
	t       *testing.T
	jobs    []trace.Job
	gpus    int
	held    int
	now     int64
	running map[int]int64
	left    map[int]int64
	done    int
}

func (w *invariants) tick(at int64) {
	if at < w.now {
		w.t.Errorf("at %d something happens after what happened at %d", at, w.now)
	}
	w.now = at
}

func (w *invariants) Submitted(j trace.Job) {
	w.tick(j.Submit)
	w.left[j.ID] = j.Duration
}

func (w *invariants) Started(id int, at int64) {
	w.tick(at)
	if _, ok := w.running[id]; ok {
		w.t.Errorf("job %d starts at %d but runs already", id, at)
	}
	w.running[id] = at
	if w.held += w.jobs[id].GPUs; w.held > w.gpus {
		w.t.Errorf("at %d %d of %d GPUs are held", at, w.held, w.gpus)
	}
}

func (w *invariants) Preempted(id int, at, lost int64) {
	w.stop(id, at)
	w.left[id] += lost
}

func (w *invariants) Finished(id int, at int64) {
	w.stop(id, at)
	w.done++
	if w.left[id] != 0 {
		w.t.Errorf("job %d ends at %d with %d s of work left", id, at, w.left[id])
	}
}

func (w *invariants) stop(id int, at int64) {
	w.tick(at)
	w.left[id] -= at - w.running[id]
	delete(w.running, id)
	w.held -= w.jobs[id].GPUs
}

func TestNoPolicyOvercommitsOrForgets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := replay.Cluster{Nodes: 1 + r.IntN(5), GPUsPerNode: 1 + r.IntN(8)}
		jobs := randomJobs(r, c)
		o := replay.Options{Seed: seed, Quota: map[string]int{"a": c.GPUs() / 2, "b": c.GPUs() / 3}}
		for _, name := range replay.Names() {
			p, err := replay.New(name, o)
			if err != nil {
				t.Fatal(err)
			}
			w := &invariants{t: t, jobs: jobs, gpus: c.GPUs(), running: map[int]int64{}, left: map[int]int64{}}
			if err := replay.Run(jobs, c, p, w); err != nil {
				t.Errorf("seed %d, %s: %v", seed, name, err)
			}
			if w.done != len(jobs) || len(w.running) > 0 {
				t.Errorf("seed %d, %s: %d of %d jobs ended", seed, name, w.done, len(jobs))
			}
			if t.Failed() {
				t.Fatalf("seed %d, %s, %+v", seed, name, c)
			}
		}
	}
}

// randomJobs come in bursts, so that instants are shared and queues build up.
func randomJobs(r *rand.Rand, c replay.Cluster) []trace.Job {
	jobs := make([]trace.Job, 60)
	at := int64(0)
	for i := range jobs {
		jobs[i] = trace.Job{
			ID: i, Submit: at, Duration: 1 + int64(r.IntN(5000)), GPUs: 1 + r.IntN(1+r.IntN(c.GPUs())),
			Project: string(rune('a' + r.IntN(3))),
		}
		if r.IntN(3) == 0 {
			at += int64(r.IntN(2000))
		}
	}
	return jobs
}

// journal writes down what happens.
type journal struct{ lines []string }

func (j *journal) Submitted(trace.Job)           {}
func (j *journal) Started(id int, at int64)      { j.add("%d starts %d", at, id) }
func (j *journal) Finished(id int, at int64)     { j.add("%d ends %d", at, id) }
func (j *journal) Preempted(id int, at, l int64) { j.add("%d preempts %d, which loses %d", at, id, l) }
func (j *journal) add(f string, a ...any)        { j.lines = append(j.lines, fmt.Sprintf(f, a...)) }

func TestStories(t *testing.T) {
	t.Parallel()
	two := replay.Cluster{Nodes: 2, GPUsPerNode: 2}
	for _, s := range []struct {
		about, policy, jobs, want string
		quota                     map[string]int
	}{
		{
			about: "fifo waits for the first, skip passes it", policy: "fifo",
			jobs: "0 100 2 a, 1 50 4 a, 2 10 1 a",
			want: "0 starts 0, 100 ends 0, 100 starts 1, 150 ends 1, 150 starts 2, 160 ends 2",
		},
		{
			about: "skip", policy: "skip",
			jobs: "0 100 2 a, 1 50 4 a, 2 10 1 a",
			want: "0 starts 0, 2 starts 2, 12 ends 2, 100 ends 0, 100 starts 1, 150 ends 1",
		},
		{
			about: "easy lets only those pass who are gone in time", policy: "easy-perfect",
			jobs: "0 100 2 a, 1 50 4 a, 2 99 1 a, 3 97 1 a",
			want: "0 starts 0, 3 starts 3, 100 ends 0, 100 ends 3, 100 starts 1, 150 ends 1, 150 starts 2, 249 ends 2",
		},
		{
			about: "conservative keeps its promise to the second in line too", policy: "conservative",
			jobs: "0 100 4 a, 1 50 4 a, 2 50 4 a, 3 51 1 a",
			want: "0 starts 0, 100 ends 0, 100 starts 1, 150 ends 1, 150 starts 2, 200 ends 2, 200 starts 3, 251 ends 3",
		},
		{
			about: "quota takes back what is lent, latest start first", policy: "quota-checkpoint", quota: map[string]int{"a": 2, "b": 2},
			jobs: "0 500 2 a, 1 500 1 a, 2 500 1 a, 100 10 2 b",
			want: "0 starts 0, 1 starts 1, 2 starts 2, 100 preempts 2, which loses 60, 100 preempts 1, which loses 60, 100 starts 3, 110 ends 3, " +
				"110 starts 1, 110 starts 2, 500 ends 0, 571 ends 1, 572 ends 2",
		},
		{
			about: "restart loses everything", policy: "quota-restart", quota: map[string]int{"b": 4},
			jobs: "0 500 1 a, 100 10 4 b",
			want: "0 starts 0, 100 preempts 0, which loses 100, 100 starts 1, 110 ends 1, 110 starts 0, 610 ends 0",
		},
		{
			about: "after an hour of one GPU a job makes way", policy: "las",
			jobs: "0 2000 4 a, 899 10 1 a, 900 10 1 a",
			want: "0 starts 0, 900 preempts 0, which loses 60, 900 starts 1, 900 starts 2, 910 ends 1, 910 ends 2, 910 starts 0, 2070 ends 0",
		},
	} {
		t.Run(s.about, func(t *testing.T) {
			t.Parallel()
			p, err := replay.New(s.policy, replay.Options{Quota: s.quota})
			if err != nil {
				t.Fatal(err)
			}
			var j journal
			if err := replay.Run(parseJobs(t, s.jobs), two, p, &j); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(j.lines, ", "); got != s.want {
				t.Errorf("\n got %s\nwant %s", got, s.want)
			}
		})
	}
}

// parseJobs reads "submit duration gpus project, …".
func parseJobs(t *testing.T, s string) []trace.Job {
	t.Helper()
	var jobs []trace.Job
	for i, part := range strings.Split(s, ",") {
		j := trace.Job{ID: i}
		if _, err := fmt.Sscan(part, &j.Submit, &j.Duration, &j.GPUs, &j.Project); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// never starts nothing.
type never struct{}

func (never) Begin(*replay.Engine)       {}
func (never) Arrive(*replay.Engine, int) {}
func (never) Pass(*replay.Engine)        {}

func TestBadRunsAreErrors(t *testing.T) {
	t.Parallel()
	fifo, err := replay.New("fifo", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := []trace.Job{{Duration: 1, GPUs: 9}}
	for _, c := range []struct {
		jobs    []trace.Job
		cluster replay.Cluster
		policy  replay.Policy
		says    string
	}{
		{one, replay.Cluster{}, fifo, "want at least 1"},
		{one, replay.Cluster{Nodes: 1, GPUsPerNode: 8}, fifo, "job 0 wants 9 GPUs"},
		{[]trace.Job{{ID: 1, Duration: 1, GPUs: 1}}, phillyCluster, fifo, "numbered"},
		{one, phillyCluster, never{}, "1 jobs wait"},
	} {
		err := replay.Run(c.jobs, c.cluster, c.policy, &replay.Recorder{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want one saying %q", err, c.says)
		}
	}
	if _, err := replay.New("magic", replay.Options{}); err == nil || !slices.ContainsFunc(replay.Names(), func(n string) bool { return strings.Contains(err.Error(), n) }) {
		t.Errorf("unknown policy: error %v, want one that lists what there is", err)
	}
}
