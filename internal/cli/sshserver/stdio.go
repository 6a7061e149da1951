package sshserver

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Stdio is a connection made of two streams, as a ProxyCommand has them.
type Stdio struct {
	In   io.Reader
	Out  io.Writer
	once sync.Once
	over chan struct{}
	data chan []byte
	left []byte
}

// NewStdio returns the connection. Closing it ends reads, though the stream
// below may still wait for its next byte.
func NewStdio(in io.Reader, out io.Writer) *Stdio {
	c := &Stdio{In: in, Out: out, over: make(chan struct{}), data: make(chan []byte)}
	go func() {
		defer close(c.data)
		for {
			buf := make([]byte, 32<<10)
			n, err := in.Read(buf)
			if n > 0 {
				select {
				case c.data <- buf[:n]:
				case <-c.over:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// Read implements net.Conn.
func (c *Stdio) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		select {
		case b, ok := <-c.data:
			if !ok {
				return 0, io.EOF
			}
			c.left = b
		case <-c.over:
			return 0, net.ErrClosed
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// Write implements net.Conn.
func (c *Stdio) Write(p []byte) (int, error) {
	select {
	case <-c.over:
		return 0, net.ErrClosed
	default:
		return c.Out.Write(p)
	}
}

// Close implements net.Conn.
func (c *Stdio) Close() error {
	c.once.Do(func() { close(c.over) })
	return nil
}

type address struct{}

func (address) Network() string { return "stdio" }
func (address) String() string  { return "stdio" }

// LocalAddr implements net.Conn.
func (c *Stdio) LocalAddr() net.Addr { return address{} }

// RemoteAddr implements net.Conn.
func (c *Stdio) RemoteAddr() net.Addr { return address{} }

// SetDeadline implements net.Conn: there are none.
func (c *Stdio) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline implements net.Conn: there are none.
func (c *Stdio) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline implements net.Conn: there are none.
func (c *Stdio) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
