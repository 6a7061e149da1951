package outward

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core/address"
)

// within bounds a connection in tests; what is refused takes no time.
const within = 10 * time.Second

// guard is one with rules, for its owner alone unless shared.
func guard(t *testing.T, shared bool, allow ...string) *Guard {
	t.Helper()
	rules, err := address.ParseRules(allow, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := New(rules)
	g.proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	g.Shared(func() bool { return shared })
	return g
}

func (g *Guard) client() *http.Client {
	return &http.Client{Transport: g.Transport(&http.Transport{DisableKeepAlives: true}, within)}
}

// receiver counts what reaches it.
func receiver(t *testing.T, h http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	n := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		if h != nil {
			h(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s, n
}

// names answers each question for an address of IPv4 with the next of a list, the last
// one again and again, as a name server does that means to deceive.
func names(t *testing.T, answers ...string) (*net.Resolver, *atomic.Int32) {
	t.Helper()
	asked := new(atomic.Int32)
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := l.ReadFrom(buf)
			if err != nil {
				return
			}
			q := buf[:n]
			end := 12
			for end < n && q[end] != 0 {
				end += int(q[end]) + 1
			}
			end += 5 // the root, type and class
			if end > n {
				continue
			}
			reply := append([]byte{}, q[:end]...)
			binary.BigEndian.PutUint16(reply[2:], 0x8180)
			clear(reply[6:12])
			if binary.BigEndian.Uint16(q[end-4:]) == 1 { // A
				i := min(int(asked.Add(1))-1, len(answers)-1)
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				a := netip.MustParseAddr(answers[i]).As4()
				reply = append(reply, a[:]...)
			}
			_, _ = l.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", l.LocalAddr().String())
	}}, asked
}

func refusal(err error) address.Sort {
	var r *address.Refused
	if errors.As(err, &r) {
		return r.Sort
	}
	return ""
}

func get(c *http.Client, url string) error {
	resp, err := c.Get(url)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		err = resp.Body.Close()
	}
	return err
}

func TestLoopbackIsForTheOwnerAlone(t *testing.T) {
	s, n := receiver(t, nil)
	if err := get(guard(t, false).client(), s.URL); err != nil || n.Load() != 1 {
		t.Fatalf("on a machine of one's own: %v, %d requests", err, n.Load())
	}
	if err := get(guard(t, true).client(), s.URL); refusal(err) != address.Machine {
		t.Errorf("with access control: %v", err)
	}
	if err := get(guard(t, true, strings.TrimPrefix(s.URL, "http://")).client(), s.URL); err != nil || n.Load() != 2 {
		t.Errorf("allowed by its owner: %v, %d requests", err, n.Load())
	}
	g := guard(t, false)
	g.shared.Store(nil)
	if err := get(g.client(), s.URL); refusal(err) != address.Machine {
		t.Errorf("before it is known who may ask: %v", err)
	}
}

func TestTheServerDoesNotCallItself(t *testing.T) {
	s, n := receiver(t, nil)
	g := guard(t, false)
	g.Listens(s.Listener.Addr())
	g.Listens(&net.UnixAddr{Name: "/x"})
	port := s.Listener.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		err := get(g.client(), "http://"+host+":"+itoa(port))
		if got := refusal(err); got != address.Own && (host != "localhost" || err == nil) { // [::1] refuses by itself
			t.Errorf("%s: %v", host, err)
		}
	}
	if n.Load() != 0 {
		t.Errorf("%d requests reached the server", n.Load())
	}
}

func itoa(n int) string {
	return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(n)).String()[len("0.0.0.0:"):]
}

func TestOtherNotationsLeadNowhereElse(t *testing.T) {
	s, n := receiver(t, nil)
	port := itoa(s.Listener.Addr().(*net.TCPAddr).Port)
	c := guard(t, true).client()
	for _, host := range []string{"2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "127.1", "127.0.1", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0", "[::]"} {
		// A resolver that reads numbers so leads to the guard; another finds no such name.
		if err := get(c, "http://"+host+":"+port); err == nil {
			t.Errorf("%s was called", host)
		}
	}
	if n.Load() != 0 {
		t.Errorf("%d requests reached the receiver", n.Load())
	}
}

func TestANameThatMeansSomethingElseTheSecondTime(t *testing.T) {
	s, n := receiver(t, nil)
	port := itoa(s.Listener.Addr().(*net.TCPAddr).Port)
	// What is allowed stands for an address of the world that answers.
	g := guard(t, true, "127.0.0.2")
	resolver, asked := names(t, "127.0.0.2", "127.0.0.1")
	g.resolver = resolver
	l, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Fatal(err)
	}
	other := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = other.Serve(l) }()
	defer other.Close()
	c := g.client()
	if err := get(c, "http://rebind.test:"+port); err != nil {
		t.Fatalf("the first time: %v", err)
	}
	if err := get(c, "http://rebind.test:"+port); refusal(err) != address.Machine {
		t.Errorf("the second time: %v", err)
	}
	if asked.Load() != 2 || n.Load() != 0 {
		t.Errorf("the name was asked for %d times, and the machine called %d times", asked.Load(), n.Load())
	}
	for _, at := range []string{"169.254.169.254", "0.0.0.0"} {
		g.resolver, _ = names(t, at)
		if err := get(c, "http://metadata.test:"+port); refusal(err) == "" {
			t.Errorf("a name of %s: %v", at, err)
		}
	}
}

func TestRedirectsAreJudgedToo(t *testing.T) {
	inner, n := receiver(t, nil)
	outer, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL, http.StatusTemporaryRedirect)
	})
	err := get(guard(t, true, strings.TrimPrefix(outer.URL, "http://")).client(), outer.URL)
	if refusal(err) != address.Machine || n.Load() != 0 {
		t.Errorf("%v, %d requests", err, n.Load())
	}
	meta, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	})
	if err := get(guard(t, false).client(), meta.URL); refusal(err) != address.LinkLocal {
		t.Errorf("to where clouds tell their machines: %v", err)
	}
}

func TestAProxyIsGivenNothingThatIsRefused(t *testing.T) {
	proxy, n := receiver(t, nil)
	g := guard(t, true)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	g.proxy = func(*http.Request) (*url.URL, error) { return at, nil }
	g.names = []string{"muster.test:80"}
	c := g.client()
	if err := get(c, "http://example.test/"); err != nil || n.Load() != 1 {
		t.Fatalf("by the proxy, which is on loopback: %v, %d requests", err, n.Load())
	}
	for _, to := range []string{"http://169.254.169.254/", "http://2852039166/", "http://localhost/", "http://[::1]/", "http://muster.test/"} {
		if err := get(c, to); refusal(err) == "" {
			t.Errorf("%s: %v", to, err)
		}
	}
	if n.Load() != 1 {
		t.Errorf("the proxy was asked %d times", n.Load())
	}
}

func TestNamesOfTheServer(t *testing.T) {
	g := New(address.Rules{}, "https://Muster.test", "http://muster.test:7070/x", "other.test:99")
	if got := strings.Join(g.names, " "); got != "muster.test:443 muster.test:7070 other.test:99" {
		t.Error(got)
	}
}
