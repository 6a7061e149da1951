package podexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Dial connects to a port of a pod: its address only the cluster knows. Whether
// something listens shows with the first Read.
func (c *Client) Dial(ctx context.Context, t Target, port int) (net.Conn, error) {
	d, err := c.dialer(c.API.CoreV1().RESTClient().Post().Resource("pods").Namespace(t.Namespace).Name(t.Pod).SubResource("portforward").URL())
	if err != nil {
		return nil, err
	}
	type dialled struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialled, 1)
	go func() { // it knows no context
		conn, err := connect(d, t, port)
		done <- dialled{conn, err}
	}()
	select {
	case x := <-done:
		if x.err != nil {
			return nil, fmt.Errorf("its port %d: %w", port, x.err)
		}
		return x.conn, nil
	case <-ctx.Done():
		go func() {
			if x := <-done; x.err == nil {
				_ = x.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func (c *Client) dialer(at *url.URL) (httpstream.Dialer, error) {
	config := c.Config()
	modern, err := portforward.NewSPDYOverWebsocketDialer(at, config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	return portforward.NewFallbackDialer(modern, old, refusesWebSocket), nil
}

// connect makes one connection to a port.
func connect(d httpstream.Dialer, t Target, port int) (net.Conn, error) {
	link, protocol, err := d.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		_ = link.Close()
		return nil, fmt.Errorf("the API server speaks %q, not %s", protocol, portforward.PortForwardProtocolV1Name)
	}
	h := http.Header{}
	h.Set(corev1.PortHeader, strconv.Itoa(port))
	h.Set(corev1.PortForwardRequestIDHeader, "0")
	h.Set(corev1.StreamType, corev1.StreamTypeError)
	errs, err := link.CreateStream(h)
	if err == nil {
		_ = errs.Close() // we have nothing to say on it
		h.Set(corev1.StreamType, corev1.StreamTypeData)
		var data httpstream.Stream
		if data, err = link.CreateStream(h); err == nil {
			return forward(link, data, errs, address(t.Namespace+"/"+t.Pod+":"+strconv.Itoa(port))), nil
		}
	}
	_ = link.Close()
	return nil, err
}

// errorWithin is how long after the end of a stream its error may come.
const errorWithin = 5 * time.Second

// forwarded is a connection to a port of a pod. Pipes give it the deadlines that
// streams do not have.
type forwarded struct {
	net.Conn // what is written goes here
	in       net.Conn
	link     httpstream.Connection
	at       address
	failed   chan struct{} // closed when err is known
	err      error
	once     sync.Once
}

// forward connects streams with pipes.
func forward(link httpstream.Connection, data, errs httpstream.Stream, at address) *forwarded {
	outHere, outThere := net.Pipe()
	inHere, inThere := net.Pipe()
	f := &forwarded{Conn: outHere, in: inHere, link: link, at: at, failed: make(chan struct{})}
	go func() {
		defer close(f.failed)
		message, err := io.ReadAll(io.LimitReader(errs, 64<<10))
		if text := strings.TrimSpace(string(message)); text != "" {
			f.err = errors.New(text)
		} else if err != nil {
			f.err = err
		}
	}()
	go func() {
		_, _ = io.Copy(data, outThere)
		_ = outThere.Close()
		_ = data.Close() // it may go on sending
	}()
	go func() {
		_, _ = io.Copy(inThere, data)
		_ = data.Reset() // or what nobody reads would be in the way of the other stream
		_ = inThere.Close()
	}()
	return f
}

// Read implements net.Conn. Instead of the end it returns what went wrong.
func (f *forwarded) Read(b []byte) (int, error) {
	n, err := f.in.Read(b)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	select {
	case <-f.failed:
		if f.err != nil {
			return n, f.err
		}
	case <-time.After(errorWithin):
	}
	return n, err
}

// CloseWrite says that nothing more is written.
func (f *forwarded) CloseWrite() error { return f.Conn.Close() }

// RemoteAddr implements net.Conn.
func (f *forwarded) RemoteAddr() net.Addr { return f.at }

// LocalAddr implements net.Conn: there is none.
func (f *forwarded) LocalAddr() net.Addr { return address("") }

// SetReadDeadline implements net.Conn.
func (f *forwarded) SetReadDeadline(t time.Time) error { return f.in.SetReadDeadline(t) }

// SetDeadline implements net.Conn.
func (f *forwarded) SetDeadline(t time.Time) error {
	return errors.Join(f.in.SetReadDeadline(t), f.Conn.SetWriteDeadline(t))
}

// Close implements net.Conn.
func (f *forwarded) Close() error {
	err := net.ErrClosed
	f.once.Do(func() {
		_ = f.Conn.Close()
		_ = f.in.Close()
		err = f.link.Close()
	})
	return err
}

type address string

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

// String implements net.Addr.
func (a address) String() string { return string(a) }
