package fakebackend_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

func TestContract(t *testing.T) {
	nodes := []core.Node{fakebackend.Node("node-1", 8000, 32<<30, 2, "fake-h100")}
	backendtest.Run(t, func(*testing.T) backend.Backend { return fakebackend.New("fake", time.Now, nodes) }, backendtest.Options{
		Assign: func(_ *testing.T, id core.TaskID, s backendtest.Script) backend.Assignment {
			argv := []string{"fake", fmt.Sprintf("run=%s", s.Run), fmt.Sprintf("exit=%d", s.Exit)}
			if s.Run == backendtest.Forever {
				argv[1] = "run=forever"
			}
			if s.Signal != 0 {
				argv = append(argv, fmt.Sprintf("signal=%d", s.Signal))
			}
			if s.Deaf {
				argv = append(argv, "ignore-term")
			}
			for _, line := range s.Output {
				argv = append(argv, "log="+line)
			}
			return backend.Assignment{ID: id, Node: "node-1", Argv: argv}
		},
		Reopen: func(_ *testing.T, p backend.Backend) backend.Backend { return p }, // it outlives the server
	})
}

// world is a backend in virtual time.
type world struct {
	*fakebackend.Backend
	t   *testing.T
	now time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	w.Backend = fakebackend.New("fake", func() time.Time { return w.now }, []core.Node{fakebackend.Node("a", 1000, 1<<30, 1, "x"), fakebackend.Node("b", 1000, 1<<30, 0, "")})
	return w
}

func id(index, attempt int) core.TaskID {
	return core.TaskID{Workload: "w", Index: index, Attempt: attempt}
}

func (w *world) start(id core.TaskID, node core.NodeID, argv ...string) {
	w.t.Helper()
	if err := w.Start(context.Background(), []backend.Assignment{{ID: id, Node: node, Argv: append([]string{"fake"}, argv...)}}); err != nil {
		w.t.Fatalf("Start: %v", err)
	}
}

// sees fails unless the task is described by that line.
func (w *world) sees(id core.TaskID, want string) {
	w.t.Helper()
	got := "nothing"
	all, err := w.Observe(context.Background())
	if err != nil {
		w.t.Fatalf("Observe: %v", err)
	}
	for _, o := range all {
		if o.ID != id {
			continue
		}
		got = fmt.Sprintf("%s%s", o.State, o.Waiting)
		if o.ExitCode != nil {
			got += fmt.Sprintf(" %d", *o.ExitCode)
		}
		if o.Reason != "" {
			got += " " + o.Reason
		}
	}
	if got != want {
		w.t.Errorf("at +%s task %s is %q, want %q", w.now.Sub(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)), id, got, want)
	}
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func TestStatesFollowTheClock(t *testing.T) {
	w := newWorld(t)
	w.start(id(0, 0), "a", "start=2s", "run=10s", "waiting=ErrImagePull", "exit=3")
	w.sees(id(0, 0), "startingErrImagePull")
	if want := w.now.Add(2 * time.Second); !w.Next().Equal(want) {
		t.Errorf("Next is %v, want %v", w.Next(), want)
	}
	w.pass(2 * time.Second)
	w.sees(id(0, 0), "running")
	if want := w.now.Add(10 * time.Second); !w.Next().Equal(want) {
		t.Errorf("Next is %v, want %v", w.Next(), want)
	}
	w.pass(10 * time.Second)
	w.sees(id(0, 0), "failed 3 Error")
	if !w.Next().IsZero() {
		t.Errorf("Next is %v after everything has ended", w.Next())
	}
	w.pass(time.Hour) // a jump past several changes gives the same end
	w.start(id(1, 0), "a", "start=2s", "run=10s", "log=x")
	w.pass(time.Hour)
	w.sees(id(1, 0), "succeeded 0")
}

