//go:build linux

package local

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

// groupsOf are the control groups of a supervisor.
func groupsOf(t *testing.T, name string) (traces []string) {
	t.Helper()
	points, err := cgroup.Mounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range points {
		_ = filepath.WalkDir(m.Point, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.Contains(d.Name(), name) {
				traces = append(traces, "group "+path)
			}
			return nil
		})
	}
	return traces
}

// TestASupervisorThatCannotStartLeavesNoGroups: one that has its groups and then
// cannot listen takes them away again.
func TestASupervisorThatCannotStartLeavesNoGroups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := taskdir.Paths{Dir: dir}
	if err := os.MkdirAll(filepath.Join(paths.Socket(), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Open(Options{Dir: dir, Linger: 10 * time.Millisecond})
	if err == nil {
		err = p.Start(t.Context(), []backend.Assignment{shellTask("unborn", 0, "true")})
		defer func() { _ = p.Close() }()
	}
	if err == nil || !strings.Contains(err.Error(), "could not start") {
		t.Errorf("the supervisor started, or it says nothing of why not: %v", err)
	}
	until(t, "no groups are left", func() bool { return len(groupsOf(t, taskdir.ShortName(dir))) == 0 })
}

// wantNothingLeft expects that no trace of containers is on the machine once
// all tasks are forgotten and the supervisor is gone.
func wantNothingLeft(t *testing.T, p *Backend) {
	t.Helper()
	shut(t, p)
	name := taskdir.ShortName(p.paths.Dir)
	left := func() (traces []string) {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(mounts)) {
			if strings.Contains(line, p.paths.Dir) {
				traces = append(traces, "mount "+line)
			}
		}
		traces = append(traces, groupsOf(t, name)...)
		for _, dir := range []string{p.paths.Tasks(), p.paths.Trash()} {
			all, _ := os.ReadDir(dir)
			for _, d := range all {
				traces = append(traces, "directory "+filepath.Join(dir, d.Name()))
			}
		}
		for _, x := range proc.All() {
			if strings.HasPrefix(x.Dir, p.paths.Dir) {
				traces = append(traces, fmt.Sprintf("process %d", x.PID))
			}
		}
		return traces
	}
	var traces []string
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if traces = left(); len(traces) == 0 {
			return
		}
		if time.Since(begun) > backendtest.Within {
			t.Fatalf("left behind:\n%s", strings.Join(traces, "\n"))
		}
	}
}

func TestBoxesLeaveNothing(t *testing.T) {
	needBoxes(t)
	s := newShelf(t)
	p := open(t, Options{Images: s})
	good := boxed("trace", 0, "echo x > /written; mkdir -p /a/b; sleep 1000 & exit 3")
	bad := boxed("trace", 1, "")
	bad.Argv = []string{"no-such-program"}
	tty := boxed("trace", 2, "exit 4")
	tty.TTY = true
	start(t, p, good, bad, tty)
	wantCode(t, end(t, p, good.ID), 3)
	end(t, p, bad.ID)
	wantCode(t, end(t, p, tty.ID), 4)
	if len(s.Held()) != 3 {
		t.Errorf("held are %q, want one hold for each task", s.Held())
	}
	wantNothingLeft(t, p)
	if len(s.Held()) != 0 {
		t.Errorf("held are %q after all is forgotten", s.Held())
	}
}

