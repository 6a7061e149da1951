package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// firstSocket is the first descriptor that is handed over, SD_LISTEN_FDS_START of
// sd_listen_fds(3).
const firstSocket = 3

// Handed is what systemd has given to this process.
type Handed struct {
	Listeners []net.Listener // sockets on which it listens already
	notify    string         // where it wants to be told, NOTIFY_SOCKET of sd_notify(3)
}

// Take takes what systemd has given to this process, and out of the environment,
// so that nothing that is started takes it for its own. Without systemd there is
// nothing.
func Take() (Handed, error) {
	h := Handed{notify: os.Getenv("NOTIFY_SOCKET")}
	pid, n := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	count, err := strconv.Atoi(n)
	if err != nil || pid != strconv.Itoa(os.Getpid()) {
		return h, nil //nolint:nilerr // nothing was handed over
	}
	for fd := firstSocket; fd < firstSocket+count; fd++ {
		f := os.NewFile(uintptr(fd), "socket of systemd")
		l, err := net.FileListener(f)
		_ = f.Close() // the listener has one of its own
		if err != nil {
			return h, fmt.Errorf("socket %d of systemd: %w", fd-firstSocket, err)
		}
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false) // systemd goes on listening there
		}
		h.Listeners = append(h.Listeners, l)
	}
	return h, nil
}

// Notify tells systemd how this process is: READY=1, STOPPING=1. Without systemd it
// does nothing.
func (h Handed) Notify(state string) error {
	if h.notify == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: h.notify, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("systemd cannot be told: %w", err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("systemd cannot be told: %w", err)
	}
	return nil
}
