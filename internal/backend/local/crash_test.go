//go:build linux

package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

func start(t testing.TB, p *Backend, tasks ...backend.Assignment) {
	t.Helper()
	if err := p.Start(t.Context(), tasks); err != nil {
		t.Fatalf("Start: %v", err)
	}
}

func observe(t testing.TB, p *Backend, id core.TaskID) backend.Observation {
	t.Helper()
	seen, err := p.Observe(t.Context())
	if err != nil {
		t.Fatalf("Observe: %v", err)
	}
	i := slices.IndexFunc(seen, func(o backend.Observation) bool { return o.ID == id })
	if i < 0 {
		return backend.Observation{}
	}
	return seen[i]
}

func end(t testing.TB, p *Backend, id core.TaskID) (o backend.Observation) {
	t.Helper()
	until(t, id.String()+" has ended", func() bool {
		o = observe(t, p, id)
		return o.State.Ended()
	})
	return o
}

// letGo ends the wait of a task that waits for the file go in its directory.
func letGo(t testing.TB, p *Backend, id core.TaskID) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.paths.Task(id), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// outputOf returns what a task has written so far.
func outputOf(t testing.TB, p *Backend, id core.TaskID) string {
	t.Helper()
	data, err := os.ReadFile(p.paths.Log(id))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

func wantCode(t testing.TB, o backend.Observation, code int) {
	t.Helper()
	if o.ExitCode == nil || *o.ExitCode != code {
		t.Errorf("%s: %+v, want exit code %d", o.ID, o, code)
	}
}

// remembers reports whether this kernel tells the exit code of a process that
// was someone else's child.
func remembers() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 15)
}

// wantForeignCode is wantCode for a task whose supervisor died.
func wantForeignCode(t testing.TB, o backend.Observation, code int) {
	t.Helper()
	if !remembers() && o.State == core.TaskLost && o.Reason == "OutcomeUnknown" {
		return
	}
	wantCode(t, o, code)
}

// server starts tasks from another process, which is then killed.
func killedServer(t *testing.T, dir, workload string, n int, script string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], serverArg, dir, workload, strconv.Itoa(n), script)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "started\n" {
		t.Errorf("the server says %q", line)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func TestTasksOutliveTheServer(t *testing.T) {
	dir := t.TempDir()
	p := open(t, Options{Dir: dir})
	killedServer(t, dir, "server", 3, `echo up; while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; exit $((${MUSTER_TASK_ID##*/} + 20))`)
	for i := range 3 {
		id := core.TaskID{Workload: "server", Index: i}
		if o := observe(t, p, id); o.State != core.TaskRunning {
			t.Errorf("after the server was killed: %+v, want running", o)
		}
		letGo(t, p, id)
		wantCode(t, end(t, p, id), 20+i)
		if got := outputOf(t, p, id); got != "up\n" {
			t.Errorf("output %q, want %q", got, "up\n")
		}
	}
}

func TestExitIsKnownAfterServerWasAway(t *testing.T) {
	dir := t.TempDir()
	killedServer(t, dir, "away", 4, `sleep 0.2; echo bye; exit 6`)
	p := taskdir.Paths{Dir: dir}
	for i := range 4 { // while nobody looks
		id := core.TaskID{Workload: "away", Index: i}
		until(t, "the end is on record", func() bool { return recorded(p.Task(id), taskdir.ExitRecord) })
	}
	q := open(t, Options{Dir: dir})
	for i := range 4 {
		wantCode(t, end(t, q, core.TaskID{Workload: "away", Index: i}), 6)
	}
}

// counting writes numbered lines until it is told to stop, and counts on
// whatever happens around it.
const counting = `i=0; while [ ! -e "$MUSTER_TASK_DIR/go" ]; do i=$((i+1)); echo $i; done; echo end $i; exit 8`

func TestLogIsWholeOverDeathsOfTheSupervisor(t *testing.T) {
	for name, o := range map[string]Options{
		"with groups":    {},
		"without groups": {Exe: []string{"/proc/self/exe", SupervisorArg, noGroups}},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, o)
			a := shellTask("count", 0, counting)
			start(t, p, a)
			for range 5 {
				grown := len(outputOf(t, p, a.ID)) + 50_000
				until(t, "it writes on", func() bool { return len(outputOf(t, p, a.ID)) > grown })
				killSupervisor(t, p)
				if o := observe(t, p, a.ID); o.State != core.TaskRunning {
					t.Fatalf("after the supervisor was killed: %+v, want running", o)
				}
			}
			letGo(t, p, a.ID)
			wantForeignCode(t, end(t, p, a.ID), 8)
			wantCounting(t, outputOf(t, p, a.ID))
		})
	}
}

