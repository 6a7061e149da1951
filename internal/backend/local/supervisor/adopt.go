//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// noteBoot leaves the name of this run of the machine for the next supervisor, and
// finds out whether the last one was in it.
func (k *supervisor) noteBoot() error {
	path := k.paths.BootFile()
	last, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if k.reboot = string(last) != k.boot; !k.reboot {
		return nil
	}
	return os.WriteFile(path, []byte(k.boot), 0o600)
}

// recover takes over every task that a former supervisor left.
func (k *supervisor) recover() error {
	dirs, err := os.ReadDir(k.paths.Tasks())
	if err != nil {
		return fmt.Errorf("look for tasks of a former supervisor: %w", err)
	}
	for _, dir := range dirs {
		id, err := taskdir.Parse(dir.Name())
		if err != nil {
			k.log.Warn("not a task directory", "name", dir.Name())
			continue
		}
		if err := k.recoverOne(id, k.paths.Task(id)); err != nil {
			return fmt.Errorf("take over task %s: %w", id, err)
		}
	}
	return nil
}

// recoverOne decides from the records how far the task had got.
func (k *supervisor) recoverOne(id core.TaskID, dir string) error {
	var rec taskdir.Assigned
	known, err := taskdir.Read(dir, taskdir.AssignmentRecord, &rec)
	if err != nil {
		known = false // half a record: the process comes after it, so there is none
	}
	if rec.Assignment.ID != id {
		known = false // of the task that had the file before: what was written since is lost
	}
	t := &task{
		supervisor: k, id: id, dir: dir, a: rec.Assignment, container: rec.Container, as: rec.As, input: -1,
		group: rec.Group, limited: rec.Assignment.Memory > 0, adopted: true,
	}
	if t.private = rec.Private; t.private == "" {
		t.private = dir
	}
	t.obs = starting(t, rec.At)
	var end backend.Observation
	ended, err := taskdir.Read(dir, taskdir.ExitRecord, &end)
	if err != nil {
		k.log.Error("the record of an end is damaged", "err", err)
		ended = false
	}
	ended = ended && end.ID == id
	switch {
	case !known && !ended && k.reboot: // a machine that went down may have kept less than it was told to
		k.groups.RemoveUnrecorded(taskdir.Name(id))
		k.addTask(t)
		t.lost(lifecycle.ReasonNodeLost, "the machine was restarted, and what it had on record of the task is gone")
		return nil
	case !known && !ended: // it was never forked and never acknowledged
		k.groups.RemoveUnrecorded(taskdir.Name(id))
		return taskdir.Remove(dir)
	case ended && !taskdir.Exists(filepath.Join(dir, taskdir.FifoFile)):
		t.exited, t.ended, t.obs = true, true, end
		k.addTask(t)
		return nil
	}
	if !t.a.TTY {
		if t.out, err = t.openOutput(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if t.out != nil {
		t.out.begun = rec.Log
	}
	if err := t.regain(); err != nil {
		t.cut = t.a.TTY
		if !ended {
			k.log.Warn("the task's terminal or input cannot be reached any more", "task", id, "err", err)
		}
	}
	k.addTask(t)
	if ended { // killing its tree and draining its output were not complete
		t.exited = true
		t.cut = t.cut || t.out != nil && t.out.fresh
		go t.finish(end)
		return nil
	}
	if rec.Boot != k.boot {
		t.lost(lifecycle.ReasonNodeLost, "the machine was restarted while the task ran")
		return nil
	}
	return t.adopt()
}

// addTask puts a task into the table; others that were taken over before may be
// ending meanwhile.
func (k *supervisor) addTask(t *task) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tasks[t.id] = t
}

// adopt finds the process of a task that was running when the records end.
func (t *task) adopt() error {
	k := t.supervisor
	var st taskdir.Forked
	known, err := taskdir.Read(t.dir, taskdir.StateRecord, &st)
	var stop taskdir.Stopped
	if asked, _ := taskdir.Read(t.dir, taskdir.StopRecord, &stop); asked {
		t.deadline, t.mild = stop.Deadline, stop.Mild
	}
	if t.container != nil && !known {
		go t.adoptContainer()
		return nil
	}
	if err != nil || !known {
		st, known = t.findUnrecorded()
		if !known && t.group.NeverUsed() {
			if !t.undo() { // else the same as if it had never been asked for
				go t.neverBegan()
			}
			return nil
		}
		if !known {
			t.lost(lifecycle.ReasonOutcomeUnknown, "the supervisor died while it was starting the task; it is not started again, since it may have run")
			return nil
		}
		if err := taskdir.Write(t.dir, taskdir.StateRecord, st); err != nil {
			k.log.Warn("cannot record the process", "task", t.id, "pid", st.PID, "err", err)
		}
	}
	t.pid, t.start, t.engine = st.PID, st.Start, st.Engine
	if t.container != nil && !t.deadline.IsZero() && t.waitsForWord() {
		go t.neverBegan()
		return nil
	}
	t.begun(st.At, st.Note)
	s, err := proc.ReadStat(st.PID)
	// One that has the FIFO open keeps what is in it.
	t.cut = t.cut || t.out != nil && t.out.fresh && (err != nil || s.Leaving)
	switch {
	case err != nil || s.Start != st.Start:
		t.lost(lifecycle.ReasonOutcomeUnknown, "the task ended while no supervisor was running, so its exit code is not known; the end of its output may be missing")
		return nil
	case s.Parent == k.pid: // this process was a supervisor before it replaced itself
		t.adopted = false
		k.mu.Lock()
		k.pids[st.PID] = t
		k.mu.Unlock()
	default:
		fd, err := unix.PidfdOpen(st.PID, unix.PIDFD_NONBLOCK)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("pidfd_open %d: %w", st.PID, err)
		}
		if err != nil {
			t.lost(lifecycle.ReasonOutcomeUnknown, "the task ended while it was being taken over")
			return nil
		}
		go t.await(fd)
	}
	if t.container != nil {
		go t.releaseAdopted()
	}
	if !t.deadline.IsZero() {
		go t.enforceStop(true, time.Now())
	}
	return nil
}

