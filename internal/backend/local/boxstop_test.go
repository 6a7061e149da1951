//go:build linux

package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

// slowEngine is the engine, but that it comes back from a create only once the
// file go is there. Then the container is made; its command has not begun.
func slowEngine(t *testing.T) (engine, created, goes string) {
	t.Helper()
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	engine, created, goes = filepath.Join(dir, "engine"), filepath.Join(dir, "created"), filepath.Join(dir, "go")
	script := fmt.Sprintf(`#!/bin/sh
%s "$@"
code=$?
case " $* " in *" create "*)
	echo "what an engine says is no output of the task" >&2
	: >%s
	while [ ! -e %s ]; do sleep 0.01; done ;;
esac
exit $code
`, runc, created, goes)
	if err := os.WriteFile(engine, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return engine, created, goes
}

// TestStopWhileTheContainerIsMade: what was told to end before its command began
// never begins it, also where a supervisor dies in between.
func TestStopWhileTheContainerIsMade(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%v", killed), func(t *testing.T) {
			needBoxes(t)
			engine, created, goes := slowEngine(t)
			p := open(t, Options{Images: newShelf(t), Engine: engine})
			a := boxed("made", 0, "echo it ran")
			start(t, p, a)
			until(t, "the container is made", func() bool { return taskdir.Exists(created) })
			if err := p.Stop(t.Context(), []core.TaskID{a.ID}, backendtest.Within); err != nil {
				t.Fatal(err)
			}
			if killed {
				killSupervisor(t, p)
			}
			touch(t, goes)
			o := end(t, p, a.ID)
			if o.State != core.TaskFailed || o.Reason != "Killed" || o.ExitCode != nil {
				t.Errorf("%+v, want failed, Killed, without an exit code", o)
			}
			if out := outputOf(t, p, a.ID); out != "" {
				t.Errorf("the command ran after the stop: %q", out)
			}
			wantNothingLeft(t, p)
		})
	}
}

// TestStopFindsTheCommand: a container that has the word, and is not the command
// yet, is told to end once it is. Here it is held in between.
func TestStopFindsTheCommand(t *testing.T) {
	needBoxes(t)
	engine, created, goes := slowEngine(t)
	p := open(t, Options{Images: newShelf(t), Engine: engine})
	// A shell that is the container's first process is ended by force in place of
	// the signal; one that minds the signal gets it.
	a := boxed("word", 0, "while :; do sleep 0.05; done")
	start(t, p, a)
	until(t, "the container is made", func() bool { return taskdir.Exists(created) })
	text, err := os.ReadFile(filepath.Join(p.paths.Task(a.ID), "box", "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	touch(t, goes)
	until(t, "it is said to run", func() bool { return observe(t, p, a.ID).State == core.TaskRunning })
	if err := p.Stop(t.Context(), []core.TaskID{a.ID}, backendtest.Within); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantCode(t, end(t, p, a.ID), 143)
	wantNothingLeft(t, p)
}

// TestStopAtAnyMoment stops containers as they come up. None begins its command
// and then runs on until it is ended by force.
func TestStopAtAnyMoment(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	ends := map[string]int{}
	for i := range 24 {
		a := boxed("moment", i, `trap 'echo told; exit 7' TERM; echo up; while :; do sleep 0.01; done`)
		start(t, p, a)
		time.Sleep(time.Duration(5+i*7) * time.Millisecond) // any moment is a test
		if err := p.Stop(t.Context(), []core.TaskID{a.ID}, backendtest.Within); err != nil {
			t.Fatal(err)
		}
		o, out := end(t, p, a.ID), outputOf(t, p, a.ID)
		switch {
		case o.ExitCode == nil && o.Reason == "Killed" && out == "":
			ends["never began"]++
		case o.ExitCode != nil && *o.ExitCode == 7 && strings.HasSuffix(out, "told\n"):
			ends["told"]++
		case o.ExitCode != nil && *o.ExitCode == 143 && !strings.Contains(out, "told"): // before it minded the signal
			ends["ended"]++
		default:
			t.Errorf("task %d: %+v with output %q", i, o, out)
		}
	}
	t.Logf("ends: %v", ends)
}
