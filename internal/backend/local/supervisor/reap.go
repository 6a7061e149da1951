//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/spare"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// reapLoop reaps main processes and the orphans that fall to us.
func (k *supervisor) reapLoop(children <-chan os.Signal) {
	for {
		k.reapAll()
		<-children
	}
}

func (k *supervisor) reapAll() {
	for {
		pid, status, ok := peekZombie()
		if !ok {
			return
		}
		t, known := k.child(pid, status)
		if !known {
			// An orphan, or a child that is not in the table yet: wait for
			// the forks under way, then look again.
			k.forking.Lock()
			t, known = k.child(pid, status)
			k.forking.Unlock()
		}
		if !known {
			k.stray(pid, status)
		}
		if t != nil {
			t.reaped(status) // before reaping: a crash between must find one or the other
		}
		var none unix.Siginfo
		for errors.Is(unix.Waitid(unix.P_PID, pid, &none, unix.WEXITED|unix.WNOHANG, nil), unix.EINTR) {
		}
		if t != nil {
			k.mu.Lock()
			delete(k.pids, pid)
			k.mu.Unlock()
		}
	}
}

// reaped takes note of the end of a main process and has the rest done.
func (t *task) reaped(status unix.WaitStatus) {
	k := t.supervisor
	k.mu.Lock()
	asked, mild := !t.deadline.IsZero(), t.mild
	k.mu.Unlock()
	if mild && status.Signaled() && status.Signal() == unix.SIGKILL {
		status = unix.WaitStatus(unix.SIGTERM) // see terminate
	}
	obs := outcome(t, status, asked)
	t.recordExit(obs)
}

// recordExit records the outcome and ends the task in the background.
func (t *task) recordExit(obs backend.Observation) {
	k := t.supervisor
	obs.Image = t.image()
	if err := taskdir.Write(t.dir, taskdir.ExitRecord, obs); err != nil {
		k.log.Error("cannot record the end", "task", t.id, "err", err)
	}
	done := t.stage() == ""
	k.mu.Lock()
	if len(t.a.Init) > 0 && done {
		t.catchUp(obs.At)
	}
	t.exited = true
	if t.alarm != nil {
		t.alarm.Stop()
	}
	k.mu.Unlock()
	go t.finish(obs)
}

// outcome is what a wait status means.
func outcome(t *task, status unix.WaitStatus, asked bool) backend.Observation {
	obs := backend.Observation{ID: t.id, State: core.TaskFailed, At: time.Now(), Reason: string(lifecycle.ReasonError)}
	code := status.ExitStatus()
	if status.Signaled() {
		obs.Signal = int(status.Signal())
		code = 128 + obs.Signal
		obs.Message = fmt.Sprintf("ended by signal %d (%s)", obs.Signal, unix.SignalName(status.Signal()))
		if !asked {
			obs.Reason = string(lifecycle.ReasonKilled)
		}
	}
	obs.ExitCode = &code
	switch {
	case code == 0:
		obs.State, obs.Reason = core.TaskSucceeded, ""
	case status.Signaled():
	case t.stepFailed(code) != "":
		obs.Message = t.stepFailed(code)
	case preludeFailed(t.private):
		obs.Message = preludeMessage(code)
	}
	switch {
	case t.limited && code != 0 && t.group.OOMKilled():
		obs.Reason = string(lifecycle.ReasonOutOfMemory)
		obs.Message = "the memory limit was reached; raise memory, or let the program use less"
	}
	return obs
}

// finish ends what the main process left, completes the log and tells.
// Followers of the log take the end of the FIFO for the end of the output.
func (t *task) finish(obs backend.Observation) {
	k := t.supervisor
	t.killTree()
	t.closeInput()
	remark := ""
	switch {
	case obs.State == core.TaskLost:
		remark = obs.Message
	case t.cut:
		remark = "nobody read its output when the task ended; the end of it may be missing"
	}
	if t.out != nil {
		t.out.finish(remark)
	} else if remark != "" {
		t.remark(remark)
	}
	t.clearPrivate()
	t.discardContainer()
	if err := t.spares().Keep(spare.FIFO, filepath.Join(t.dir, taskdir.FifoFile)); err != nil {
		k.log.Error("cannot remove the FIFO", "task", t.id, "err", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t.obs, t.ended, t.out = obs, true, nil
	k.publish(obs)
	if k.orphaned {
		k.checkIdle()
	}
}

// remark puts a line into the log of a task from which nothing is read.
func (t *task) remark(text string) {
	k := t.supervisor
	log, err := logfile.Append(k.paths.Log(t.id), k.paths.Out().Index(t.id), nil)
	if err != nil {
		k.log.Warn("cannot say in the log what may be missing", "task", t.id, "err", err)
		return
	}
	log.Close(text)
}
