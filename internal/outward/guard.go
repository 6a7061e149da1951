// Package outward calls addresses that others than the server's owner name: of webhooks,
// of checks, of images, and of what their answers lead to. Where a name leads is judged
// when it is called, by the address that was found, so that a name which means something
// else a second later leads nowhere else.
package outward

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/musterhq/muster/internal/core/address"
)

// Guard judges whom the server calls. Its methods may be called at the same time.
type Guard struct {
	rules    address.Rules
	names    []string // HOST:PORT at which others reach the server
	resolver *net.Resolver
	proxy    func(*http.Request) (*url.URL, error)
	shared   atomic.Pointer[func() bool]

	mu        sync.Mutex
	listening []netip.AddrPort
}

// New returns a guard. names are the URLs or HOST:PORT by which others reach the server.
func New(rules address.Rules, names ...string) *Guard {
	g := &Guard{rules: rules, proxy: http.ProxyFromEnvironment}
	for _, n := range names {
		if u, err := url.Parse(n); err == nil && u.Host != "" {
			n = net.JoinHostPort(u.Hostname(), portOf(u))
		}
		g.names = append(g.names, strings.ToLower(n))
	}
	return g
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Shared has fn say, for each call, whether others than the server's owner ask.
// Before it is told, the guard takes it that they do.
func (g *Guard) Shared(fn func() bool) { g.shared.Store(&fn) }

// Listens has the guard know one more address at which the server listens.
func (g *Guard) Listens(at net.Addr) {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return // a unix socket is not reached by an address
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listening = append(g.listening, tcp.AddrPort())
}

// place is what the server knows of itself now.
func (g *Guard) place() address.Place {
	p := address.Place{Names: g.names, Shared: true}
	if fn := g.shared.Load(); fn != nil {
		p.Shared = (*fn)()
	}
	g.mu.Lock()
	p.Listening = append(p.Listening, g.listening...)
	g.mu.Unlock()
	if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok {
				if ip, ok := netip.AddrFromSlice(n.IP); ok {
					p.Here = append(p.Here, ip.Unmap())
				}
			}
		}
	}
	return p
}

// Dial connects to address (HOST:PORT) unless where it leads is refused.
func (g *Guard) Dial(ctx context.Context, network, at string, within time.Duration) (net.Conn, error) {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout: within, KeepAlive: 30 * time.Second, Resolver: g.resolver,
		// After the name was resolved, before the socket connects.
		Control: func(_, found string, _ syscall.RawConn) error { return g.judge(host, found) },
	}
	return d.DialContext(ctx, network, at)
}

// judge refuses an address of numbers to which host has led.
func (g *Guard) judge(host, found string) error {
	at, err := netip.ParseAddrPort(found)
	if err != nil {
		return &address.Refused{Host: host, Sort: address.Unknown}
	}
	if r := g.rules.Refusal(host, at, g.place()); r != nil {
		return r
	}
	return nil
}

// Transport returns what carries requests for base, whose dialer and proxy are replaced;
// a connection that takes longer than within is given up.
//
// Where the environment names a proxy, requests go to it: whom it may call it has to know
// itself, since it resolves names. What is refused as it stands in the URL never gets there.
func (g *Guard) Transport(base *http.Transport, within time.Duration) http.RoundTripper {
	direct, proxied := base, base.Clone()
	direct.Proxy = nil
	direct.DialContext = func(ctx context.Context, network, at string) (net.Conn, error) {
		return g.Dial(ctx, network, at, within)
	}
	proxied.Proxy = g.proxy
	proxied.DialContext = (&net.Dialer{Timeout: within, KeepAlive: 30 * time.Second}).DialContext
	return &carrier{guard: g, direct: direct, proxied: proxied}
}

// carrier takes each request on its way.
type carrier struct {
	guard           *Guard
	direct, proxied *http.Transport
}

// RoundTrip sends one request; one that follows a redirect comes here too.
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	via, err := c.guard.proxy(r)
	if err != nil || via == nil {
		return c.direct.RoundTrip(r)
	}
	if err := c.guard.asWritten(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return c.proxied.RoundTrip(r)
}

// asWritten judges a URL that a proxy will open, by what stands in it.
func (g *Guard) asWritten(u *url.URL) error {
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil {
		return &address.Refused{Host: u.Hostname(), Sort: address.Unknown}
	}
	if r := g.rules.AsWritten(u.Hostname(), uint16(port), g.place()); r != nil {
		return r
	}
	return nil
}
