package backendtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

const longGrace = 10 * time.Minute

func (s suite) inventory(t *testing.T) {
	p := s.open(t)
	nodes, err := p.Inventory(t.Context())
	if err != nil {
		t.Fatalf("Inventory: %v", err)
	}
	if len(nodes) == 0 {
		t.Fatal("no node")
	}
	seen := map[core.NodeID]bool{}
	for _, n := range nodes {
		if n.ID == "" || seen[n.ID] {
			t.Errorf("node ID %q is empty or not unique", n.ID)
		}
		seen[n.ID] = true
		if n.Backend != p.Name() {
			t.Errorf("node %s is of backend %q, want %q", n.ID, n.Backend, p.Name())
		}
		if n.CPU <= 0 || n.Memory <= 0 {
			t.Errorf("node %s has CPU %d and memory %d, want more than 0", n.ID, n.CPU, n.Memory)
		}
		devices := map[string]bool{}
		for _, d := range n.Devices {
			if d.ID == "" || devices[d.ID] {
				t.Errorf("node %s: device ID %q is empty or not unique", n.ID, d.ID)
			}
			devices[d.ID] = true
		}
	}
}

func (s suite) empty(t *testing.T) {
	p := s.open(t)
	all, err := p.Observe(t.Context())
	if err != nil || len(all) != 0 {
		t.Errorf("Observe on a fresh backend: %v, %v; want nothing", all, err)
	}
	if err := p.Start(t.Context(), nil); err != nil {
		t.Errorf("Start of nothing: %v", err)
	}
}

func (s suite) exitCodes(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "exits", Script{}, Script{Exit: 7}, Script{Exit: 137})
	wantExit(t, ended(t, p, ids[0]), 0, "")
	wantExit(t, ended(t, p, ids[1]), 7, "Error")
	o := ended(t, p, ids[2])
	if s.opts.Blind {
		wantExit(t, o, 137, "Killed")
		return
	}
	// A code is a code, whoever else uses that number.
	wantExit(t, o, 137, "Error")
	if o.Signal != 0 {
		t.Errorf("exit code 137: signal is %d, want none", o.Signal)
	}
	if s.opts.Init {
		return
	}
	o = ended(t, p, s.start(t, p, "signals", Script{Signal: 9})[0])
	wantExit(t, o, 137, "Killed")
	if o.Signal != 9 {
		t.Errorf("signal is %d, want 9", o.Signal)
	}
}

func (s suite) batch(t *testing.T) {
	p := s.open(t)
	scripts := make([]Script, 50)
	for i := range scripts {
		scripts[i].Exit = i % 3
	}
	reasons := []string{"", "Error", "Error"}
	for i, id := range s.start(t, p, "batch", scripts...) {
		wantExit(t, ended(t, p, id), i%3, reasons[i%3])
	}
}

func (s suite) startTwice(t *testing.T) {
	p := s.open(t)
	sc := Script{Output: []string{"once"}, Run: Forever}
	ids := s.start(t, p, "twice", sc)
	running(t, p, ids[0])
	s.sawLine(t, p, ids[0], "once")
	first, _ := find(t, p, ids[0])
	s.start(t, p, "twice", sc)
	again, _ := find(t, p, ids[0])
	if !again.At.Equal(first.At) || again.State != core.TaskRunning {
		t.Errorf("the second start changed %+v to %+v", first, again)
	}
	if all, _ := p.Observe(t.Context()); len(all) != 1 {
		t.Errorf("%d tasks are held, want 1", len(all))
	}
	s.stopNow(t, p, ids...)
	if got := read(t, p, ids[0], backend.LogOptions{Tail: -1}); got != "once\n" {
		t.Errorf("it wrote %q, want %q: it ran twice", got, "once\n")
	}
}

func (s suite) startAfterEnd(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "again", Script{Output: []string{"ran"}, Exit: 3})
	first := ended(t, p, ids[0])
	s.start(t, p, "again", Script{Output: []string{"ran"}})
	again, ok := find(t, p, ids[0])
	if !ok || again.State != first.State || !again.At.Equal(first.At) {
		t.Errorf("after a second start: %+v, want %+v as before", again, first)
	}
	if got := read(t, p, ids[0], backend.LogOptions{Tail: -1}); got != "ran\n" {
		t.Errorf("it wrote %q, want %q", got, "ran\n")
	}
}

