// Package postbox is a mail server for tests, on a port of this machine: it keeps what it
// is given. It is a real one (go-smtp); its clients speak to it as to any other.
package postbox

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// User and Password are those with which a client may log in; it need not.
const (
	User     = "muster"
	Password = "sesame"
)

// Letter is one mail as the server took it.
type Letter struct {
	From, To  string
	User      string // who was logged in; empty: nobody
	Encrypted bool
	Head      mail.Header
	Subject   string            // as a person reads it
	Parts     map[string]string // text by its type, such as text/html
	Raw       string            // below its head, as it came
}

// Box is a mail server.
type Box struct {
	At    string         // HOST:PORT
	Roots *x509.CertPool // that say whose certificate it has, if it has one

	mu      sync.Mutex
	letters []Letter
	busy    int
}

// New starts one, which ends with the test.
func New(t testing.TB) *Box {
	t.Helper()
	return start(t, false)
}

// Encrypted starts one that offers STARTTLS, with a certificate for 127.0.0.1.
func Encrypted(t testing.TB) *Box {
	t.Helper()
	return start(t, true)
}

func start(t testing.TB, encrypted bool) *Box {
	t.Helper()
	b := &Box{Roots: x509.NewCertPool()}
	srv := smtp.NewServer(b)
	srv.Domain, srv.AllowInsecureAuth = "localhost", true
	if encrypted {
		https := httptest.NewTLSServer(nil) // for its certificate
		t.Cleanup(https.Close)
		srv.TLSConfig = &tls.Config{Certificates: https.TLS.Certificates}
		b.Roots.AddCert(https.Certificate())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.At = l.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("the mail server ended: %v", err)
		}
	})
	return b
}

// Busy has it turn so many mails away for now.
func (b *Box) Busy(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = n
}

// Letters are those that it has taken so far.
func (b *Box) Letters() []Letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Letter(nil), b.letters...)
}

// NewSession implements smtp.Backend.
func (b *Box) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, encrypted := c.TLSConnectionState()
	return &visit{box: b, encrypted: encrypted}, nil
}

type visit struct {
	box       *Box
	user      string
	encrypted bool
	l         Letter
}

func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != User || password != Password {
			return smtp.ErrAuthFailed
		}
		v.user = user
		return nil
	}), nil
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

func (v *visit) Mail(from string, _ *smtp.MailOptions) error {
	v.l = Letter{From: from, User: v.user, Encrypted: v.encrypted}
	return nil
}

// Rcpt knows everybody but nobody@.
func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "nobody@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}
	v.l.To = to
	return nil
}

func (v *visit) Data(r io.Reader) error {
	v.box.mu.Lock()
	defer v.box.mu.Unlock()
	if v.box.busy > 0 {
		v.box.busy--
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
	}
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	if err := v.l.read(m); err != nil {
		return err
	}
	v.box.letters = append(v.box.letters, v.l)
	return nil
}

func (l *Letter) read(m *mail.Message) (err error) {
	raw, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	l.Head, l.Parts, l.Raw = m.Header, map[string]string{}, string(raw)
	if l.Subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return err
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(kind, "multipart/") {
		text, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(raw)))
		l.Parts[kind] = string(text)
		return err
	}
	for parts := multipart.NewReader(bytes.NewReader(raw), params["boundary"]); ; {
		p, err := parts.NextPart() // which decodes it, too
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(p)
		if err != nil {
			return err
		}
		kind, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil {
			return err
		}
		l.Parts[kind] = string(text)
	}
}
