//go:build unix

package terminal

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// notifyResized has c told whenever the terminal has another size.
func notifyResized(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }

// Readable waits until there is something to read in a terminal, for so long.
func Readable(f *os.File, wait time.Duration) (bool, error) {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, int(wait/time.Millisecond))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}
