package access

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// Whoever can reach a listener can open connections, with or without a token, and
// each takes a descriptor. So each listener has a part of what this process may
// have: that of the owner most, that of tasks least, and something is left for
// everything else. Where a listener has its part, the connection that has been
// silent for longest makes room for the next one.

// The parts, in sixteenths of the descriptors.
const (
	partOwner = 6 // the socket of the data directory
	partOpen  = 4 // TCP: whoever can reach it
	partTasks = 2
)

// mostOpen bounds what a part comes to: beyond it memory is the bound.
const mostOpen = 1 << 16

// Bound is a listener with a bound on its connections; tasks is the socket for tasks.
func Bound(l net.Listener, tasks string) net.Listener {
	part := uint64(partOpen)
	if l.Addr().Network() == "unix" {
		if part = partOwner; l.Addr().String() == tasks {
			part = partTasks
		}
	}
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return l
	}
	return newBound(l, int(min(max(uint64(r.Cur)*part/16, 4), mostOpen)))
}

// bound is a listener with so many connections at most.
type bound struct {
	net.Listener
	most int

	mu     sync.Mutex
	room   sync.Cond // a connection has gone, or has become silent
	open   int
	silent list.List // of *boundConn, by how long
	over   bool
}

func newBound(l net.Listener, most int) *bound {
	b := &bound{Listener: l, most: most}
	b.room.L = &b.mu
	return b
}

// Accept implements net.Listener.
func (b *bound) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.open >= b.most && !b.over {
		first := b.silent.Front()
		if first == nil {
			b.room.Wait()
			continue
		}
		c := first.Value.(*boundConn)
		b.left(c)
		_ = c.Conn.Close()
	}
	if b.over {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	b.open++
	c := &boundConn{Conn: conn, of: b}
	return c, nil
}

// Close implements net.Listener.
func (b *bound) Close() error {
	b.mu.Lock()
	b.over = true
	b.room.Broadcast()
	b.mu.Unlock()
	return b.Listener.Close()
}

// left takes a connection out of the count, once. The caller holds the lock.
func (b *bound) left(c *boundConn) {
	if c.gone {
		return
	}
	c.gone = true
	b.open--
	b.speaks(c)
	b.room.Signal()
}

// speaks notes that a connection is not silent. The caller holds the lock.
func (b *bound) speaks(c *boundConn) {
	if c.at != nil {
		b.silent.Remove(c.at)
		c.at = nil
	}
}

// boundConn is a connection that is counted.
type boundConn struct {
	net.Conn
	of   *bound
	at   *list.Element // among the silent ones; nil: it is not
	gone bool
}

// Close implements net.Conn.
func (c *boundConn) Close() error {
	c.of.mu.Lock()
	c.of.left(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Track follows which connections are silent: those on which nothing has been
// asked yet, or nothing is any more.
func Track(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*boundConn)
	if !ok {
		return
	}
	b := c.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.speaks(c)
	if (state == http.StateNew || state == http.StateIdle) && !c.gone {
		c.at = b.silent.PushBack(c)
		b.room.Signal()
	}
}

// plainConn is the connection below a bound.
func plainConn(conn net.Conn) net.Conn {
	if c, ok := conn.(*boundConn); ok {
		return c.Conn
	}
	return conn
}
