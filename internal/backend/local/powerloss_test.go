//go:build linux

package local

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/testdisk"
)

// inBoot is how a supervisor is started that believes the machine to be in a run of
// that name.
func inBoot(name string) []string { return []string{"/proc/self/exe", SupervisorArg, "--boot", name} }

// restartInBoot goes on as after a restart of the machine.
func restartInBoot(t *testing.T, p *Backend, name string) *Backend {
	t.Helper()
	p.opts.Exe = inBoot(name)
	return reopen(t, p)
}

// TestStartsAreKnownAfterAPowerLoss: whatever ran when the power went is known
// afterwards, so that it is neither forgotten nor started under the same name
// again.
func TestStartsAreKnownAfterAPowerLoss(t *testing.T) {
	disk := testdisk.Frail(t, 64)
	p := open(t, Options{Dir: filepath.Join(disk.Dir, "data"), LogDir: filepath.Join(t.TempDir(), "logs"), Exe: inBoot("one")})
	var tasks []backend.Assignment
	for i := range 20 {
		tasks = append(tasks, shellTask("power", i, "exec sleep 1000"))
	}
	start(t, p, tasks...)
	pids := map[core.TaskID]int{}
	for _, a := range tasks {
		pids[a.ID] = pidOf(t, p, a.ID)
	}
	_ = p.Close()
	killSupervisor(t, p)
	for _, pid := range pids {
		proc.Kill(pid, unix.SIGKILL)
	}
	if err := errors.Join(disk.Cut(), disk.Unmount(), disk.Mount()); err != nil {
		t.Fatal(err)
	}
	q := restartInBoot(t, p, "two")
	for _, a := range tasks {
		if o := end(t, q, a.ID); o.State != core.TaskLost || o.Reason != "NodeLost" {
			t.Errorf("after the power loss: %+v, want lost, NodeLost", o)
		}
	}
}

// killed kills a process and waits until it is out of its control group, which would
// be left behind otherwise.
func killed(t *testing.T, pid int) {
	t.Helper()
	s, err := proc.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	proc.Kill(pid, unix.SIGKILL)
	until(t, "the task's process is dead", func() bool { return !proc.Alive(pid, s.Start) })
}

// TestDamagedRecords: where the machine was restarted, a task without a readable
// record may have run and is not started again. In the same run of the machine
// the page cache is what it was, so it was never forked.
func TestDamagedRecords(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 40) },
		"missing": os.Remove,
		// The file was another task's before, and what was written since is lost.
		"another's": func(path string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.ReplaceAll(data, []byte(`"Workload":"damaged"`), []byte(`"Workload":"another"`)), 0o600)
			}
			return err
		},
		"another's, to its end": func(path string) error {
			return taskdir.Write(filepath.Dir(path), taskdir.AssignmentRecord, taskdir.Assigned{Assignment: shellTask("another", 0, "true")})
		},
	} {
		for _, boot := range []string{"one", "two"} {
			t.Run(name+" in "+boot, func(t *testing.T) {
				p := open(t, Options{Exe: inBoot("one")})
				a := shellTask("damaged", 0, "exec sleep 1000")
				start(t, p, a)
				pid := pidOf(t, p, a.ID)
				_ = p.Close()
				killSupervisor(t, p)
				killed(t, pid)
				if err := damage(filepath.Join(p.paths.Task(a.ID), taskdir.RecordFile)); err != nil {
					t.Fatal(err)
				}
				q := restartInBoot(t, p, boot)
				if boot == "one" {
					if o := observe(t, q, a.ID); o.State != "" {
						t.Errorf("in the same run of the machine: %+v, want nothing", o)
					}
				} else if o := end(t, q, a.ID); o.State != core.TaskLost || o.Reason != "NodeLost" {
					t.Errorf("after a restart of the machine: %+v, want lost, NodeLost", o)
				}
			})
		}
	}
}
