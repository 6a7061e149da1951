package notify_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/notify"
)

// TestManyThatHangHoldUpNobodyWhoAnswers: they failed before, and others are
// heard beside them. Each has more to hear, so that after one failure the next
// message is again one that was never tried.
func TestManyThatHangHoldUpNobodyWhoAnswers(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	began := make(chan string, 1000)
	hangs, _ := receiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		began <- r.URL.Path
		if strings.HasSuffix(r.Header.Get("webhook-id"), ".0") {
			w.WriteHeader(500)
			return
		}
		<-release
	})
	t.Cleanup(func() { close(release) })
	url, heard := receiver(t, status(200))
	o := &outbox{all: map[string]core.Delivery{}, changed: make(chan struct{}, 1)}
	at := time.Now()
	for i := range 30 {
		for j := range 2 {
			d := failed(fmt.Sprintf("h%02d.%d", i, j), spec.Notification{Webhook: fmt.Sprintf("%s/%d", hangs, i)})
			d.User, d.State, d.NextAt = "ana", core.DeliveryWaiting, at.Add(time.Duration(j))
			o.all[d.ID] = d
		}
	}
	woken := make(chan struct{}, 1)
	run(t, notify.Config{Timeout: patience, Woken: woken, Pauses: []time.Duration{time.Hour}}, o)
	for i := range 30 { // all have failed once
		o.untilTried(t, fmt.Sprintf("h%02d.0", i))
	}
	for i := range 20 {
		o.put(fmt.Sprintf("m%02d", i), spec.Notification{Webhook: url})
	}
	woken <- struct{}{}
	o.until(t, "m19", core.DeliveryDelivered)
	if n := len(heard()); n != 20 {
		t.Errorf("20 messages came %d times", n)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most > 8 {
		t.Errorf("%d messages were read to send 8", o.most)
	}
}

// TestWhatAReceiverSaysIsNotTold: neither its words nor its address.
func TestWhatAReceiverSaysIsNotTold(t *testing.T) {
	t.Parallel()
	raw := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 1024))
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		}()
		return l.Addr().String()
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	slow, _ := receiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for id, c := range map[string]struct{ url, says string }{
		"words":   {"http://" + raw("-ERR secret-words\r\n"), "is not HTTP"},
		"header":  {"http://" + raw("HTTP/1.1 200 OK\r\nsecret-words\r\n\r\n"), "is not HTTP"},
		"nothing": {"http://" + raw(""), "without an answer"},
		"plain":   {"https://" + raw("secret-words"), "does not speak TLS"},
		"refused": {"http://" + closed.Addr().String(), "refuses connections"},
		"name":    {"http://secret-words.invalid", "name of its receiver is not found"},
		"trust":   {secure.URL, "not trusted"},
		"slow":    {slow, "in time"},
	} {
		timeout := patience
		if id == "slow" {
			timeout = 50 * time.Millisecond
		}
		o := send(t, notify.Config{Timeout: timeout}, nil, failed("m", spec.Notification{Webhook: c.url + "/secret-path"}))
		d := o.until(t, "m", core.DeliveryFailed)
		host := strings.TrimPrefix(strings.TrimPrefix(c.url, "https://"), "http://")
		if !strings.Contains(d.Problem, c.says) || strings.Contains(d.Problem, "secret") || strings.Contains(d.Problem, host) {
			t.Errorf("%s: %q", id, d.Problem)
		}
	}
}
