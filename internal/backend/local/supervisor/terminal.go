//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
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

// openTerminal makes a terminal: the end that the supervisor holds and the task's.
func openTerminal() (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("make a terminal: %w", err)
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err == nil {
		var fd uintptr
		var errno unix.Errno
		fd, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if slave = int(fd); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		_ = unix.Close(master)
		return -1, -1, fmt.Errorf("make a terminal: %w", err)
	}
	return master, slave, nil
}

// openInput makes the FIFO of a standard input: the task's end and ours.
func openInput(dir string, a backend.Assignment) (reading, writing int, err error) {
	path := filepath.Join(dir, inputFile)
	if err := makeFIFO(path, a.UID, a.GID); err != nil {
		return -1, -1, err
	}
	both, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0) // else opening one end waits for the other
	if err != nil {
		return -1, -1, err
	}
	defer func() { _ = unix.Close(both) }()
	if reading, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return -1, -1, err
	}
	if writing, err = unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		_ = unix.Close(reading)
		return -1, -1, err
	}
	return reading, writing, nil
}

// inputs are the descriptors that a task gets besides its FIFO for output.
type inputs struct {
	stdin int // its standard input; -1: /dev/null
	slave int // its terminal; -1: none
	keep  int // what must be held open; -1: nothing
}

// openInputs makes what the assignment asks for. With a box the terminal comes
// from the engine.
func (k *supervisor) openInputs(t *task) (in inputs, err error) {
	in = inputs{-1, -1, -1}
	switch {
	case t.a.TTY && t.container == nil:
		if in.keep, in.slave, err = openTerminal(); err != nil {
			return in, err
		}
		if t.a.UID != nil || t.a.GID != nil {
			c := credential(t.a.UID, t.a.GID)
			_ = unix.Fchown(in.slave, int(c.Uid), int(c.Gid)) // so that it can open /dev/tty's file again
		}
	case t.a.Stdin && !t.a.TTY:
		in.stdin, in.keep, err = openInput(t.dir, t.a)
	}
	return in, err
}

func (in inputs) closeTaskEnds() { protocol.CloseAll([]int{in.stdin, in.slave}) }

// hold keeps fd for the task's life, here and in the task's tree.
func (k *supervisor) hold(t *task, fd int) error {
	if fd < 0 {
		return nil
	}
	k.mu.Lock()
	t.input = fd
	k.mu.Unlock()
	if t.a.TTY {
		if err := k.readTerminal(t, fd); err != nil {
			return err
		}
	}
	pid, err := k.forkHolder(t, fd)
	if err != nil {
		k.log.Warn("nobody holds the task's terminal or input beside this supervisor", "task", t.id, "err", err)
		return nil
	}
	s, _ := proc.ReadStat(pid)
	return taskdir.Write(t.dir, taskdir.HolderRecord, taskdir.Forked{PID: pid, Start: s.Start})
}

func (k *supervisor) forkHolder(t *task, fd int) (int, error) {
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
func (k *supervisor) readTerminal(t *task, fd int) error {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(own, true); err != nil {
		_ = unix.Close(own)
		return err
	}
	out, err := k.startOutput(t, os.NewFile(uintptr(own), "terminal of "+t.id.String()))
	if err != nil {
		return err
	}
	k.mu.Lock()
	t.out = out
	k.mu.Unlock()
	return nil
}

// regain takes back what a former supervisor held open for the task.
func (k *supervisor) regain(t *task) error {
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
		return k.readTerminal(t, got)
	}
	return nil
}

// lendInput returns a descriptor of its own for the task's terminal, or for
// writing to its standard input; -1: it has neither, or its input has ended.
func (k *supervisor) lendInput(t *task) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.input < 0 {
		return -1, nil
	}
	return unix.FcntlInt(uintptr(t.input), unix.F_DUPFD_CLOEXEC, 0)
}

// endInput lets the task read the end of its input once all who write to it
// are gone.
func (k *supervisor) endInput(t *task) {
	if t.a.TTY {
		return
	}
	k.letGo(t)
	var h taskdir.Forked
	if known, _ := taskdir.Read(t.dir, taskdir.HolderRecord, &h); known && proc.Alive(h.PID, h.Start) {
		proc.Kill(h.PID, unix.SIGKILL)
	}
}

// letGo closes what was held for the task.
func (k *supervisor) letGo(t *task) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.input >= 0 {
		_ = unix.Close(t.input)
	}
	t.input = -1
}
