//go:build linux

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/protocol"
)

// streams are both ends of what a command is connected to.
type streams struct {
	child [3]int // closed once it runs
	ours  []int  // the caller's: a terminal, or what of stdin, stdout, stderr there is, in this order
}

func (s *streams) close() {
	protocol.CloseAll(s.child[:])
	protocol.CloseAll(s.ours)
}

// openStreams makes them. The descriptors of child are all different, so that
// each can be closed.
func openStreams(e *protocol.Exec) (s streams, err error) {
	s.child = [3]int{-1, -1, -1}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if e.TTY {
		master, slave, err := openTerminal()
		if err != nil {
			return s, err
		}
		s.ours, s.child[0] = []int{master}, slave
		for i := 1; i < 3; i++ {
			if s.child[i], err = unix.FcntlInt(uintptr(slave), unix.F_DUPFD_CLOEXEC, 0); err != nil {
				return s, err
			}
		}
		return s, nil
	}
	pipe := func(child, ours, at int) error {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		s.child[at], s.ours = p[child], append(s.ours, p[ours])
		return nil
	}
	if e.Stdin {
		err = pipe(0, 1, 0)
	} else {
		s.child[0], err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		err = pipe(1, 0, 1)
	}
	if err == nil && e.Stderr {
		err = pipe(1, 0, 2)
	} else if err == nil {
		s.child[2], err = unix.FcntlInt(uintptr(s.child[1]), unix.F_DUPFD_CLOEXEC, 0)
	}
	return s, err
}

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
	if err := makeFIFO(&nothing, path, a.UID, a.GID); err != nil {
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

func (in inputs) closeTaskEnds() { protocol.CloseAll([]int{in.stdin, in.slave}) }
