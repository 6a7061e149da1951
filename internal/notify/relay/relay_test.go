package relay_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/notify"
	"github.com/musterhq/muster/internal/notify/relay"
)

const patience = time.Minute

// book is an audit log in memory.
type book struct {
	mu   sync.Mutex
	all  []core.AuditEntry
	head audit.Head
}

func (b *book) write(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range n {
		e := core.AuditEntry{At: time.Unix(1_700_000_000, 0), Actor: "user:ann", Action: "POST /v1/pools", Result: core.AuditDone, Changes: []core.AuditChange{{Object: "pool x", After: "{}"}}}
		b.head = audit.Seal(&e, b.head)
		b.all = append(b.all, e)
	}
}

func (b *book) Entries(_ context.Context, after int64, limit int) ([]core.AuditEntry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := b.all[min(int(after), len(b.all)):]
	return append([]core.AuditEntry(nil), rest[:min(limit, len(rest))]...), nil
}

func (b *book) Head(context.Context) (audit.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.head, nil
}

// heard are the numbers of entries that came, in their order.
type heard struct {
	mu   sync.Mutex
	seqs []int64
}

func (h *heard) add(t *testing.T, text []byte) {
	var e core.AuditEntry
	if err := json.Unmarshal(text, &e); err != nil {
		t.Errorf("%q came: %v", text, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seqs = append(h.seqs, e.Seq)
}

func (h *heard) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seqs)
}

// until waits for an entry to come, and returns all that came.
func (h *heard) until(t *testing.T, seq int64) []int64 {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		all := append([]int64(nil), h.seqs...)
		h.mu.Unlock()
		if len(all) > 0 && all[len(all)-1] == seq {
			return all
		}
		if time.Now().After(limit) {
			t.Fatalf("entry %d does not come: %v", seq, all)
		}
	}
}

// upTo fails where what came is not each entry once, in order.
func upTo(t *testing.T, got []int64, n int) {
	t.Helper()
	for i, seq := range got {
		if seq != int64(i+1) {
			t.Fatalf("entry %d came as number %d of %v", seq, i+1, got)
		}
	}
	if len(got) != n {
		t.Fatalf("%d came, want %d", len(got), n)
	}
}