func (s suite) stopNow(t *testing.T, p backend.Backend, ids ...core.TaskID) {
	t.Helper()
	if err := p.Stop(t.Context(), ids, 0); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	for _, id := range ids {
		ended(t, p, id)
	}
}

func (s suite) stopPolite(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "polite", Script{Output: []string{"up"}, Run: Forever})
	s.sawLine(t, p, ids[0], "up")
	if err := p.Stop(t.Context(), ids, longGrace); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	o := ended(t, p, ids[0])
	wantExit(t, o, 143, "Error")
	if o.Signal != 15 {
		t.Errorf("signal is %d, want 15", o.Signal)
	}
}

func (s suite) stopForced(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "forced", Script{Output: []string{"up"}, Run: Forever, Deaf: true})
	s.sawLine(t, p, ids[0], "up")
	if err := p.Stop(t.Context(), ids, 300*time.Millisecond); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	o := ended(t, p, ids[0])
	wantExit(t, o, 137, "Error")
	if o.Signal != 9 {
		t.Errorf("signal is %d, want 9", o.Signal)
	}
}

func (s suite) stopShortened(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "shorter", Script{Output: []string{"up"}, Run: Forever, Deaf: true})
	s.sawLine(t, p, ids[0], "up")
	for _, grace := range []time.Duration{longGrace, time.Millisecond, longGrace} {
		if err := p.Stop(t.Context(), ids, grace); err != nil {
			t.Fatalf("Stop with %s: %v", grace, err)
		}
	}
	wantExit(t, ended(t, p, ids[0]), 137, "Error")
}

func (s suite) stopUnknown(t *testing.T) {
	p := s.open(t)
	if err := p.Stop(t.Context(), []core.TaskID{id("nobody", 0)}, 0); err != nil {
		t.Errorf("Stop of an unknown task: %v", err)
	}
	ids := s.start(t, p, "over", Script{})
	before := ended(t, p, ids[0])
	if err := p.Stop(t.Context(), append(ids, id("nobody", 1)), 0); err != nil {
		t.Errorf("Stop of an ended task: %v", err)
	}
	if after, _ := find(t, p, ids[0]); after.State != before.State || !after.At.Equal(before.At) {
		t.Errorf("Stop changed an ended task from %+v to %+v", before, after)
	}
}

func (s suite) forget(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "forget", Script{Output: []string{"kept"}}, Script{Run: Forever})
	ended(t, p, ids[0])
	running(t, p, ids[1])
	if err := p.Forget(t.Context(), append(ids, id("nobody", 0))); err != nil {
		t.Fatalf("Forget: %v", err)
	}
	if o, ok := find(t, p, ids[0]); ok {
		t.Errorf("a forgotten task is still held: %+v", o)
	}
	if o, ok := find(t, p, ids[1]); !ok || o.State != core.TaskRunning {
		t.Errorf("a running task was forgotten: %+v", o)
	}
	if got := read(t, p, ids[0], backend.LogOptions{Tail: -1}); got != "kept\n" {
		t.Errorf("logs after Forget: %q, want %q", got, "kept\n")
	}
	s.stopNow(t, p, ids[1])
}

func (s suite) forgetAndStart(t *testing.T) {
	p := s.open(t)
	ids := s.start(t, p, "renew", Script{Exit: 1})
	wantExit(t, ended(t, p, ids[0]), 1, "Error")
	if err := p.Forget(t.Context(), ids); err != nil {
		t.Fatalf("Forget: %v", err)
	}
	s.start(t, p, "renew", Script{})
	wantExit(t, ended(t, p, ids[0]), 0, "")
}

func (s suite) watch(t *testing.T) {
	p := s.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	states := map[core.TaskID]map[core.TaskState]bool{}
	done := make(chan error, 1)
	go func() {
		done <- p.Watch(ctx, func(seen []backend.Observation) {
			mu.Lock()
			defer mu.Unlock()
			for _, o := range seen {
				if states[o.ID] == nil {
					states[o.ID] = map[core.TaskState]bool{}
				}
				states[o.ID][o.State] = true
			}
		})
	}()
	has := func(id core.TaskID, st core.TaskState) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return states[id][st] }
	}
	ids := s.start(t, p, "watched", Script{Run: Forever}, Script{Exit: 2})
	until(t, "the watch tells that task 0 runs", has(ids[0], core.TaskRunning))
	until(t, "the watch tells that task 1 failed", has(ids[1], core.TaskFailed))
	if err := p.Stop(t.Context(), ids, 0); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	until(t, "the watch tells that task 0 ended", has(ids[0], core.TaskFailed))
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) && err != nil {
			t.Errorf("Watch after cancel: %v", err)
		}
	case <-time.After(Within):
		t.Error("Watch does not return after its context is done")
	}
}

