//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
)

// A task's terminal, and the writing end of a standard input that waits for
// Attach, must be held open by somebody: with the last holder gone the task
// gets SIGHUP, or reads the end of its input. The supervisor holds them, and so
// does a process in the task's own tree that does nothing else: a sleep with
// the descriptor as number 3. When the supervisor dies the next one takes the
// descriptor from there (pidfd_getfd), so that it is as if nothing had
// happened. Only where even that is forbidden (a supervisor without root on a
// machine whose ptrace_scope is not 0) the task's terminal stays, but nobody
// can reach it any more.
const (
	inputFile = "in"
	holderFD  = 3
)

// openInputs makes what the assignment asks for. With a box the terminal comes
// from the engine.
func (t *task) openInputs() (in inputs, err error) {
	in = inputs{-1, -1, -1}
	switch {
	case t.a.TTY && t.container == nil:
		if in.keep, in.slave, err = openTerminal(); err != nil {
			return in, err
		}
		if t.a.UID != nil || t.a.GID != nil {
			c := t.credential()
			_ = unix.Fchown(in.slave, int(c.Uid), int(c.Gid)) // so that it can open /dev/tty's file again
		}
	case t.a.Stdin && !t.a.TTY:
		in.stdin, in.keep, err = openInput(t.dir, t.a)
	}
	return in, err
}

// hold keeps fd for the task's life, here and in the task's tree.
func (t *task) hold(fd int) error {
	k := t.supervisor
	if fd < 0 {
		return nil
	}
	k.mu.Lock()
	t.input = fd
	k.mu.Unlock()
	if t.a.TTY {
		if err := t.readTerminal(fd); err != nil {
			return err
		}
	}
	pid, err := t.forkHolder(fd)
	if err != nil {
		k.log.Warn("nobody holds the task's terminal or input beside this supervisor", "task", t.id, "err", err)
		return nil
	}
	s, _ := proc.ReadStat(pid)
	return taskdir.Write(t.dir, taskdir.HolderRecord, taskdir.Forked{PID: pid, Start: s.Start})
}

func (t *task) forkHolder(fd int) (int, error) {
	k := t.supervisor
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return 0, err
	}
	null := k.null.Fd()
	attr := &syscall.ProcAttr{
		Dir: "/", Env: []string{proc.TaskDirEnv + "=" + t.dir}, Files: []uintptr{null, null, null, uintptr(fd)},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	}
	if t.group.V2 != "" {
		dir, err := unix.Open(t.group.V2, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer func() { _ = unix.Close(dir) }()
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, dir
	}
	// Its end interests nobody: it is reaped like an orphan.
	return syscall.ForkExec(sleep, []string{"sleep", "2147483647"}, attr)
}

// readTerminal has what comes out of a terminal go to the log.
func (t *task) readTerminal(fd int) error {
	k := t.supervisor
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(own, true); err != nil {
		_ = unix.Close(own)
		return err
	}
	out, err := t.startOutput(os.NewFile(uintptr(own), "terminal of "+t.id.String()))
	if err != nil {
		return err
	}
	k.mu.Lock()
	t.out = out
	k.mu.Unlock()
	return nil
}

// regain takes back what a former supervisor held open for the task.
func (t *task) regain() error {
	k := t.supervisor
	if !t.a.TTY && !t.a.Stdin {
		return nil
	}
	var h taskdir.Forked
	if known, err := taskdir.Read(t.dir, taskdir.HolderRecord, &h); !known {
		return err
	}
	if !proc.Alive(h.PID, h.Start) {
		return errors.New("the process that held the task's terminal or input is gone")
	}
	fd, err := unix.PidfdOpen(h.PID, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	got, err := unix.PidfdGetfd(fd, holderFD, 0)
	if err != nil {
		return fmt.Errorf("take the task's terminal or input from pid %d: %w", h.PID, err)
	}
	k.mu.Lock()
	t.input = got
	k.mu.Unlock()
	if t.a.TTY {
		return t.readTerminal(got)
	}
	return nil
}

// lendInput returns a descriptor of its own for the task's terminal, or for
// writing to its standard input; -1: it has neither, or its input has ended.
func (t *task) lendInput() (int, error) {
	k := t.supervisor
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.input < 0 {
		return -1, nil
	}
	return unix.FcntlInt(uintptr(t.input), unix.F_DUPFD_CLOEXEC, 0)
}

// endInput lets the task read the end of its input once all who write to it
// are gone.
func (t *task) endInput() {
	if t.a.TTY {
		return
	}
	t.closeInput()
	var h taskdir.Forked
	if known, _ := taskdir.Read(t.dir, taskdir.HolderRecord, &h); known && proc.Alive(h.PID, h.Start) {
		proc.Kill(h.PID, unix.SIGKILL)
	}
}

// closeInput closes what was held for the task.
func (t *task) closeInput() {
	k := t.supervisor
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.input >= 0 {
		_ = unix.Close(t.input)
	}
	t.input = -1
}
