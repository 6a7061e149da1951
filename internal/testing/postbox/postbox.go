// Package postbox is a mail server for tests, on a port of this machine: it keeps what it
// is given. It is a real one (go-smtp); its clients speak to it as to any other.
package postbox

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
)

// Letter is one mail as the server took it.
type Letter struct {
	From, To string
	Head     mail.Header
	Subject  string            // as a person reads it
	Parts    map[string]string // text by its type, such as text/html
}

// Box is a mail server.
type Box struct {
	At string // HOST:PORT

	mu      sync.Mutex
	letters []Letter
	busy    int
}

// New starts one, which ends with the test.
func New(t testing.TB) *Box {
	t.Helper()
	b := &Box{}
	srv := smtp.NewServer(b)
	srv.Domain = "localhost"
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
func (b *Box) NewSession(*smtp.Conn) (smtp.Session, error) { return &visit{box: b}, nil }

type visit struct {
	box *Box
	l   Letter
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

func (v *visit) Mail(from string, _ *smtp.MailOptions) error {
	v.l = Letter{From: from}
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
	l.Head, l.Parts = m.Header, map[string]string{}
	if l.Subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return err
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(kind, "multipart/") {
		text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		l.Parts[kind] = string(text)
		return err
	}
	for parts := multipart.NewReader(m.Body, params["boundary"]); ; {
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
