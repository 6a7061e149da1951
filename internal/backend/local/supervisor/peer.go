//go:build linux

package supervisor

import (
	"encoding/json"
	"net"
	"sync"

	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"golang.org/x/sys/unix"
)

// peer is one connection; replies may be sent from several goroutines.
type peer struct {
	mu   sync.Mutex
	enc  *json.Encoder
	conn *net.UnixConn // for descriptors
	left bool          // guarded by supervisor.mu: it was gone when another came
}

// gone reports whether there is nobody at the other end any more, or nobody who
// will ask for more: a process that is being ended may take a while to close.
func (p *peer) gone() bool {
	rc, err := p.conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = rc.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(poll, 0); err == nil && n > 0 {
			gone = true
			return
		}
		who, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil || who.Pid == 0 {
			return // of another namespace
		}
		s, err := proc.ReadStat(int(who.Pid))
		gone = err != nil || s.Leaving
	})
	return gone || err != nil
}

func (p *peer) send(r protocol.Reply) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enc.Encode(r)
}

// sendWith sends a reply and descriptors, which stay open here.
func (p *peer) sendWith(r protocol.Reply, fds []int) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _, err = p.conn.WriteMsgUnix(append(data, '\n'), unix.UnixRights(fds...), nil)
	return err
}