func TestStop(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.start(id(0, 0), "a", "start=1m", "run=1m", "ignore-term")
	w.start(id(1, 0), "a", "run=forever", "stop=3s")
	w.start(id(2, 0), "a", "run=forever", "ignore-term")
	w.start(id(3, 0), "a", "run=forever", "stop=1m")
	w.pass(time.Second)
	if err := w.Stop(ctx, []core.TaskID{id(0, 0), id(1, 0), id(2, 0), id(3, 0)}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	w.sees(id(0, 0), "failed 143 Error") // it had no process yet
	w.sees(id(1, 0), "running")
	w.pass(3 * time.Second)
	w.sees(id(1, 0), "failed 143 Error")
	w.sees(id(2, 0), "running")
	w.pass(7 * time.Second)
	w.sees(id(2, 0), "failed 137 Error")
	w.sees(id(3, 0), "failed 137 Error")
}

func TestScriptsSpeakToTasksAndRuns(t *testing.T) {
	w := newWorld(t)
	for attempt, want := range []string{"failed 1 Error", "failed 2 Error", "succeeded 0", "succeeded 0"} {
		w.start(id(0, attempt), "a", "exit=1,2,0", "exit@1=7")
		w.sees(id(0, attempt), want)
		w.start(id(1, attempt), "a", "exit=1,2,0", "exit@1=7")
		w.sees(id(1, attempt), "failed 7 Error")
	}
	w.start(id(5, 0), "a", "exit=1,0") // and to restarts in place
	w.sees(id(5, 0), "failed 1 Error")
	if err := w.Forget(context.Background(), []core.TaskID{id(5, 0)}); err != nil {
		t.Fatal(err)
	}
	w.start(id(5, 0), "a", "exit=1,0")
	w.sees(id(5, 0), "succeeded 0")
}

func TestFaults(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.start(id(0, 0), "a", "run=forever")
	w.start(id(1, 0), "b", "run=forever")
	if err := w.Kill("a"); err != nil {
		t.Fatal(err)
	}
	w.sees(id(0, 0), "lost NodeLost")
	w.sees(id(1, 0), "running")
	nodes, err := w.Inventory(ctx)
	if err != nil || nodes[0].Ready || !nodes[1].Ready {
		t.Errorf("Inventory: %+v, %v; want a not ready, b ready", nodes, err)
	}
	w.start(id(2, 0), "a", "run=forever")
	w.sees(id(2, 0), "lost NodeLost")
	if err := w.Revive("a"); err != nil {
		t.Fatal(err)
	}
	w.start(id(3, 0), "a", "run=forever")
	w.sees(id(3, 0), "running")
	w.sees(id(0, 0), "lost NodeLost")
	w.Lose(id(3, 0))
	w.sees(id(3, 0), "nothing")
	if err := w.Kill("c"); err == nil {
		t.Error("Kill of an unknown node succeeded")
	}

	w.FailStarts(1)
	both := []backend.Assignment{{ID: id(4, 0), Node: "b", Argv: []string{"fake", "run=forever"}}, {ID: id(5, 0), Node: "b", Argv: []string{"fake", "run=forever"}}}
	if err := w.Start(ctx, both); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("Start: %v, want ErrUnreachable", err)
	}
	w.sees(id(4, 0), "running")
	w.sees(id(5, 0), "nothing")
	if err := w.Start(ctx, both); err != nil {
		t.Errorf("Start again: %v", err)
	}
	w.sees(id(5, 0), "running")
}

func TestWhatCannotRunIsTold(t *testing.T) {
	w := newWorld(t)
	w.start(id(0, 0), "a", "rnu=3s")
	w.sees(id(0, 0), "failed ContainerCannotRun")
	w.start(id(1, 0), "nowhere")
	w.sees(id(1, 0), "failed ContainerCannotRun")
	w.start(id(2, 0), "a", "run=-1s")
	w.sees(id(2, 0), "failed ContainerCannotRun")
	w.start(id(3, 0), "a", "start=2s", "fail=FailedImagePull", "waiting=ImagePullBackOff")
	w.sees(id(3, 0), "startingImagePullBackOff")
	w.pass(2 * time.Second)
	w.sees(id(3, 0), "failed FailedImagePull")
	if err := w.Start(context.Background(), []backend.Assignment{{ID: id(4, 0), Node: "a", Argv: []string{"python3"}}}); err != nil {
		t.Fatal(err)
	}
	w.sees(id(4, 0), "failed ContainerCannotRun")
}

func TestScriptedPullsAndInit(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	start := func(index, retries int, words ...string) {
		t.Helper()
		a := backend.Assignment{ID: id(index, 0), Node: "a", Image: "img", PullRetries: retries, Argv: append([]string{"fake"}, words...)}
		if err := w.Start(ctx, []backend.Assignment{a}); err != nil {
			t.Fatal(err)
		}
	}
	start(0, 5, "pull-fails=2", "pull-wait=4s", "init=Init:0/2/2s", "init=PodInitializing/1s", "start=1s", "run=forever")
	begun := w.now
	for _, c := range []struct {
		at   time.Duration
		sees string
	}{
		{0, "startingErrImagePull"}, {time.Second, "startingImagePullBackOff"}, {4 * time.Second, "startingErrImagePull"},
		{6 * time.Second, "startingImagePullBackOff"}, {12 * time.Second, "startingInit:0/2"}, {14 * time.Second, "startingPodInitializing"},
		{15 * time.Second, "startingContainerCreating"}, {16 * time.Second, "running"},
	} {
		if next := w.Next(); c.at > 0 && !next.Equal(begun.Add(c.at)) {
			t.Errorf("the next change is at %s, want %s", next.Sub(begun), c.at)
		}
		w.pass(begun.Add(c.at).Sub(w.now))
		w.sees(id(0, 0), c.sees)
	}
	start(1, 1, "pull-fails=2", "pull-wait=4s")
	w.sees(id(1, 0), "startingErrImagePull")
	w.pass(4 * time.Second)
	w.sees(id(1, 0), "failed FailedImagePull")
	start(2, 0, "pull-fails=1,0", "run=forever") // the next attempt's works
	w.sees(id(2, 0), "failed FailedImagePull")
	start(3, 5, "pull-fails=9", "pull-wait=1h")
	w.pass(time.Minute)
	if err := w.Stop(ctx, []core.TaskID{id(3, 0)}, 0); err != nil {
		t.Fatal(err)
	}
	w.sees(id(3, 0), "failed 143 Error")
	start(4, 0, "init=Init:0/2")
	w.sees(id(4, 0), "failed ContainerCannotRun")
	start(5, 0, "init=Init:Error/1s", "init=Init:CrashLoopBackOff/1s", "never-ready")
	w.sees(id(5, 0), "startingInit:Error")
	w.pass(time.Second)
	w.sees(id(5, 0), "startingInit:CrashLoopBackOff")
}