func TestBoxOutlivesSupervisor(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	flag := t.TempDir()
	a := boxed("outlive", 0, "i=0; while [ ! -e /go/go ]; do i=$((i+1)); echo $i; done; echo end $i; exit 8")
	a.Mounts = []backend.Mount{{Source: flag, Target: "/go"}}
	start(t, p, a)
	for range 3 {
		grown := len(outputOf(t, p, a.ID)) + 20_000
		until(t, "it writes on", func() bool { return len(outputOf(t, p, a.ID)) > grown })
		killSupervisor(t, p)
		if o := observe(t, p, a.ID); o.State != core.TaskRunning {
			t.Fatalf("after the supervisor was killed: %+v, want running", o)
		}
	}
	// What was taken over can be entered.
	if code, err := p.Exec(t.Context(), a.ID, backend.ExecOptions{Argv: []string{"sh", "-c", "exit 9"}}); err != nil || code != 9 {
		t.Errorf("Exec: %d, %v; want 9", code, err)
	}
	if err := os.WriteFile(filepath.Join(flag, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantForeignCode(t, end(t, p, a.ID), 8)
	wantCounting(t, outputOf(t, p, a.ID))
	wantNothingLeft(t, p)
}

// TestSupervisorKilledWhileBoxesStart kills supervisors at all stages of starting
// containers. None runs twice, and none is lost: what never ran is started
// again by who asks for it again, as control does.
func TestSupervisorKilledWhileBoxesStart(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	dir := t.TempDir()
	const rounds, n = 5, 6
	for r := range rounds {
		var tasks []backend.Assignment
		for i := range n {
			a := boxed("starting", r*n+i, fmt.Sprintf("echo x >> /out/%d; exec sleep 1000", r*n+i))
			a.Mounts = []backend.Mount{{Source: dir, Target: "/out"}}
			tasks = append(tasks, a)
		}
		start(t, p, boxed("warm", r, "true"))
		start(t, p, tasks...)
		until(t, "the start is under way", func() bool {
			return recorded(p.paths.Task(tasks[r].ID), taskdir.AssignmentRecord)
		})
		time.Sleep(time.Duration(r*7) * time.Millisecond) // any moment is a test
		killSupervisor(t, p)
		for _, a := range tasks {
			until(t, a.ID.String()+" runs", func() bool {
				start(t, p, a) // as control does with what it does not see
				o := observe(t, p, a.ID)
				if o.State.Ended() {
					t.Fatalf("%+v, want running", o)
				}
				return o.State == core.TaskRunning
			})
		}
	}
	for i := range rounds * n {
		path := filepath.Join(dir, fmt.Sprint(i))
		until(t, fmt.Sprintf("task %d has begun", i), func() bool { st, err := os.Stat(path); return err == nil && st.Size() > 0 })
		if ran, err := os.ReadFile(path); err != nil || string(ran) != "x\n" {
			t.Errorf("task %d wrote %q, %v: it did not run exactly once", i, ran, err)
		}
	}
	wantNothingLeft(t, p)
}

func TestSupervisorKilledWhileBoxesEnd(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	const n = 10
	var tasks []backend.Assignment
	for i := range n {
		tasks = append(tasks, boxed("ending", i, fmt.Sprintf("sleep 0.%02d; exit 3", i*4)))
	}
	start(t, p, tasks...)
	for _, a := range tasks {
		until(t, a.ID.String()+" has begun", func() bool { return observe(t, p, a.ID).State != core.TaskStarting })
	}
	killSupervisor(t, p)
	for _, a := range tasks {
		o := end(t, p, a.ID)
		if (o.ExitCode == nil || *o.ExitCode != 3) && (o.State != core.TaskLost || o.Reason != "OutcomeUnknown") {
			t.Errorf("%+v, want exit code 3 or lost, OutcomeUnknown", o)
		}
	}
	wantNothingLeft(t, p)
}

func TestBoxStopSurvivesTheSupervisor(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	a := boxed("stop", 0, "trap '' TERM; echo up; while :; do sleep 1000; done")
	b := boxed("stop", 1, "echo up; exec sleep 1000")
	start(t, p, a, b)
	for _, x := range []backend.Assignment{a, b} {
		until(t, "it is up", func() bool { return outputOf(t, p, x.ID) == "up\n" })
	}
	until(t, "it sleeps", func() bool {
		code, err := p.Exec(t.Context(), b.ID, backend.ExecOptions{Argv: []string{"sh", "-c", "grep -q sleep /proc/1/cmdline"}})
		return err == nil && code == 0
	})
	killSupervisor(t, p)
	if err := p.Stop(t.Context(), []core.TaskID{a.ID}, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), []core.TaskID{b.ID}, backendtest.Within); err != nil {
		t.Fatal(err)
	}
	killSupervisor(t, p)
	wantForeignCode(t, end(t, p, a.ID), 137)
	wantForeignCode(t, end(t, p, b.ID), 143) // ended by force, which stands for the polite signal
	wantNothingLeft(t, p)
}

// terminals runs a test for a process of the machine and for a container.
func terminals(t *testing.T, test func(t *testing.T, p *Backend, image string)) {
	t.Run("process", func(t *testing.T) { test(t, open(t, Options{}), "") })
	t.Run("container", func(t *testing.T) {
		needBoxes(t)
		test(t, open(t, Options{Images: newShelf(t)}), "busybox")
	})
}

func TestTerminalSurvivesTheSupervisor(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this takes root: without it, whether a supervisor may take descriptors from its tasks depends on the kernel's ptrace rules")
	}
	terminals(t, func(t *testing.T, p *Backend, image string) {
		a := shellTask("tty", 0, `echo ready; while read line; do echo "got $line"; [ "$line" = end ] && exit 8; done; exit 1`)
		a.TTY, a.Image = true, image
		start(t, p, a)
		until(t, "it is ready", func() bool { return strings.Contains(outputOf(t, p, a.ID), "ready\r\n") })
		for i := range 3 {
			typed(t, p, a.ID, fmt.Sprintf("line %d\n", i))
			until(t, "it answers", func() bool {
				return strings.Contains(outputOf(t, p, a.ID), fmt.Sprintf("got line %d\r\n", i))
			})
			killSupervisor(t, p)
			if o := observe(t, p, a.ID); o.State != core.TaskRunning {
				t.Fatalf("after the supervisor was killed: %+v, want running", o)
			}
		}
		typed(t, p, a.ID, "end\n")
		wantForeignCode(t, end(t, p, a.ID), 8)
	})
}

