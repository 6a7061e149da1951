package notify_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/notify"
)

// letter is one mail as a server took it.
type letter struct {
	from, to, user string
	encrypted      bool
	message        *mail.Message
	text           string // of a mail of one part
	raw            string // as it came
}

// post is a mail server.
type post struct {
	mu      sync.Mutex
	letters []letter
	busy    int // so many mails are turned away for now
}

func (p *post) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, encrypted := c.TLSConnectionState()
	return &visit{p: p, l: letter{encrypted: encrypted}}, nil
}

type visit struct {
	p *post
	l letter
}

func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "muster" || password != "sesame" {
			return smtp.ErrAuthFailed
		}
		v.l.user = user
		return nil
	}), nil
}

func (v *visit) Mail(from string, _ *smtp.MailOptions) error { v.l.from = from; return nil }

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "nobody@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}
	v.l.to = to
	return nil
}

func (v *visit) Data(r io.Reader) error {
	v.p.mu.Lock()
	defer v.p.mu.Unlock()
	if v.p.busy > 0 {
		v.p.busy--
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
	}
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(raw)))
	if strings.HasPrefix(m.Header.Get("Content-Type"), "multipart/") {
		err = nil
	}
	v.l.message, v.l.text, v.l.raw = m, string(text), string(raw)
	v.p.letters = append(v.p.letters, v.l)
	return err
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

// mailServer serves p on a port of this machine, with a certificate where
// encrypted is asked for; its roots come back.
func mailServer(t *testing.T, p *post, encrypted bool) (string, *x509.CertPool) {
	t.Helper()
	srv := smtp.NewServer(p)
	srv.Domain, srv.AllowInsecureAuth = "localhost", true
	roots := x509.NewCertPool()
	if encrypted {
		https := httptest.NewTLSServer(nil) // for its certificate, which is for 127.0.0.1
		t.Cleanup(https.Close)
		srv.TLSConfig = &tls.Config{Certificates: https.TLS.Certificates}
		roots.AddCert(https.Certificate())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("the mail server ended: %v", err)
		}
	})
	return l.Addr().String(), roots
}

func TestMailReachesAServer(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{true, false} {
		p := &post{busy: 1}
		server, roots := mailServer(t, p, encrypted)
		m := notify.Mail{Server: server, From: "muster@example.com", Roots: roots, User: "muster", Password: "sesame"}
		d := failed("m1", spec.Notification{Email: "ana@example.com"})
		d.What.Name, d.What.Message = "mnist", "naïve\r\n.\r\nRCPT TO:<eve@example.com>"
		o := send(t, notify.Config{Mail: m}, nil, d, failed("m2", spec.Notification{Email: "nobody@example.com"}))
		if d := o.until(t, "m1", core.DeliveryDelivered); d.Tries != 2 { // it was busy once
			t.Errorf("%d tries", d.Tries)
		}
		if d := o.until(t, "m2", core.DeliveryFailed); d.Tries != 1 || !strings.Contains(d.Problem, "no such user") {
			t.Errorf("to nobody: %+v", d)
		}
		p.mu.Lock()
		letters := p.letters
		p.mu.Unlock()
		if len(letters) != 1 {
			t.Fatalf("%d letters", len(letters))
		}
		l := letters[0]
		subject, err := new(mime.WordDecoder).DecodeHeader(l.message.Header.Get("Subject"))
		if err != nil || subject != "mnist is Failed: ExitCode" {
			t.Errorf("subject %q, %v", subject, err)
		}
		if l.from != "muster@example.com" || l.to != "ana@example.com" || l.user != "muster" || l.encrypted != encrypted {
			t.Errorf("letter %+v", l)
		}
		if l.message.Header.Get("Message-ID") != "<m1@example.com>" || l.message.Header.Get("To") != "ana@example.com" {
			t.Errorf("head %v", l.message.Header)
		}
		if !strings.Contains(l.text, "naïve") || !strings.Contains(l.text, "RCPT TO:<eve@example.com>") || !strings.Contains(l.text, "muster describe mnist") {
			t.Errorf("text %q", l.text)
		}
	}
}

// TestMailTrustsNobodyUnknown: neither a certificate that it does not know, nor
// a password that is wrong, lets mail through.
func TestMailTrustsNobodyUnknown(t *testing.T) {
	t.Parallel()
	p := &post{}
	server, roots := mailServer(t, p, true)
	for id, m := range map[string]notify.Mail{
		"certificate": {Server: server, From: "muster@example.com"},
		"refuses":     {Server: server, From: "muster@example.com", Roots: roots, User: "muster", Password: "wrong"},
	} {
		o := send(t, notify.Config{Mail: m}, nil, failed("m", spec.Notification{Email: "ana@example.com"}))
		if d := o.until(t, "m", core.DeliveryFailed); !strings.Contains(d.Problem, id) || strings.Contains(d.Problem, "wrong") {
			t.Errorf("%s: %+v", id, d)
		}
	}
	if len(p.letters) != 0 {
		t.Errorf("letters %+v", p.letters)
	}
}
