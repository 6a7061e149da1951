package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Letter is a mail that is no notification of a workload: a text, and the same as a page.
type Letter struct {
	ID      string // by which programs of readers know a repeated one
	To      string // the address
	Subject string
	At      time.Time
	Text    string
	HTML    string
}

// Send hands a letter to the mail server, and returns once it has taken it.
func (m *Mail) Send(ctx context.Context, l Letter) error {
	return m.hand(ctx, l.To, func() ([]byte, error) { return m.letter(&l) })
}

// Never reports whether an error is one that another try does not mend.
func Never(err error) bool {
	var f fatal
	return errors.As(err, &f)
}

// letter is a message of two parts that say the same (RFC 2046, 5.1.4): the last is what
// a program shows that can.
func (m *Mail) letter(l *Letter) ([]byte, error) {
	b := m.head(l)
	sum := sha256.Sum256([]byte(l.Text + l.HTML)) // no line of either begins with it
	between := "=_" + hex.EncodeToString(sum[:16])
	fmt.Fprintf(b, "Content-Type: multipart/alternative; boundary=\"%s\"\r\n\r\n--%s\r\n", between, between)
	err := part(b, "text/plain", l.Text)
	fmt.Fprintf(b, "\r\n--%s\r\n", between)
	err = errors.Join(err, part(b, "text/html", l.HTML))
	fmt.Fprintf(b, "\r\n--%s--\r\n", between)
	return b.Bytes(), err
}
