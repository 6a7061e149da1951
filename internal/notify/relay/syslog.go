package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
)

const (
	// datagramMost bounds a message in one datagram, in bytes: few receivers take more
	// without being told to.
	datagramMost = 8192
	// streamMost bounds a message in a stream.
	streamMost = 64 << 10
)

// syslog sends messages of RFC 5424: each a datagram (RFC 5426), or in a stream with
// its length before it (RFC 5425, RFC 6587).
type syslog struct {
	name, network, address string
	tls                    *tls.Config // nil: it is not encrypted
	by                     audit.Sender

	conn   net.Conn
	stream bool         // conn is one
	ended  *atomic.Bool // the other side has closed conn
}

// Syslog is a receiver at unix:///PATH, udp://HOST:PORT, tcp://HOST:PORT or
// tls://HOST:PORT. roots are whom certificates must come from; nil: the system's.
func Syslog(to string, roots *x509.CertPool, by audit.Sender) (Receiver, error) {
	bad := fmt.Errorf("%q is not like unix:///dev/log, udp://HOST:514, tcp://HOST:601 or tls://HOST:6514", to)
	u, err := url.Parse(to)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, bad
	}
	s := &syslog{name: to, network: u.Scheme, address: u.Host, by: by}
	switch u.Scheme {
	case "unix":
		if u.Host != "" || u.Path == "" {
			return nil, bad
		}
		s.address = u.Path
		return s, nil
	case "tls":
		s.network, s.tls = "tcp", &tls.Config{ServerName: u.Hostname(), RootCAs: roots, MinVersion: tls.VersionTLS12}
	case "udp", "tcp":
	default:
		return nil, bad
	}
	if u.Hostname() == "" || u.Port() == "" || u.Path != "" {
		return nil, bad
	}
	return s, nil
}

// Name implements Receiver.
func (s *syslog) Name() string { return s.name }

// Close implements Receiver.
func (s *syslog) Close() {
	if s.conn != nil {
		_ = s.conn.Close() // what it has, it has
		s.conn = nil
	}
}

// Send implements Receiver. Of a datagram nobody says that it came, nor of what was
// written to a connection that ends.
func (s *syslog) Send(ctx context.Context, all []core.AuditEntry) (int, error) {
	if s.conn != nil && s.ended.Load() {
		s.Close()
	}
	if s.conn == nil {
		if err := s.dial(ctx); err != nil {
			return 0, err
		}
	}
	until, _ := ctx.Deadline() // without one: zero, which is none
	err := s.conn.SetWriteDeadline(until)
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetWriteDeadline(time.Now()) })
	defer stop()
	for i := range all {
		if err == nil {
			err = s.write(&all[i])
		}
		if err != nil {
			s.Close()
			return i, fmt.Errorf("write: %w", err)
		}
	}
	return len(all), nil
}

func (s *syslog) write(e *core.AuditEntry) error {
	if !s.stream {
		_, err := s.conn.Write(audit.Syslog(e, s.by, datagramMost))
		return err
	}
	text := audit.Syslog(e, s.by, streamMost)
	_, err := s.conn.Write(append(append(strconv.AppendInt(nil, int64(len(text)), 10), ' '), text...))
	return err
}

// dial opens the connection, and hears when the other side closes it: what is written
// after that would be lost.
func (s *syslog) dial(ctx context.Context) error {
	var d net.Dialer
	var conn net.Conn
	var err error
	switch {
	case s.tls != nil:
		conn, err = (&tls.Dialer{NetDialer: &d, Config: s.tls}).DialContext(ctx, s.network, s.address)
	case s.network == "unix":
		if conn, err = d.DialContext(ctx, "unixgram", s.address); err != nil {
			var stream error
			if conn, stream = d.DialContext(ctx, "unix", s.address); stream == nil {
				err = nil
			}
		}
	default:
		conn, err = d.DialContext(ctx, s.network, s.address)
	}
	if err != nil {
		return errors.Join(errors.New("its address cannot be reached"), err)
	}
	s.conn, s.ended = conn, new(atomic.Bool)
	network := conn.RemoteAddr().Network()
	s.stream = network == "tcp" || network == "unix"
	if s.stream {
		ended := s.ended
		go func() {
			for buf := make([]byte, 512); ; {
				if _, err := conn.Read(buf); err != nil {
					ended.Store(true)
					return
				}
			}
		}()
	}
	return nil
}
