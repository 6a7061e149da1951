//go:build linux

package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
)

// saying collects what a backend says of tasks, state and word.
func saying(t *testing.T, p *Backend) func(core.TaskID) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	said := map[core.TaskID][]string{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.Watch(ctx, func(seen []backend.Observation) { // ends with ctx
			mu.Lock()
			defer mu.Unlock()
			for _, o := range seen {
				word := string(o.State)
				if o.Waiting != "" {
					word = o.Waiting
				}
				if all := said[o.ID]; len(all) == 0 || all[len(all)-1] != word {
					said[o.ID] = append(all, word)
				}
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func(id core.TaskID) string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(said[id], " ")
	}
}

func sh(script string, retries int) backend.Init {
	return backend.Init{Argv: []string{"/bin/sh", "-c", script}, Retries: retries}
}

func testSteps(t *testing.T, p *Backend, image string) {
	said := saying(t, p)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	mark := func(name string) string { return filepath.Join(dir, name) }
	wait := func(name string) string { return "while [ ! -e " + mark(name) + " ]; do sleep 0.01; done; " }
	task := func(workload string, init ...backend.Init) backend.Assignment {
		a := shellTask(workload, 0, "echo the command runs")
		a.Image, a.Init = image, init
		a.Mounts = []backend.Mount{{Source: dir, Target: dir}}
		return a
	}

	good := task("good", sh("echo one; "+wait("a"), 0), sh("echo two; "+wait("b"), 0))
	start(t, p, good)
	until(t, "it is in its first step", func() bool { return strings.HasSuffix(said(good.ID), "Init:0/2") })
	touch(t, mark("a"))
	until(t, "it is in its second step", func() bool { return strings.HasSuffix(said(good.ID), "Init:1/2") })
	touch(t, mark("b"))
	wantCode(t, end(t, p, good.ID), 0)
	if got := outputOf(t, p, good.ID); got != "one\ntwo\nthe command runs\n" {
		t.Errorf("output %q", got)
	}

	bad := task("bad", sh("true", 0), sh("exit 6", 0))
	start(t, p, bad)
	o := end(t, p, bad.ID)
	if o.ExitCode == nil || *o.ExitCode != 6 || !strings.Contains(o.Message, "init") {
		t.Errorf("a step that fails: %+v, want code 6 and a message", o)
	}

	again := task("again", sh("[ -e "+mark("second")+" ] || { touch "+mark("second")+"; exit 1; }", 3))
	start(t, p, again)
	wantCode(t, end(t, p, again.ID), 0)
	if got := said(again.ID); !strings.Contains(got, "Init:Error Init:CrashLoopBackOff") {
		t.Errorf("of a step that is tried again it says %q", got)
	}

	kept := task("kept", sh("touch "+mark("in")+"; "+wait("c"), 0))
	start(t, p, kept)
	// The word is said while the container is made, too.
	until(t, "it is in its step", func() bool { return taskdir.Exists(mark("in")) && strings.HasSuffix(said(kept.ID), "Init:0/1") })
	killSupervisor(t, p)
	until(t, "the next supervisor knows its step", func() bool { return observe(t, p, kept.ID).Waiting == "Init:0/1" })
	touch(t, mark("c"))
	wantForeignCode(t, end(t, p, kept.ID), 0)
	if got := outputOf(t, p, kept.ID); !strings.Contains(got, "the command runs") {
		t.Errorf("after the death of the supervisor: output %q", got)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestStepsOfAStart(t *testing.T) { testSteps(t, open(t, Options{}), "") }

func TestStepsOfAStartInABox(t *testing.T) {
	needBoxes(t)
	testSteps(t, open(t, Options{Images: newShelf(t)}), "busybox")
}
