//go:build linux

package local

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

func TestTwoBackendsShareADirectory(t *testing.T) {
	dir := t.TempDir()
	p, q := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	start(t, p, shellTask("p", 0, "exit 1"))
	start(t, q, shellTask("q", 0, "exit 2"), shellTask("p", 0, "exit 3"))
	for _, x := range []*Backend{p, q} {
		wantCode(t, end(t, x, core.TaskID{Workload: "p"}), 1)
		wantCode(t, end(t, x, core.TaskID{Workload: "q"}), 2)
	}
	_ = p.Close() // the supervisor stays as long as one of them is connected
	_ = q.Close()
}

func TestLongDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-name-", 15), strings.Repeat("[more]", 20))
	p := open(t, Options{Dir: dir})
	a := shellTask("long", 0, `echo hi; while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; exit 5`)
	start(t, p, a)
	until(t, "it is up", func() bool { return outputOf(t, p, a.ID) == "hi\n" })
	killSupervisor(t, p)
	observe(t, p, a.ID) // by the next supervisor: what ends before it is there may miss output, and says so
	letGo(t, p, a.ID)
	wantForeignCode(t, end(t, p, a.ID), 5)
	if got := outputOf(t, p, a.ID); got != "hi\n" {
		t.Errorf("output %q", got)
	}
}

func TestSupervisorLeavesWhenIdle(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("idle", 0, "true")
	start(t, p, a)
	end(t, p, a.ID)
	pid := supervisorPID(t, p)
	q := reopen(t, p) // nobody is connected, but a task is not forgotten
	if end(t, q, a.ID); supervisorPID(t, q) != pid {
		t.Errorf("the supervisor left with a task that was not forgotten")
	}
	if err := q.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "the supervisor has left", func() bool { return !locked(p.paths) })
	if taskdir.Exists(p.paths.Socket()) {
		t.Error("its socket is still there")
	}
	left, err := os.ReadDir(p.paths.Tasks())
	if err != nil || len(left) > 0 {
		t.Errorf("records of a forgotten task: %v, %v", left, err)
	}
}