// wantCounting expects every line once, in order.
func wantCounting(t *testing.T, out string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "end "); ok {
			if rest != strconv.Itoa(n) {
				t.Errorf("the last line is %q after %d lines", line, n)
			}
			return
		}
		if n++; line != strconv.Itoa(n) {
			t.Fatalf("line %d is %q", n, line)
		}
	}
	t.Errorf("the log ends after line %d without the end", n)
}

func TestSupervisorKilledWhileTasksEnd(t *testing.T) {
	p := open(t, Options{})
	const n = 60
	var tasks []backend.Assignment
	for i := range n {
		tasks = append(tasks, shellTask("ending", i, fmt.Sprintf(`echo x >> "$MUSTER_TASK_DIR/runs"; sleep 0.%02d; exit 3`, i%40)))
	}
	start(t, p, tasks...)
	time.Sleep(150 * time.Millisecond) // any moment is a test
	killSupervisor(t, p)
	known := 0
	for _, a := range tasks {
		o := end(t, p, a.ID)
		switch {
		case o.State == core.TaskFailed && o.ExitCode != nil && *o.ExitCode == 3:
			known++
		case o.State != core.TaskLost || o.Reason != "OutcomeUnknown":
			t.Errorf("%+v, want exit code 3 or lost, OutcomeUnknown", o)
		}
		if runs, _ := os.ReadFile(filepath.Join(p.paths.Task(a.ID), "runs")); string(runs) != "x\n" {
			t.Errorf("%s ran %d times", a.ID, bytes.Count(runs, []byte("\n")))
		}
	}
	if known == 0 {
		t.Error("no exit code is known")
	}
}

// TestSupervisorKilledWhileStarting kills supervisors in the middle of starting: a
// task may be lost then, but never runs twice.
func TestSupervisorKilledWhileStarting(t *testing.T) {
	p := open(t, Options{})
	dir := t.TempDir()
	const rounds, n = 6, 40
	for r := range rounds {
		var tasks []backend.Assignment
		for i := range n {
			tasks = append(tasks, shellTask("starting", r*n+i, fmt.Sprintf("echo x >> %s/%d; sleep 1000", dir, r*n+i)))
		}
		start(t, p, shellTask("warm", r, "true"))
		done := make(chan error, 1)
		go func() { done <- p.Start(t.Context(), tasks) }()
		until(t, "the start is under way", func() bool {
			return recorded(p.paths.Task(core.TaskID{Workload: "starting", Index: r*n + 2 + r*5}), taskdir.AssignmentRecord)
		})
		killSupervisor(t, p)
		if err := <-done; err != nil {
			t.Fatalf("Start over the death of the supervisor: %v", err)
		}
	}
	seen, err := p.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states := map[core.TaskState]int{}
	for _, o := range seen {
		if o.ID.Workload == "starting" {
			states[o.State]++
		}
	}
	t.Logf("states: %v", states)
	if states[core.TaskRunning]+states[core.TaskLost] != rounds*n {
		t.Errorf("states %v, want %d running or lost in all", states, rounds*n)
	}
	for i := range rounds * n {
		id := core.TaskID{Workload: "starting", Index: i}
		if observe(t, p, id).State == core.TaskRunning {
			until(t, id.String()+" has begun", func() bool { return taskdir.Exists(filepath.Join(dir, strconv.Itoa(i))) })
		}
		if ran, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i))); err == nil && string(ran) != "x\n" {
			t.Errorf("%s ran %d times", id, len(ran)/2)
		}
	}
}

// TestGroupWithoutARecordIsRemoved: a supervisor that dies between making a task's
// group and its record leaves a group that nothing tells of.
func TestGroupWithoutARecordIsRemoved(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("known", 0, "sleep 1000")
	a.Memory = 64 << 20
	start(t, p, a)
	var rec taskdir.Assigned
	if known, err := taskdir.Read(p.paths.Task(a.ID), taskdir.AssignmentRecord, &rec); err != nil || !known {
		t.Fatalf("the record of a task: %v, %v", known, err)
	}
	made := slices.DeleteFunc([]string{rec.Group.V2, rec.Group.Memory}, func(dir string) bool { return dir == "" })
	if len(made) == 0 {
		t.Skip("no control groups can be made here: run this as root, or in a session of systemd that delegates them")
	}
	half := core.TaskID{Workload: "half"}
	for i, dir := range made {
		made[i] = filepath.Join(filepath.Dir(dir), taskdir.Name(half))
	}
	for _, dir := range append(slices.Clone(made), p.paths.Task(half)) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	killSupervisor(t, p)
	if o := observe(t, p, a.ID); o.State != core.TaskRunning {
		t.Errorf("the task is %+v after the supervisor's death, want running", o)
	}
	for _, dir := range append(made, p.paths.Task(half)) {
		if taskdir.Exists(dir) {
			_ = os.Remove(dir)
			t.Errorf("%s is still there", dir)
		}
	}
}

