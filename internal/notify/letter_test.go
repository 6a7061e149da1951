package notify_test

import (
	"context"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/notify"
	"github.com/musterhq/muster/internal/testing/postbox"
)

// TestALetterHasTwoParts: a real mail server takes it, and a program for mail finds the
// text and the page, each as it was written.
func TestALetterHasTwoParts(t *testing.T) {
	t.Parallel()
	box := postbox.Encrypted(t)
	m := notify.Mail{Server: box.At, From: "muster@example.com", Roots: box.Roots, User: postbox.User, Password: postbox.Password}
	l := notify.Letter{ID: "week-1", To: "ana@example.com", Subject: "Woche 47 für Köln", At: time.Now(), Text: "naïve\r\n.\r\nRCPT TO:<eve@example.com>\n--x\n", HTML: "<p>ünïcode</p>\n" + strings.Repeat("x", 2000) + "\n"}
	if err := m.Send(context.Background(), l); err != nil {
		t.Fatal(err)
	}
	letters := box.Letters()
	if len(letters) != 1 || letters[0].To != "ana@example.com" || !letters[0].Encrypted {
		t.Fatalf("letters %+v", letters)
	}
	head := letters[0].Head
	if s, err := new(mime.WordDecoder).DecodeHeader(head.Get("Subject")); err != nil || s != l.Subject || head.Get("Message-ID") != "<week-1@example.com>" {
		t.Errorf("subject %q, %v; id %q", s, err, head.Get("Message-ID"))
	}
	kind, params, err := mime.ParseMediaType(head.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%q, %v", kind, err)
	}
	r := multipart.NewReader(strings.NewReader(letters[0].Raw), params["boundary"])
	for _, want := range [][2]string{{"text/plain; charset=utf-8", l.Text}, {"text/html; charset=utf-8", l.HTML}} {
		part, err := r.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil || part.Header.Get("Content-Type") != want[0] || strings.ReplaceAll(string(text), "\r\n", "\n") != strings.ReplaceAll(want[1], "\r\n", "\n") {
			t.Errorf("%v, %v: %q", part.Header, err, text)
		}
	}
	if _, err := r.NextRawPart(); err != io.EOF {
		t.Errorf("there is more: %v", err)
	}
	l.To = "nobody@example.com"
	if err := m.Send(context.Background(), l); !notify.Never(err) || !strings.Contains(err.Error(), "no such user") {
		t.Errorf("to nobody: %v", err)
	}
}
