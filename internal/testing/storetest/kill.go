package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// killDir tells a test process that it is the one to be killed, and where.
const killDir = "STORETEST_KILL_DIR"

const (
	killRounds = 25
	killWidth  = 5 // workloads per batch
)

// Kill starts the calling test again as a process that commits batches and
// says so, kills it with SIGKILL at random moments, and looks whether every
// batch that was acknowledged is there, and none in part. It says nothing of
// loss of power, which no test of a process can cause.
func Kill(t *testing.T, open Open) {
	if dir := os.Getenv(killDir); dir != "" {
		commitUntilKilled(t, open(t, dir))
		return
	}
	dir := t.TempDir()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	var last int64
	for range killRounds {
		acknowledged := killOnce(t, dir, last+r.Int64N(12), time.Duration(r.Int64N(int64(8*time.Millisecond))))
		s := open(t, dir)
		last = checkBatches(t, s, max(0, last-3), max(last, acknowledged))
		if err := s.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		if t.Failed() {
			return
		}
	}
	s := open(t, dir)
	checkBatches(t, s, 0, last)
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	t.Logf("%d batches in %d rounds", last, killRounds)
	if last < killRounds {
		t.Errorf("%d batches in %d rounds are too few to have tested anything", last, killRounds)
	}
}

// killOnce lets a process commit until it has acknowledged more than until and
// then some time has passed. It returns the last batch acknowledged.
func killOnce(t *testing.T, dir string, until int64, then time.Duration) int64 {
	t.Helper()
	// The bound is for a process that hangs; a slow machine stays within it.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last int64
	var problems []string
	var killer *time.Timer
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var n int64
		if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d.", &n); err != nil {
			problems = append(problems, lines.Text())
			continue
		}
		last = n
		if n > until && killer == nil {
			killer = time.AfterFunc(then, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait() // it was killed
	if killer == nil {
		t.Fatalf("the writing process ended by itself: %s", strings.Join(problems, "\n"))
	}
	return last
}

func commitUntilKilled(t *testing.T, s store.Store) {
	ctx := context.Background()
	term, err := s.Acquire(ctx, "to be killed")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Counters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for n := c.Workload/killWidth + 1; ; n++ {
		if _, err := s.Commit(ctx, term, killBatch(n)); err != nil {
			t.Fatal(err)
		}
		// Straight to the pipe, whole line at once, with an end that a cut
		// line would lack.
		fmt.Fprintf(os.Stdout, "acknowledged %d.\n", n)
	}
}

// killBatch is the nth batch: its own workloads, the second version of those
// of the batch before, and everything else that a batch can hold.
func killBatch(n int64) *store.Batch {
	b := new(store.Batch)
	for i := range int64(killWidth) {
		w := workload((n-1)*killWidth + i + 1)
		if n%4 == 0 {
			w.Message = strings.Repeat("long ", 1<<int(10+n%7)) // over many pages
		}
		b.Workloads = append(b.Workloads, w)
		b.Tasks = append(b.Tasks, task(w.ID, 0, int(i)))
		for range 2 {
			b.Transitions = append(b.Transitions, core.Transition{
				Seq: (n-1)*2*killWidth + int64(len(b.Transitions)) + 1, Workload: w.ID, To: lifecycle.Queued, At: epoch,
			})
		}
		if n > 1 {
			b.Workloads = append(b.Workloads, killSecond((n-2)*killWidth+i+1))
			b.Edited = append(b.Edited, b.Workloads[len(b.Workloads)-1].ID)
		}
	}
	b.Keys = []store.Key{{User: "ada", Key: fmt.Sprint(n), Hash: "h", Workload: b.Workloads[0].ID, At: epoch}}
	// One secret, new with each batch.
	b.Secrets = []core.Secret{secret("ada", fmt.Sprint(n))}
	b.DropSecrets = []core.SecretID{{User: "ada", Name: fmt.Sprint(n - 1)}}
	b.Projects = []core.Project{{ID: "p", Note: fmt.Sprint(n), CreatedAt: epoch}}
	return b
}

// killSecond is the second version of a workload, with another document.
func killSecond(seq int64) *core.Workload {
	return next(workload(seq), in(lifecycle.Running), func(w *core.Workload) {
		w.Generation = 1
		w.Spec = &spec.Document{Name: w.Name, Image: fmt.Sprint(seq), Labels: map[string]string{"seq": fmt.Sprint(seq)}}
	})
}

// checkBatches fails unless the batches after from are there completely, up to
// the last acknowledged one or the one after it. It returns the last.
func checkBatches(t *testing.T, s store.Store, from, acknowledged int64) int64 {
	t.Helper()
	ctx := t.Context()
	c, err := s.Counters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	last := c.Workload / killWidth
	if last < acknowledged || last > acknowledged+1 {
		t.Errorf("batch %d was acknowledged, but the last stored is %d", acknowledged, last)
	}
	want := store.Counters{Workload: last * killWidth, Transition: last * 2 * killWidth, Revision: core.Revision(last)}
	if c != want {
		t.Errorf("Counters: %+v, want %+v", c, want)
	}
	for n := from + 1; n <= last; n++ {
		checkBatch(t, s, n, n == last)
	}
	projects, err1 := s.Projects(ctx)
	_, _, err2 := s.Remembered(ctx, "ada", fmt.Sprint(last+1))
	if last > 0 && (err1 != nil || len(projects) != 1 || projects[0].Note != fmt.Sprint(last)) {
		t.Errorf("Projects: %v, %v; want the note %d", projects, err1, last)
	}
	if secrets, err := s.Secrets(ctx); err != nil || last > 0 && (len(secrets) != 1 || secrets[0].Name != fmt.Sprint(last)) {
		t.Errorf("Secrets: %v, %v; want only that of batch %d", secrets, err, last)
	}
	uses := 0
	if err := s.Uses(ctx, store.UseQuery{Now: epoch.Add(time.Hour)}, func(core.Use) bool { uses++; return true }); err != nil || uses != int(c.Workload) {
		t.Errorf("Uses: %d for %d workloads, %v", uses, c.Workload, err)
	}
	if !errors.Is(err2, store.ErrNotFound) {
		t.Errorf("the key of batch %d, which is not stored: %v", last+1, err2)
	}
	return last
}

func checkBatch(t *testing.T, s store.Store, n int64, newest bool) {
	t.Helper()
	for i := range int64(killWidth) {
		want := killBatch(n).Workloads[0]
		for _, w := range killBatch(n).Workloads {
			if w.Seq == (n-1)*killWidth+i+1 {
				want = w
			}
		}
		rev := core.Revision(n)
		if !newest {
			want, rev = killSecond(want.Seq), rev+1
		}
		got, err := s.Workload(t.Context(), want.ID)
		if err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
		sameWorkload(t, got, want, rev)
		tasks, err1 := s.Tasks(t.Context(), want.ID, -1)
		steps, err2 := s.Transitions(t.Context(), want.ID, 0, 0)
		if err := errors.Join(err1, err2); err != nil || len(tasks) != 1 || len(steps) != 2 {
			t.Errorf("batch %d: workload %s has %d tasks and %d transitions, %v; want 1 and 2", n, want.ID, len(tasks), len(steps), err)
		}
	}
	if _, _, err := s.Remembered(t.Context(), "ada", fmt.Sprint(n)); err != nil {
		t.Errorf("batch %d: its key: %v", n, err)
	}
}