func TestServerAndSupervisorKilled(t *testing.T) {
	dir := t.TempDir()
	killedServer(t, dir, "both", 2, `echo up; if [ "${MUSTER_TASK_ID##*/}" = 0 ]; then exec sleep 1000; fi; sleep 0.3; exit 4`)
	p := open(t, Options{Dir: dir})
	killSupervisor(t, p)
	time.Sleep(400 * time.Millisecond) // one ends meanwhile, or does a little later
	if o := observe(t, p, core.TaskID{Workload: "both"}); o.State != core.TaskRunning {
		t.Errorf("%+v, want running", o)
	}
	o := end(t, p, core.TaskID{Workload: "both", Index: 1})
	if o.State != core.TaskLost || o.Reason != "OutcomeUnknown" {
		wantCode(t, o, 4)
	}
	// What was taken over can be stopped, with all its tree.
	if err := p.Stop(t.Context(), []core.TaskID{{Workload: "both"}}, backendtest.Within); err != nil {
		t.Fatal(err)
	}
	wantForeignCode(t, end(t, p, core.TaskID{Workload: "both"}), 143)
}

func TestStopSurvivesTheSupervisor(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("stop", 0, `trap '' TERM; echo up; while :; do sleep 1000; done`)
	start(t, p, a)
	until(t, "it is up", func() bool { return outputOf(t, p, a.ID) == "up\n" })
	if err := p.Stop(t.Context(), []core.TaskID{a.ID}, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	killSupervisor(t, p)
	wantForeignCode(t, end(t, p, a.ID), 137)
}

func TestAdoptedTreeIsKilled(t *testing.T) {
	for name, o := range map[string]Options{
		"with groups":    {},
		"without groups": {Exe: []string{"/proc/self/exe", SupervisorArg, noGroups}},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, o)
			a := shellTask("tree", 0, `( setsid sh -c 'echo $$; exec sleep 1000' & ); sleep 1000`)
			start(t, p, a)
			until(t, "the child is up", func() bool { return strings.HasSuffix(outputOf(t, p, a.ID), "\n") })
			child, err := strconv.Atoi(strings.TrimSpace(outputOf(t, p, a.ID)))
			if err != nil {
				t.Fatal(err)
			}
			s, err := proc.ReadStat(child)
			if err != nil {
				t.Fatal(err)
			}
			killSupervisor(t, p)
			if err := p.Stop(t.Context(), []core.TaskID{a.ID}, 0); err != nil {
				t.Fatal(err)
			}
			end(t, p, a.ID)
			if proc.Alive(child, s.Start) {
				t.Errorf("pid %d outlived the task it belongs to", child)
			}
		})
	}
}

// TestWatchSurvivesTheSupervisor expects a watch to bring a new supervisor by itself.
func TestWatchSurvivesTheSupervisor(t *testing.T) {
	p := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan backend.Observation, 10_000)
	go func() {
		_ = p.Watch(ctx, func(all []backend.Observation) {
			for _, o := range all {
				seen <- o
			}
		})
	}()
	await := func(state core.TaskState) {
		t.Helper()
		for late := time.After(backendtest.Within); ; {
			select {
			case o := <-seen:
				if o.State == state {
					return
				}
			case <-late:
				t.Fatalf("the watch does not tell of a task that is %s", state)
			}
		}
	}
	a := shellTask("watch", 0, `while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done`)
	start(t, p, a)
	await(core.TaskRunning)
	killSupervisor(t, p)
	await(core.TaskRunning)
	letGo(t, p, a.ID)
	if remembers() {
		await(core.TaskSucceeded)
	}
}

func TestRebootLosesTasks(t *testing.T) {
	p := open(t, Options{})
	a, b := shellTask("boot", 0, "sleep 1000"), shellTask("boot", 1, "exit 2")
	start(t, p, a, b)
	end(t, p, b.ID)
	killSupervisor(t, p)
	var rec taskdir.Assigned
	if ok, err := taskdir.Read(p.paths.Task(a.ID), taskdir.AssignmentRecord, &rec); !ok || err != nil {
		t.Fatal(ok, err)
	}
	rec.Boot = "another boot"
	if err := taskdir.Write(p.paths.Task(a.ID), taskdir.AssignmentRecord, rec); err != nil {
		t.Fatal(err)
	}
	if o := end(t, p, a.ID); o.State != core.TaskLost || o.Reason != "NodeLost" {
		t.Errorf("after a reboot: %+v, want lost, NodeLost", o)
	}
	wantCode(t, end(t, p, b.ID), 2)
	if out := outputOf(t, p, a.ID); !strings.Contains(out, "[muster] the machine was restarted") {
		t.Errorf("the log %q does not tell of the restart", out)
	}
}

// recorded reports whether a task has got as far as that record.
func recorded(dir, name string) bool {
	var any json.RawMessage
	ok, err := taskdir.Read(dir, name, &any)
	return ok && err == nil
}