// run hands a log on until the test ends, or stop is called.
func run(t *testing.T, b *book, dir string, all ...relay.Receiver) (r *relay.Relay, stop func()) {
	t.Helper()
	r = relay.New(relay.Config{
		Log: b, Receivers: all, Dir: dir, Slog: slog.New(slog.DiscardHandler), Timeout: patience,
		Pause: func(int) time.Duration { return time.Millisecond },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return r, stop
}

func syslogTo(t *testing.T, to string, roots *x509.CertPool) relay.Receiver {
	t.Helper()
	r, err := relay.Syslog(to, roots, audit.Sender{Host: "here", PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// packets hears what comes in datagrams.
func packets(t *testing.T, c net.PacketConn) *heard {
	h := &heard{}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		for buf := make([]byte, 64<<10); ; {
			n, _, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			h.message(t, string(buf[:n]))
		}
	}()
	return h
}

func (h *heard) message(t *testing.T, text string) {
	head, body, ok := strings.Cut(text, "] \ufeff")
	if !ok || !strings.HasPrefix(head, "<109>1 2023-11-14T22:13:20.000000Z here muster 1 audit [audit@32473 seq=") {
		t.Errorf("%q came", text)
	}
	h.add(t, []byte(body))
}

// stream hears what comes by connections, with its length before it; the first
// connection it closes after as many messages.
func stream(t *testing.T, l net.Listener, closes int) *heard {
	h := &heard{}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for first := true; ; first = false {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in, n := bufio.NewReader(c), 1; ; n++ {
					var size int
					if _, err := fmt.Fscanf(in, "%d ", &size); err != nil {
						return
					}
					text := make([]byte, size)
					if _, err := io.ReadFull(in, text); err != nil {
						return
					}
					h.message(t, string(text))
					if first && n == closes {
						return
					}
				}
			}()
		}
	}()
	return h
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSyslogHearsEveryEntry by each way there is, what was written before and what
// comes later.
func TestSyslogHearsEveryEntry(t *testing.T) {
	t.Parallel()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	local, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	path2 := filepath.Join(t.TempDir(), "log")
	secure := httptest.NewTLSServer(nil) // for its certificate, which is for 127.0.0.1
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	tcp, unix := listen(t, "tcp", "127.0.0.1:0"), listen(t, "unix", path2)
	tl := tls.NewListener(listen(t, "tcp", "127.0.0.1:0"), &tls.Config{Certificates: secure.TLS.Certificates})
	for to, h := range map[string]*heard{
		"udp://" + udp.LocalAddr().String(): packets(t, udp), "unix://" + path: packets(t, local), "unix://" + path2: stream(t, unix, 0),
		"tcp://" + tcp.Addr().String(): stream(t, tcp, 0), "tls://" + tl.Addr().String(): stream(t, tl, 0),
	} {
		b := &book{}
		b.write(7)
		r, _ := run(t, b, t.TempDir(), syslogTo(t, to, roots))
		upTo(t, h.until(t, 7), 7)
		b.write(1)
		r.Ring()
		upTo(t, h.until(t, 8), 8)
	}
}

// TestTLSTrustsNobodyUnknown: nothing is handed to whom it does not know.
func TestTLSTrustsNobodyUnknown(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	l := tls.NewListener(listen(t, "tcp", "127.0.0.1:0"), &tls.Config{Certificates: secure.TLS.Certificates})
	h := stream(t, l, 0)
	n, err := syslogTo(t, "tls://"+l.Addr().String(), x509.NewCertPool()).Send(t.Context(), []core.AuditEntry{{Seq: 1}})
	if n != 0 || err == nil || !strings.Contains(err.Error(), "certificate") || len(h.seqs) != 0 {
		t.Errorf("%d were sent, %v, heard %v", n, err, h.seqs)
	}
}

// TestAClosedConnectionIsOpenedAnew, by what comes after it was noticed.
func TestAClosedConnectionIsOpenedAnew(t *testing.T) {
	t.Parallel()
	l := listen(t, "tcp", "127.0.0.1:0")
	h := stream(t, l, 2)
	b := &book{}
	b.write(2)
	r, _ := run(t, b, t.TempDir(), syslogTo(t, "tcp://"+l.Addr().String(), nil))
	h.until(t, 2)
	// Of what is written while the end is not noticed nobody says that it is lost: the
	// entries that come once it is have to arrive.
	for limit := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		b.write(1)
		r.Ring()
		h.mu.Lock()
		n := len(h.seqs)
		h.mu.Unlock()
		if n > 2 {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("nothing comes any more")
		}
	}
}

const secret = "whsec_c2VzYW1lIG9wZW4="

// signed fails where a request is not signed with secret.
func signed(t *testing.T, r *http.Request, body []byte) {
	h := hmac.New(sha256.New, []byte("sesame open"))
	fmt.Fprintf(h, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil)); r.Header.Get("webhook-signature") != want || r.Header.Get("webhook-id") == "" {
		t.Errorf("signature %q, want %q", r.Header.Get("webhook-signature"), want)
	}
}

// hook is a receiver of lines which answers as it is told; what it refuses it has not
// heard.
func hook(t *testing.T, answer func(n int) int) (string, *heard) {
	h := &heard{}
	n := 0
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		signed(t, r, body)
		mu.Lock()
		n++
		code := answer(n)
		mu.Unlock()
		if code == http.StatusOK {
			for line := range strings.Lines(string(body)) {
				h.add(t, []byte(line))
			}
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	return s.URL, h
}

func webhookTo(t *testing.T, to string) relay.Receiver {
	t.Helper()
	w, err := relay.Webhook(to, secret, notify.Client(patience), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestAWebhookHearsEveryEntryOnce, though it fails twice; a restart goes on where it was.
func TestAWebhookHearsEveryEntryOnce(t *testing.T) {
	t.Parallel()
	url, h := hook(t, func(n int) int {
		if n <= 2 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	b, dir := &book{}, t.TempDir()
	b.write(250)
	r, stop := run(t, b, dir, webhookTo(t, url))
	upTo(t, h.until(t, 250), 250)
	untilBehind(t, r, url, 0)
	stop()
	if m := metrics(t, r); m["muster_audit_export_failures_total "+url] != 2 || m["muster_audit_export_entries_total "+url] != 250 || len(m) != 4 {
		t.Errorf("metrics %v", m)
	}
	b.write(3)
	r, stop = run(t, b, dir, webhookTo(t, url))
	upTo(t, h.until(t, 253), 253)
	untilBehind(t, r, url, 0) // it may be stopped before it has heard that they were taken
	stop()

	// A log that was restored is another one: it is shorter, or has others since.
	came := 253
	for _, n := range []int{5, 300} {
		other := &book{}
		other.write(n)
		for i := range other.all {
			other.all[i].Hash = fmt.Sprintf("%064x", n*1000+i)
		}
		came += n
		_, stop := run(t, other, dir, webhookTo(t, url))
		for limit := time.Now().Add(patience); h.count() < came; time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("a restored log of %d is not handed on: %d came, want %d", n, h.count(), came)
			}
		}
		stop()
	}
}

// some takes three entries at a time, and then fails.
type some struct{ got []int64 }

func (s *some) Name() string { return "some" }
func (s *some) Close()       {}

func (s *some) Send(_ context.Context, all []core.AuditEntry) (int, error) {
	n := min(3, len(all))
	for _, e := range all[:n] {
		s.got = append(s.got, e.Seq)
	}
	return n, errors.New("it takes no more at once")
}

// TestWhatWasTakenIsNotSentAgain, and what was not is.
func TestWhatWasTakenIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b, s := &book{}, &some{}
	b.write(10)
	r, stop := run(t, b, t.TempDir(), s)
	untilBehind(t, r, "some", 0)
	stop()
	upTo(t, s.got, 10)
}

// untilBehind waits until a receiver lacks so many entries.
func untilBehind(t *testing.T, r *relay.Relay, to string, n float64) {
	t.Helper()
	for limit := time.Now().Add(patience); metrics(t, r)["muster_audit_export_behind "+to] != n; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("metrics %v", metrics(t, r))
		}
	}
}

// metrics are those of a relay, by name and receiver.
func metrics(t *testing.T, r *relay.Relay) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return got
}

