//go:build linux

package local

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
)

const missingEnd = "[muster] nobody read its output when the task ended; the end of it may be missing\n"

// keepZombies has the orphans of supervisors fall to this process, which leaves them
// as they are until the test is over: a machine whose first process is slow to
// reap.
func keepZombies(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skipf("the kernel does not let this process take in orphans (PR_SET_CHILD_SUBREAPER; Linux 3.4 and no seccomp filter against it): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
			t.Error(err)
		}
	})
}

// pidOf is the pid of a task that runs.
func pidOf(t *testing.T, p *Backend, id core.TaskID) int {
	t.Helper()
	var st taskdir.Forked
	if known, err := taskdir.Read(p.paths.Task(id), taskdir.StateRecord, &st); !known {
		t.Fatal("no process is on record", err)
	}
	return st.PID
}

// endUnseen has a task end, with more output, while no supervisor runs. Its process
// stays as a zombie.
func endUnseen(t *testing.T, p *Backend, id core.TaskID) {
	t.Helper()
	pid := pidOf(t, p, id)
	killSupervisor(t, p)
	letGo(t, p, id)
	until(t, "its process is a zombie", func() bool { s, err := proc.ReadStat(pid); return err == nil && s.State == 'Z' })
	t.Cleanup(func() { _, _ = unix.Wait4(pid, nil, 0, nil) })
}

// TestLogSaysThatItsEndIsMissing: a task whose exit code is learnt from its
// zombie has lost what nobody took out of its pipe.
func TestLogSaysThatItsEndIsMissing(t *testing.T) {
	keepZombies(t)
	for _, tty := range []bool{false, true} {
		t.Run("tty="+strconv.FormatBool(tty), func(t *testing.T) {
			p := open(t, Options{})
			a := shellTask("missing", 0, `echo first; while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; seq 1 1000; exit 3`)
			a.TTY = tty
			start(t, p, a)
			until(t, "its first line is there", func() bool { return strings.HasPrefix(outputOf(t, p, a.ID), "first") })
			if tty { // who holds the terminal would keep what is in it
				var h taskdir.Forked
				if known, err := taskdir.Read(p.paths.Task(a.ID), taskdir.HolderRecord, &h); !known {
					t.Fatal("nobody holds the terminal", err)
				}
				proc.Kill(h.PID, unix.SIGKILL)
			}
			endUnseen(t, p, a.ID)
			o := end(t, p, a.ID)
			if !tty { // a terminal that is gone ends the task with SIGHUP
				wantCode(t, o, 3)
			}
			if out := outputOf(t, p, a.ID); !strings.HasSuffix(out, missingEnd) {
				t.Errorf("exit code %v is known, and the log %q does not say that its end may be missing", o.ExitCode, out)
			}
		})
	}
}

// TestLogSaysThatItsEndIsMissingAfterItsRecord: a supervisor that died between the
// record of the end and the last of the output.
func TestLogSaysThatItsEndIsMissingAfterItsRecord(t *testing.T) {
	keepZombies(t)
	p := open(t, Options{})
	a := shellTask("recorded", 0, `while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; seq 1 1000`)
	start(t, p, a)
	until(t, "it runs", func() bool { return observe(t, p, a.ID).State == core.TaskRunning })
	endUnseen(t, p, a.ID)
	code := 0
	if err := taskdir.Write(p.paths.Task(a.ID), taskdir.ExitRecord, backend.Observation{ID: a.ID, State: core.TaskSucceeded, ExitCode: &code, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, end(t, p, a.ID), 0)
	if out := outputOf(t, p, a.ID); !strings.HasSuffix(out, missingEnd) {
		t.Errorf("the log %q does not say that its end may be missing", out)
	}
}

// TestLogIsNotSaidToMissAnything: what is still in the pipe is not lost, and
// nobody is told so.
func TestLogIsNotSaidToMissAnything(t *testing.T) {
	keepZombies(t)
	p := open(t, Options{})
	// Its own end is unseen, and a child of it keeps the pipe.
	a := shellTask("whole", 0, `(while [ ! -e "$MUSTER_TASK_DIR/seen" ]; do sleep 0.01; done) & while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; echo last`)
	b := shellTask("whole", 1, `while [ ! -e "$MUSTER_TASK_DIR/go" ]; do sleep 0.01; done; echo last`)
	start(t, p, a, b)
	until(t, "both run", func() bool {
		return observe(t, p, a.ID).State == core.TaskRunning && observe(t, p, b.ID).State == core.TaskRunning
	})
	endUnseen(t, p, a.ID)
	observe(t, p, a.ID) // with it a supervisor comes
	touch(t, filepath.Join(p.paths.Task(a.ID), "seen"))
	letGo(t, p, b.ID)
	wantCode(t, end(t, p, a.ID), 0)
	wantForeignCode(t, end(t, p, b.ID), 0)
	for _, x := range []backend.Assignment{a, b} {
		if out := outputOf(t, p, x.ID); out != "last\n" {
			t.Errorf("%s: output %q, want %q", x.ID, out, "last\n")
		}
	}
}
