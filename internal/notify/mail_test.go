package notify_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/notify"
	"github.com/musterhq/muster/internal/testing/postbox"
)

// boxes start a mail server that encrypts, or not.
var boxes = map[bool]func(testing.TB) *postbox.Box{true: postbox.Encrypted, false: postbox.New}

func TestMailReachesAServer(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{true, false} {
		box := boxes[encrypted](t)
		box.Busy(1)
		m := notify.Mail{Server: box.At, From: "muster@example.com", Roots: box.Roots, User: postbox.User, Password: postbox.Password}
		d := failed("m1", spec.Notification{Email: "ana@example.com"})
		d.What.Name, d.What.Message = "mnist", "naïve\r\n.\r\nRCPT TO:<eve@example.com>"
		o := send(t, notify.Config{Mail: m}, nil, d, failed("m2", spec.Notification{Email: "nobody@example.com"}))
		if d := o.until(t, "m1", core.DeliveryDelivered); d.Tries != 2 { // it was busy once
			t.Errorf("%d tries", d.Tries)
		}
		if d := o.until(t, "m2", core.DeliveryFailed); d.Tries != 1 || !strings.Contains(d.Problem, "no such user") {
			t.Errorf("to nobody: %+v", d)
		}
		letters := box.Letters()
		if len(letters) != 1 {
			t.Fatalf("%d letters", len(letters))
		}
		l := letters[0]
		if l.Subject != "mnist is Failed: ExitCode" {
			t.Errorf("subject %q", l.Subject)
		}
		if l.From != "muster@example.com" || l.To != "ana@example.com" || l.User != postbox.User || l.Encrypted != encrypted {
			t.Errorf("letter %+v", l)
		}
		if l.Head.Get("Message-ID") != "<m1@example.com>" || l.Head.Get("To") != "ana@example.com" {
			t.Errorf("head %v", l.Head)
		}
		if text := l.Parts["text/plain"]; !strings.Contains(text, "naïve") || !strings.Contains(text, "RCPT TO:<eve@example.com>") || !strings.Contains(text, "muster describe mnist") {
			t.Errorf("text %q", text)
		}
	}
}

// TestMailTrustsNobodyUnknown: neither a certificate that it does not know, nor
// a password that is wrong, lets mail through.
func TestMailTrustsNobodyUnknown(t *testing.T) {
	t.Parallel()
	box := postbox.Encrypted(t)
	for id, m := range map[string]notify.Mail{
		"certificate": {Server: box.At, From: "muster@example.com"},
		"refuses":     {Server: box.At, From: "muster@example.com", Roots: box.Roots, User: postbox.User, Password: "wrong"},
	} {
		o := send(t, notify.Config{Mail: m}, nil, failed("m", spec.Notification{Email: "ana@example.com"}))
		if d := o.until(t, "m", core.DeliveryFailed); !strings.Contains(d.Problem, id) || strings.Contains(d.Problem, "wrong") {
			t.Errorf("%s: %+v", id, d)
		}
	}
	if letters := box.Letters(); len(letters) != 0 {
		t.Errorf("letters %+v", letters)
	}
}