// TestOneThatIsDownKeepsBackNobody, and how far behind it is can be read.
func TestOneThatIsDownKeepsBackNobody(t *testing.T) {
	t.Parallel()
	down := listen(t, "tcp", "127.0.0.1:0")
	_ = down.Close()
	url, h := hook(t, func(int) int { return http.StatusOK })
	b := &book{}
	b.write(3)
	dead := "http://" + down.Addr().String()
	r, _ := run(t, b, t.TempDir(), webhookTo(t, dead), webhookTo(t, url), syslogTo(t, "tcp://"+down.Addr().String(), nil))
	upTo(t, h.until(t, 3), 3)
	for limit := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		got := metrics(t, r)
		if got["muster_audit_export_behind "+dead] == 3 && got["muster_audit_export_failing "+dead] > 1 && got["muster_audit_export_behind "+url] == 0 && got["muster_audit_export_failing "+url] == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("metrics %v", got)
		}
	}
}

// TestReceiversAreChecked before anything is sent.
func TestReceiversAreChecked(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"", "host", "udp://", "udp://host", "http://host:1", "unix://", "unix://host/log", "tcp://host:1/path", "tls://u@host:1", "tcp://host:1?x=y"} {
		if _, err := relay.Syslog(to, nil, audit.Sender{}); err == nil || !strings.Contains(err.Error(), "tls://HOST:6514") {
			t.Errorf("%q: %v", to, err)
		}
	}
	for to, keys := range map[string]string{"ftp://host/": "", "host": "", "http://host": "whsec_?", "https://host": " \n"} {
		if _, err := relay.Webhook(to, keys, nil, nil); err == nil {
			t.Errorf("%q with %q is taken", to, keys)
		}
	}
	w, err := relay.Webhook("https://u:secret@host/path?secret#secret", "", nil, nil)
	if err != nil || w.Name() != "https://host/path" {
		t.Errorf("it is called %v, %v", w, errors.Join(err))
	}
}
