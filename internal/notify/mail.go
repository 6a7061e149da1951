package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Mail is how mail is sent.
type Mail struct {
	Server   string // host:port; empty: no mail is sent. Port 465 speaks TLS from its first byte, others STARTTLS
	From     string // the sender's address
	User     string // empty: it asks for none
	Password string
	// Plain lets mail go unencrypted where the server offers nothing better. To
	// this machine itself it may always; a password never goes so elsewhere.
	Plain bool
	// Roots are whom certificates must come from; nil: the system's.
	Roots *x509.CertPool
}

func (m *Mail) send(ctx context.Context, d *core.Delivery) (err error) {
	return m.hand(ctx, d.To.Email, func() ([]byte, error) { return m.message(d) })
}

// hand hands a message over to the mail server, for one receiver.
func (m *Mail) hand(ctx context.Context, to string, message func() ([]byte, error)) (err error) {
	if m.Server == "" {
		return fatal{errors.New("this server sends no mail any more")}
	}
	defer func() {
		var reply *textproto.Error
		if errors.As(err, &reply) && reply.Code >= 500 {
			err = fatal{fmt.Errorf("the mail server refuses: %w", err)}
		}
	}()
	host, port, err := net.SplitHostPort(m.Server)
	if err != nil {
		return fatal{err}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	conf := &tls.Config{ServerName: host, RootCAs: m.Roots, MinVersion: tls.VersionTLS12}
	if port == "465" {
		conn = tls.Client(conn, conf)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := m.open(c, host, conf, port == "465"); err != nil {
		return err
	}
	return m.pass(c, to, message)
}

// open greets the server, encrypts the connection and shows who we are.
func (m *Mail) open(c *smtp.Client, host string, conf *tls.Config, encrypted bool) error {
	name, err := os.Hostname()
	if err != nil || strings.ContainsAny(name, " \r\n") {
		name = "localhost"
	}
	if err := c.Hello(name); err != nil {
		return err
	}
	if !encrypted {
		offered, _ := c.Extension("STARTTLS")
		switch {
		case offered:
			if err := c.StartTLS(conf); err != nil {
				return err
			}
		case !m.Plain && !loopback(host):
			return errors.New("the mail server does not offer STARTTLS; --smtp-plain lets mail go unencrypted")
		}
	}
	if m.User == "" {
		return nil
	}
	return c.Auth(smtp.PlainAuth("", m.User, m.Password, host))
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// pass says from whom to whom, and what.
func (m *Mail) pass(c *smtp.Client, to string, write func() ([]byte, error)) error {
	if err := c.Mail(m.From); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	message, err := write()
	if err == nil {
		_, err = w.Write(message)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	_ = c.Quit() // it has the message
	return nil
}

// message is the mail with its head. Its Message-ID is that of the delivery, by
// which programs of readers know a repeated one.
func (m *Mail) message(d *core.Delivery) ([]byte, error) {
	b := m.head(&Letter{ID: d.ID, To: d.To.Email, Subject: subject(d), At: d.What.At})
	err := part(b, "text/plain", text(d))
	return b.Bytes(), err
}

// head begins a message. A text of one's own is in the body and, encoded, in the subject
// only.
func (m *Mail) head(l *Letter) *bytes.Buffer {
	var b bytes.Buffer
	_, domain, _ := strings.Cut(m.From, "@")
	for _, h := range [][2]string{
		{"From", m.From}, {"To", l.To}, {"Subject", mime.QEncoding.Encode("utf-8", l.Subject)},
		{"Date", l.At.UTC().Format(time.RFC1123Z)}, {"Message-ID", "<" + l.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"}, {"MIME-Version", "1.0"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	return &b
}

// part writes a text with the lines that say what it is.
func part(b *bytes.Buffer, kind, text string) error {
	fmt.Fprintf(b, "Content-Type: %s; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", kind)
	q := quotedprintable.NewWriter(b)
	_, err := q.Write([]byte(text))
	return errors.Join(err, q.Close())
}