func TestNoSupervisorWithoutTasks(t *testing.T) {
	p := open(t, Options{})
	if _, err := p.Observe(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Stop(t.Context(), []core.TaskID{{Workload: "w"}}, 0); err != nil {
		t.Error(err)
	}
	if err := p.Forget(t.Context(), []core.TaskID{{Workload: "w"}}); err != nil {
		t.Error(err)
	}
	if taskdir.Exists(p.paths.Lock()) {
		t.Error("a supervisor was started for nothing")
	}
}

func TestSupervisorLeavesWithItsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p, err := Open(Options{Dir: dir, LogDir: t.TempDir(), Linger: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	a := shellTask("orphan", 0, `while [ -e "$MUSTER_TASK_DIR" ]; do sleep 0.01; done`)
	start(t, p, a, shellTask("orphan", 1, "true"))
	end(t, p, core.TaskID{Workload: "orphan", Index: 1})
	pid := supervisorPID(t, p)
	s, err := proc.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	until(t, "the supervisor has left", func() bool { return !proc.Alive(pid, s.Start) })
}

func TestRetireWithClients(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("retire", 0, "true")
	start(t, p, a)
	end(t, p, a.ID)
	if err := p.Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	until(t, "the supervisor has left though we are connected", func() bool { return !locked(p.paths) })
	start(t, p, a) // and another one comes when needed
	wantCode(t, end(t, p, a.ID), 0)
}

func TestSupervisorReplacesItself(t *testing.T) {
	p := open(t, Options{})
	a, b := shellTask("replace", 0, counting), shellTask("replace", 1, "exit 2")
	start(t, p, a, b)
	end(t, p, b.ID)
	pid := supervisorPID(t, p)
	for range 3 {
		c, err := p.connect(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.modernize(t.Context(), c); !errors.Is(err, errBroken) {
			t.Fatalf("replace: %v", err)
		}
		until(t, "the new program serves", func() bool { return observe(t, p, a.ID).State == core.TaskRunning })
	}
	if now := supervisorPID(t, p); now != pid {
		t.Errorf("the supervisor has pid %d, want %d: it was to become another program in place", now, pid)
	}
	letGo(t, p, a.ID)
	wantCode(t, end(t, p, a.ID), 8) // on every kernel: the task is its child still
	wantCode(t, end(t, p, b.ID), 2)
	wantCounting(t, outputOf(t, p, a.ID))
}

func TestSupervisorThatCannotStart(t *testing.T) {
	for name, c := range map[string]struct {
		exe  []string
		says string
	}{
		"not there":   {[]string{"/no/such/supervisor"}, "/no/such/supervisor"},
		"not one":     {[]string{"/bin/true"}, "supervisor.Main"},
		"wrong flags": {[]string{"/proc/self/exe", SupervisorArg, "--nonsense"}, "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Open(Options{Dir: t.TempDir(), Exe: c.exe})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Close() }()
			err = p.Start(t.Context(), []backend.Assignment{shellTask("w", 0, "true")})
			if !errors.Is(err, backend.ErrUnreachable) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Start: %v; want ErrUnreachable that says %q", err, c.says)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"Dir":        {},
		"FakeGPUs":   {Dir: t.TempDir(), FakeGPUs: -1},
		"LogReserve": {Dir: t.TempDir(), LogReserve: -5},
	} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want an error that names %s", o, err, name)
		}
	}
	t.Setenv(protocol.SupervisorEnv, "1")
	if _, err := Open(Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "supervisor.Main") {
		t.Errorf("Open in a process that should be a supervisor: %v", err)
	}
}

func TestBadIDsAreRefused(t *testing.T) {
	p := open(t, Options{})
	for _, w := range []core.WorkloadID{"", "../up", "a/b", ".hidden", "a\nb"} {
		err := p.Start(t.Context(), []backend.Assignment{{ID: core.TaskID{Workload: w}, Argv: []string{"true"}}})
		if err == nil || !strings.Contains(err.Error(), "workload id") {
			t.Errorf("Start of workload %q: %v", w, err)
		}
		if err := p.DeleteLogs(t.Context(), w); err == nil {
			t.Errorf("DeleteLogs of workload %q succeeded", w)
		}
	}
}

func TestRunAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this takes root: only root can run tasks as another user")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	p := open(t, Options{Dir: dir})
	uid := uint32(65534)
	for i, mode := range []os.FileMode{0o755, 0o700} { // nobody else gets to the second's files
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		a := shellTask("user", i, `id -u; id -G; cat "$SECRET"; echo reopened > /dev/stdout`)
		a.UID = &uid
		a.Files = []backend.File{{Name: "s", EnvVar: "SECRET", Data: []byte("its own\n")}}
		a.Init = []backend.Init{sh("echo a step of $(id -u)", 0)}
		start(t, p, a)
		o := end(t, p, a.ID)
		if got, want := outputOf(t, p, a.ID), "a step of 65534\n65534\n65534\nits own\nreopened\n"; got != want {
			t.Errorf("below a directory of mode %04o: output %q, want %q (%+v)", mode, got, want, o)
		}
	}
}

// A server without root refuses what asks for another user, once and for all:
// asking again would not help.
func TestRunAsAnotherUserTakesRoot(t *testing.T) {
	const nobody = 65534
	if os.Getuid() == 0 {
		dir := t.TempDir()
		self := filepath.Join(dir, "test")
		b, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{os.WriteFile(self, b, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		again := exec.Command(self, "-test.run", "^TestRunAsAnotherUserTakesRoot$", "-test.v")
		again.Dir, again.Env = "/", append(os.Environ(), "TMPDIR="+dir)
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("as another user: %v\n%s", err, out)
		}
		return
	}
	p := open(t, Options{})
	uid := uint32(12345)
	a := shellTask("user", 0, "true")
	a.UID = &uid
	a.Files = []backend.File{{Name: "s", Data: []byte("its own\n")}}
	start(t, p, a)
	if o := end(t, p, a.ID); o.State != core.TaskFailed || o.Reason != string(lifecycle.ReasonContainerCannot) || !strings.Contains(o.Message, "run the server as root") {
		t.Errorf("it ended as %+v", o)
	}
}

func TestOutputIndex(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("index", 0, `echo one; while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; echo two`)
	begun := time.Now()
	start(t, p, a)
	until(t, "one is in the log", func() bool { return outputOf(t, p, a.ID) == "one\n" })
	time.Sleep(450 * time.Millisecond)
	letGo(t, p, a.ID)
	end(t, p, a.ID)
	data, err := os.ReadFile(p.paths.Out().Index(a.ID))
	if err != nil || len(data) != 2*logfile.IndexRecord {
		t.Fatalf("the index has %d bytes (%v), want two records", len(data), err)
	}
	ms := func(i int) int64 { return int64(binary.LittleEndian.Uint64(data[i*logfile.IndexRecord:])) }
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(data[i*logfile.IndexRecord+8:])) }
	if at(0) != 0 || at(1) != int64(len("one\n")) {
		t.Errorf("offsets %d and %d, want 0 and 4", at(0), at(1))
	}
	if ms(0) < begun.UnixMilli() || ms(1)-ms(0) < 400 {
		t.Errorf("times %d and %d do not fit a start at %d and half a second between", ms(0), ms(1), begun.UnixMilli())
	}
}

// TestOutsiderWithThePipe: somebody outside the tree who got hold of the
// output delays the end, but not for ever.
func TestOutsiderWithThePipe(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("outsider", 0, `while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; echo done`)
	start(t, p, a)
	f, err := os.OpenFile(filepath.Join(p.paths.Task(a.ID), taskdir.FifoFile), os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	letGo(t, p, a.ID)
	wantCode(t, end(t, p, a.ID), 0)
	if got := outputOf(t, p, a.ID); got != "done\n" {
		t.Errorf("output %q, want %q", got, "done\n")
	}
}

func TestOutputClosedEarly(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("quiet", 0, `echo first; exec >&- 2>&-; sleep 0.2; exit 4`)
	start(t, p, a)
	wantCode(t, end(t, p, a.ID), 4)
	if got := outputOf(t, p, a.ID); got != "first\n" {
		t.Errorf("output %q, want %q", got, "first\n")
	}
}

func TestManyFollowers(t *testing.T) {
	p := open(t, Options{})
	a := shellTask("followed", 0, `echo up; while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; echo down`)
	start(t, p, a)
	const n = 300 // more than inotify instances a user may have
	got := make(chan string, n)
	for range n {
		r, err := p.Logs(t.Context(), a.ID, backend.LogOptions{Follow: true, Tail: -1})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			data, err := io.ReadAll(r)
			_ = r.Close()
			if err != nil {
				got <- err.Error()
				return
			}
			got <- string(data)
		}()
	}
	letGo(t, p, a.ID)
	late := time.After(backendtest.Within)
	for range n {
		select {
		case g := <-got:
			if g != "up\ndown\n" {
				t.Fatalf("a follower read %q", g)
			}
		case <-late:
			t.Fatal("a follower does not come to its end")
		}
	}
}