func (s suite) reopen(t *testing.T) {
	if s.opts.Reopen == nil {
		t.Skip("this backend keeps nothing that could be opened again (Options.Reopen is not set)")
	}
	p := s.open(t)
	ids := s.start(t, p, "reopen", Script{Output: []string{"before"}, Run: Forever}, Script{Exit: 5})
	running(t, p, ids[0])
	ended(t, p, ids[1])
	p = s.opts.Reopen(t, p)
	wantExit(t, ended(t, p, ids[1]), 5, "Error")
	s.sawLine(t, p, ids[0], "before")
	s.start(t, p, "reopen", Script{Run: Forever}, Script{})
	if all, err := p.Observe(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("Observe: %d tasks, %v; want 2", len(all), err)
	}
	s.stopNow(t, p, ids[0])
	if got := read(t, p, ids[0], backend.LogOptions{Tail: -1}); got != "before\n" {
		t.Errorf("logs: %q, want %q", got, "before\n")
	}
}

func (s suite) reopenAfterEnd(t *testing.T) {
	if s.opts.Reopen == nil {
		t.Skip("this backend keeps nothing that could be opened again (Options.Reopen is not set)")
	}
	p := s.open(t)
	ids := s.start(t, p, "between", Script{Run: 300 * time.Millisecond, Exit: 9})
	p = s.opts.Reopen(t, p)
	// Who restarts asks again for what it does not see: an image may have been
	// on its way.
	s.start(t, p, "between", Script{Run: 300 * time.Millisecond, Exit: 9})
	wantExit(t, ended(t, p, ids[0]), 9, "Error")
}

func (s suite) crowd(t *testing.T) {
	p := s.open(t)
	const callers, each = 8, 12
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				// Every task is asked for by two callers, once each.
				a := s.opts.Assign(t, id("crowd", c/2*each+i), Script{Output: []string{"x"}})
				if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
					t.Errorf("Start: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for i := range callers / 2 * each {
		wantExit(t, ended(t, p, id("crowd", i)), 0, "")
		if got := read(t, p, id("crowd", i), backend.LogOptions{Tail: -1}); got != "x\n" {
			t.Errorf("task %d wrote %q, want one line: it did not run exactly once", i, got)
		}
	}
	if all, _ := p.Observe(t.Context()); len(all) != callers/2*each {
		t.Errorf("%d tasks are held, want %d", len(all), callers/2*each)
	}
}

// runs: a task that had to leave is run again under its index while the backend
// may still hold the run before.
func (s suite) runs(t *testing.T) {
	p := s.open(t)
	first := s.start(t, p, "runs", Script{Output: []string{"first"}, Run: Forever})[0]
	s.sawLine(t, p, first, "first")
	second, far := first, first
	second.Run, far.Run = 1, 12
	a := s.opts.Assign(t, second, Script{Output: []string{"second"}, Run: Forever})
	b := s.opts.Assign(t, far, Script{Output: []string{"twelfth"}})
	a.ID, b.ID = second, far
	if err := p.Start(t.Context(), []backend.Assignment{a, b}); err != nil {
		t.Fatalf("Start: %v", err)
	}
	s.sawLine(t, p, second, "second")
	wantExit(t, ended(t, p, far), 0, "")
	s.stopNow(t, p, first)
	if err := p.Forget(t.Context(), []core.TaskID{first}); err != nil {
		t.Fatalf("Forget: %v", err)
	}
	if o, ok := find(t, p, second); !ok || o.State != core.TaskRunning {
		t.Errorf("%s after the end of %s: %+v, %v; want it to run", second, first, o, ok)
	}
	for id, want := range map[core.TaskID]string{first: "first\n", second: "second\n", far: "twelfth\n"} {
		if got := read(t, p, id, backend.LogOptions{Tail: -1}); got != want {
			t.Errorf("logs of %s: %q, want %q", id, got, want)
		}
	}
	s.stopNow(t, p, second)
}
