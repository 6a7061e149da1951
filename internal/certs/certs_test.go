package certs

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/acmetest"
)

// said is a log that several write to.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// patience bounds every wait; a machine under load is no failure.
const patience = time.Minute

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in %v not: %s", patience, what)
		}
	}
}

// site is a server that shows certificates of a manager.
type site struct {
	t    *testing.T
	at   net.Addr
	ca   *acmetest.Authority
	dir  string
	log  *said
	open net.Listener
}

func newSite(t *testing.T, seconds uint64, blocked ...string) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := acmetest.Start(t.TempDir(), l.Addr().(*net.TCPAddr).Port, seconds, blocked...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ca.Close)
	s := &site{t: t, at: l.Addr(), ca: ca, dir: filepath.Join(t.TempDir(), "acme"), log: &said{}, open: l}
	t.Cleanup(func() { l.Close() })
	return s
}

// serve begins to answer for some names, and asks for their certificates.
func (s *site) serve(domains ...string) {
	s.t.Helper()
	m, err := New(Config{Domains: domains, Contact: "ops@example.com", Directory: s.ca.Directory, CAFile: s.ca.CAFile, Dir: s.dir, Log: slog.New(slog.NewTextHandler(s.log, nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	srv := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: patience, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	go srv.Serve(m.Listener(s.open)) //nolint:errcheck // until it is closed
	s.t.Cleanup(func() { srv.Close() })
	m.Keep(s.t.Context())
}

// shown is the number of the certificate that who asks for a name is shown; the handshake
// looks at it.
func (s *site) shown(name string) (string, error) {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", s.at.String(), &tls.Config{RootCAs: s.ca.Roots, ServerName: name, MinVersion: tls.VersionTLS12})
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// TestCertificatesComeFromTheAuthority gets them from a real one, before anybody connects;
// they outlive a restart, for who names no host too, and nobody else is answered.
func TestCertificatesComeFromTheAuthority(t *testing.T) {
	s := newSite(t, 3600)
	s.serve("muster.example.com", "other.example.com")
	eventually(t, "both are there", func() bool { return strings.Count(s.log.String(), "msg=certificate") == 2 })
	first, err := s.shown("muster.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := s.shown("other.example.com"); err != nil || other == first {
		t.Errorf("%s, %v", other, err)
	}
	if _, err := s.shown("evil.example.com"); err == nil {
		t.Error("a name that is none of its own is answered")
	}
	c, err := tls.Dial("tcp", s.at.String(), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // whose it is follows
	if err != nil {
		t.Fatal(err)
	}
	if got := c.ConnectionState().PeerCertificates[0].SerialNumber.String(); got != first {
		t.Errorf("who names no host is shown %s, want %s", got, first)
	}
	c.Close()

	info, err := os.Stat(s.dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	kept, err := filepath.Glob(filepath.Join(s.dir, "*example.com"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("%q, %v", kept, err)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a key is kept as %v, %v", info.Mode(), err)
	}
	again := &site{t: t, ca: s.ca, dir: s.dir, log: &said{}}
	if again.open, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	again.at = again.open.Addr() // the authority does not know it: what is shown was kept
	again.serve("muster.example.com")
	if got, err := again.shown("muster.example.com"); err != nil || got != first {
		t.Errorf("after a restart %s, %v; want %s", got, err, first)
	}
}

// TestCertificatesAreRenewed: another is shown before the first has ended.
func TestCertificatesAreRenewed(t *testing.T) {
	s := newSite(t, 9)
	s.serve("muster.example.com")
	var first string
	eventually(t, "the first is there", func() bool {
		got, err := s.shown("muster.example.com")
		first = got
		return err == nil
	})
	eventually(t, "another is shown", func() bool {
		got, err := s.shown("muster.example.com")
		return err == nil && got != first
	})
}

// TestAnAuthorityThatRefusesIsSaid: its words are in the log, and the server goes on for
// its other name.
func TestAnAuthorityThatRefusesIsSaid(t *testing.T) {
	s := newSite(t, 3600, "no.example.com")
	s.serve("no.example.com", "yes.example.com")
	eventually(t, "it is said", func() bool { return strings.Contains(s.log.String(), "there is no certificate") })
	if !strings.Contains(s.log.String(), "domain=no.example.com") || !strings.Contains(s.log.String(), "rejectedIdentifier") {
		t.Errorf("it says\n%s", s.log)
	}
	eventually(t, "the other is there", func() bool { _, err := s.shown("yes.example.com"); return err == nil })
}

// TestWrongSettings names each field, and what to write.
func TestWrongSettings(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		`domain: "*.example.com" stands for many names`:       {Domains: []string{"*.example.com"}},
		`domain: "10.0.0.1" is no name of a host`:             {Domains: []string{"10.0.0.1"}},
		`domain: "muster" is no name of a host with a domain`: {Domains: []string{"muster"}},
		`domain: "https://a.b" is no name of a host`:          {Domains: []string{"https://a.b"}},
		`contact: "ops" is no mail address`:                   {Domains: []string{"a.example.com"}, Contact: "ops"},
		`directory: "http://ca" is no https URL`:              {Domains: []string{"a.example.com"}, Directory: "http://ca"},
		`ca: open /nowhere`:                                   {Domains: []string{"a.example.com"}, CAFile: "/nowhere"},
		`ca: ` + empty + ` has no certificate`:                {Domains: []string{"a.example.com"}, CAFile: empty},
	} {
		_, err := New(c)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) || wrong.Hint == "" {
			t.Errorf("%v; want %s, and what to do", err, want)
		}
	}
}