func (t *task) lost(why lifecycle.Reason, message string) {
	t.recordExit(backend.Observation{ID: t.id, State: core.TaskLost, Reason: string(why), Message: message, At: time.Now()})
}

// findUnrecorded looks for a process that was forked just before its supervisor
// died: the leader of a session whose environment names the task's directory.
func (t *task) findUnrecorded() (taskdir.Forked, bool) {
	k := t.supervisor
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		for _, p := range k.processes.At(time.Now()) {
			if p.Session == p.PID && p.Dir == t.dir && ownedBy(t.as, p.PID) {
				return taskdir.Forked{PID: p.PID, Start: p.Start, At: time.Now()}, true
			}
		}
		// A child that has not come to its exec yet is in the group, but its
		// environment is still the supervisor's.
		if t.group.V2 == "" || len(t.group.Processes()) == 0 || time.Since(begun) > 5*time.Second {
			return taskdir.Forked{}, false
		}
	}
}

// await waits for the end of a process that is not our child.
func (t *task) await(fd int) {
	k := t.supervisor
	f := os.NewFile(uintptr(fd), "pidfd "+strconv.Itoa(t.pid))
	defer func() { _ = f.Close() }()
	rc, err := f.SyscallConn()
	if err == nil {
		err = rc.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
	}
	if err != nil {
		k.log.Warn("cannot wait for a process by event", "task", t.id, "err", err)
		for proc.Alive(t.pid, t.start) {
			time.Sleep(100 * time.Millisecond)
		}
	}
	if status, ok := proc.ExitStatus(proc.Control(rc), t.pid, t.start); ok {
		t.reaped(status)
		return
	}
	t.lost(lifecycle.ReasonOutcomeUnknown, "the task ended under another supervisor than had started it, and this kernel (before 6.15) does not tell the exit code of such processes")
}