// typed types text at the terminal of a task.
func typed(t *testing.T, p *Backend, id core.TaskID, text string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, typing := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.Attach(ctx, id, backend.Streams{Stdin: in})
	}()
	if _, err := io.WriteString(typing, text); err != nil {
		t.Fatal(err)
	}
	until(t, "the terminal has it", func() bool { return strings.Contains(outputOf(t, p, id), strings.TrimSpace(text)) })
	cancel()
	<-done
	_ = typing.Close()
}

func TestInputSurvivesTheSupervisor(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this takes root: without it, whether a supervisor may take descriptors from its tasks depends on the kernel's ptrace rules")
	}
	terminals(t, func(t *testing.T, p *Backend, image string) {
		a := shellTask("input", 0, "cat; exit 6")
		a.Stdin, a.Image = true, image
		start(t, p, a)
		until(t, "it runs", func() bool { return observe(t, p, a.ID).State == core.TaskRunning })
		killSupervisor(t, p)
		if o := observe(t, p, a.ID); o.State != core.TaskRunning {
			t.Fatalf("after the supervisor was killed: %+v, want running: its input has not ended", o)
		}
		if err := p.Attach(t.Context(), a.ID, backend.Streams{Stdin: strings.NewReader("hello\n")}); err != nil {
			t.Errorf("Attach: %v", err)
		}
		wantForeignCode(t, end(t, p, a.ID), 6)
		if got := outputOf(t, p, a.ID); got != "hello\n" {
			t.Errorf("output %q, want %q", got, "hello\n")
		}
	})
}

func TestReplacedSupervisorKeepsBoxes(t *testing.T) {
	needBoxes(t)
	p := open(t, Options{Images: newShelf(t)})
	a := boxed("replace", 0, "read line; echo got $line; exit 5")
	a.Stdin = true
	start(t, p, a)
	until(t, "it runs", func() bool { return observe(t, p, a.ID).State == core.TaskRunning })
	pid := supervisorPID(t, p)
	c, err := p.connect(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.modernize(t.Context(), c)
	if o := observe(t, p, a.ID); o.State != core.TaskRunning || supervisorPID(t, p) != pid {
		t.Fatalf("after the replacement of pid %d: %+v by pid %d", pid, o, supervisorPID(t, p))
	}
	if err := p.Attach(t.Context(), a.ID, backend.Streams{Stdin: strings.NewReader("on\n")}); err != nil {
		t.Errorf("Attach: %v", err)
	}
	wantCode(t, end(t, p, a.ID), 5) // its parent all the time
	if got := outputOf(t, p, a.ID); got != "got on\n" {
		t.Errorf("output %q", got)
	}
	wantNothingLeft(t, p)
}

// TestEngineThatIsKilledIsTriedAgain: what somebody did to the engine is no fault
// of the image.
func TestEngineThatIsKilledIsTriedAgain(t *testing.T) {
	needBoxes(t)
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	engine, once := filepath.Join(dir, "engine"), filepath.Join(dir, "once")
	script := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *\" create \"*) [ -e %s ] || { : >%s; kill -9 $$; } ;; esac\nexec %s \"$@\"\n", once, once, runc)
	if err := os.WriteFile(engine, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p := open(t, Options{Images: newShelf(t), Engine: engine})
	a := boxed("again", 0, "exit 6")
	start(t, p, a)
	wantCode(t, end(t, p, a.ID), 6)
	if !taskdir.Exists(once) {
		t.Error("the engine was never killed")
	}
	wantNothingLeft(t, p)
}

func TestEngineThatHangsIsStopped(t *testing.T) {
	needBoxes(t)
	engine := filepath.Join(t.TempDir(), "engine")
	if err := os.WriteFile(engine, []byte("#!/bin/sh\nexec sleep 100000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := open(t, Options{Images: newShelf(t), Engine: engine})
	a := boxed("hang", 0, "true")
	start(t, p, a)
	until(t, "the supervisor has it", func() bool { return recorded(p.paths.Task(a.ID), taskdir.AssignmentRecord) })
	if err := p.Stop(t.Context(), []core.TaskID{a.ID}, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if o := end(t, p, a.ID); o.State != core.TaskFailed || o.Reason != "Killed" {
		t.Errorf("%+v, want failed, Killed", o)
	}
	wantNothingLeft(t, p)
}
