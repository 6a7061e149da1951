//go:build linux

package supervisor

import (
	"os"

	"golang.org/x/sys/unix"

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
