//go:build linux

package protocol

import (
	"net"

	"github.com/musterhq/muster/internal/backend"
	"golang.org/x/sys/unix"
)

// Receive reads one message with its descriptors; n is its length.
func Receive(conn *net.UnixConn, b []byte) (fds []int, n int, err error) {
	oob := make([]byte, unix.CmsgSpace(8*4))
	n, oobn, _, _, err := conn.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, 0, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, n, err
	}
	for _, m := range messages {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds, n, nil
}

// CloseAll closes descriptors; a negative one stands for none.
func CloseAll(fds []int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// Resize tells a terminal its size.
func Resize(fd int, s backend.Size) {
	_ = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Columns})
}
