package notify_test

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/notify"
)

const patience = time.Minute

// outbox keeps deliveries in memory.
type outbox struct {
	most    int // that were asked for at once
	mu      sync.Mutex
	all     map[string]core.Delivery
	secrets map[string]string
	broken  int // so many times nothing can be written
	changed chan struct{}
}

func (o *outbox) Due(_ context.Context, now time.Time, without []string, limit int) ([]core.Delivery, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.most = max(o.most, limit)
	var due []core.Delivery
	for _, d := range o.all {
		if d.State == core.DeliveryWaiting && !d.NextAt.After(now) {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b core.Delivery) int { return cmp.Or(a.NextAt.Compare(b.NextAt), cmp.Compare(a.ID, b.ID)) })
	met := slices.Clone(without)
	due = slices.DeleteFunc(due, func(d core.Delivery) bool {
		again := slices.Contains(met, d.Target())
		met = append(met, d.Target())
		return again
	})
	return due[:min(len(due), limit)], nil
}

func (o *outbox) Next(_ context.Context, after time.Time) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := time.Time{}
	for _, d := range o.all {
		if d.State == core.DeliveryWaiting && d.NextAt.After(after) && (next.IsZero() || d.NextAt.Before(next)) {
			next = d.NextAt
		}
	}
	return next, nil
}

func (o *outbox) Tried(_ context.Context, ds []core.Delivery) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken > 0 {
		o.broken--
		return errors.New("the disk is full")
	}
	for _, d := range ds {
		o.all[d.ID] = d
	}
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return nil
}

func (o *outbox) Secret(_ context.Context, id core.SecretID) (core.Secret, error) {
	if _, ok := o.secrets[id.Name]; !ok || id.User != "ana" {
		return core.Secret{}, errors.New("the secret " + id.Name + " does not exist any more")
	}
	return core.Secret{User: id.User, Name: id.Name}, nil
}

func (o *outbox) state(id string) core.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[id]
}

// until waits for a delivery to be in a state.
func (o *outbox) until(t *testing.T, id string, state core.DeliveryState) core.Delivery {
	t.Helper()
	limit := time.After(patience)
	for {
		if d := o.state(id); d.State == state {
			return d
		}
		select {
		case <-o.changed:
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Fatalf("delivery %s is %+v, not %s", id, o.state(id), state)
		}
	}
}

// untilTried waits for a delivery to have been tried.
func (o *outbox) untilTried(t *testing.T, id string) {
	t.Helper()
	for limit := time.Now().Add(patience); o.state(id).Tries == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("delivery %s is %+v", id, o.state(id))
		}
	}
}

// put adds a delivery that is due.
func (o *outbox) put(id string, to spec.Notification) {
	d := failed(id, to)
	d.User, d.State, d.NextAt = "ana", core.DeliveryWaiting, time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[id] = d
}

// send runs a sender over deliveries until the test ends.
func send(t *testing.T, c notify.Config, secrets map[string]string, ds ...core.Delivery) *outbox {
	t.Helper()
	o := &outbox{all: map[string]core.Delivery{}, secrets: secrets, changed: make(chan struct{}, 1)}
	for _, d := range ds {
		d.User, d.State, d.NextAt = "ana", core.DeliveryWaiting, time.Now()
		o.all[d.ID] = d
	}
	run(t, c, o)
	return o
}

func run(t *testing.T, c notify.Config, o *outbox) (stop func()) {
	t.Helper()
	c.Outbox, c.Log, c.Clock, c.Source = o, slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now, "muster"
	c.Open = func(s core.Secret) (string, error) { return o.secrets[s.Name], nil }
	if c.Pauses == nil {
		c.Pauses = []time.Duration{time.Millisecond, time.Millisecond}
	}
	c.Rest = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { notify.New(c).Run(ctx); close(done) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// failed is a delivery of a workload that failed.
func failed(id string, to spec.Notification) core.Delivery {
	culprit := 3
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return core.Delivery{ID: id, To: to, On: "Failed", What: core.Happening{
		Workload: "01abc", Name: "mnist", Project: "nlp", Kind: lifecycle.Training, Attempt: 2, From: lifecycle.Running, Phase: lifecycle.Failed,
		Reason: "ExitCode", Message: "task 3 ended with <1> & naïvely", Culprit: &culprit, At: at, StartedAt: at.Add(-time.Hour), EndedAt: at, GPUSeconds: 5400,
	}}
}

// heard is one request as a receiver saw it.
type heard struct {
	path   string
	header http.Header
	body   []byte
}

// receiver is an HTTP server that answers as told and remembers what it heard.
func receiver(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) (string, func() []heard) {
	t.Helper()
	var mu sync.Mutex
	var all []heard
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, heard{r.URL.Path, r.Header, body})
		n := len(all)
		mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []heard { mu.Lock(); defer mu.Unlock(); return slices.Clone(all) }
}

func status(codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[min(n, len(codes))-1]) }
}

// verify is what a receiver does with the headers, by the text of Standard
// Webhooks.
func verify(h heard, key []byte) bool {
	m := hmac.New(sha256.New, key)
	_, _ = io.WriteString(m, h.header.Get("webhook-id")+"."+h.header.Get("webhook-timestamp")+"."+string(h.body))
	want := base64.StdEncoding.EncodeToString(m.Sum(nil))
	for _, s := range strings.Split(h.header.Get("webhook-signature"), " ") {
		if version, signature, _ := strings.Cut(s, ","); version == "v1" && signature == want {
			return true
		}
	}
	return false
}

func TestAWebhookIsSignedAndTriedAgain(t *testing.T) {
	t.Parallel()
	url, all := receiver(t, status(500, 503, 204))
	raw := []byte("0123456789abcdef01234567")
	o := send(t, notify.Config{}, map[string]string{"key": "whsec_" + base64.StdEncoding.EncodeToString(raw) + "\nplain words\n"},
		failed("m1", spec.Notification{Webhook: url + "/hook", Secret: "key"}))
	if d := o.until(t, "m1", core.DeliveryDelivered); d.Tries != 3 || d.Problem != "" || !d.NextAt.IsZero() {
		t.Errorf("in the end: %+v", d)
	}
	tries := all()
	if len(tries) != 3 {
		t.Fatalf("%d tries", len(tries))
	}
	for _, h := range tries {
		if !verify(h, raw) || !verify(h, []byte("plain words")) || verify(h, []byte("another")) {
			t.Errorf("signature %q of %s", h.header.Get("webhook-signature"), h.body)
		}
		if id := h.header.Get("webhook-id"); id != "m1" {
			t.Errorf("a try has id %q", id)
		}
		var e struct {
			SpecVersion, ID, Source, Type, Subject, Time string
			Data                                         struct {
				Name, Phase, Reason, User, On string
				Attempt, Culprit              int
			}
		}
		if err := json.Unmarshal(h.body, &e); err != nil || h.header.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" {
			t.Fatalf("%v: %s", err, h.body)
		}
		if e.SpecVersion != "1.0" || e.ID != "m1" || e.Source != "muster" || e.Type != "dev.muster.workload.failed.v1" || e.Subject != "workloads/01abc" || e.Time != "2026-03-01T12:00:00Z" {
			t.Errorf("event %+v", e)
		}
		if d := e.Data; d.Name != "mnist" || d.Phase != "Failed" || d.Reason != "ExitCode" || d.User != "ana" || d.On != "Failed" || d.Attempt != 2 || d.Culprit != 3 {
			t.Errorf("data %+v", d)
		}
	}
}

func TestWhatCannotBeDeliveredIsGivenUp(t *testing.T) {
	t.Parallel()
	refuses, refused := receiver(t, status(500))
	gone, goneHeard := receiver(t, status(410))
	elsewhere, elsewhereHeard := receiver(t, status(200))
	leads, leadsHeard := receiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/inside", http.StatusTemporaryRedirect)
	})
	moves, movesHeard := receiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			http.Redirect(w, r, "/there", http.StatusPermanentRedirect)
		}
	})
	o := send(t, notify.Config{}, map[string]string{"empty": "\n", "slack": "ftp://h/T000/secret-part"},
		failed("refused", spec.Notification{Webhook: refuses}), failed("gone", spec.Notification{Webhook: gone}),
		failed("leads", spec.Notification{Webhook: leads}), failed("moves", spec.Notification{Webhook: moves}),
		failed("nokey", spec.Notification{Webhook: elsewhere + "/nokey", Secret: "none"}), failed("empty", spec.Notification{Webhook: elsewhere + "/empty", Secret: "empty"}),
		failed("slack", spec.Notification{Slack: "slack"}), failed("mail", spec.Notification{Email: "a@b"}))
	for id, want := range map[string]struct {
		tries int
		says  string
	}{
		"refused": {3, "answers 500"}, "gone": {1, "410 Gone"}, "leads": {3, "leads elsewhere"}, "nokey": {3, "secret none does not exist"},
		"empty": {1, "holds no key"}, "slack": {1, "not an http or https URL"}, "mail": {1, "no mail"},
	} {
		d := o.until(t, id, core.DeliveryFailed)
		if d.Tries != want.tries || !strings.Contains(d.Problem, want.says) || strings.Contains(d.Problem, "secret-part") {
			t.Errorf("%s: %d tries, %q", id, d.Tries, d.Problem)
		}
	}
	o.until(t, "moves", core.DeliveryDelivered)
	if h := movesHeard(); len(h) != 2 || h[1].path != "/there" || string(h[0].body) != string(h[1].body) {
		t.Errorf("on the same host a redirect came to %v", h)
	}
	if n := len(elsewhereHeard()); n != 0 {
		t.Errorf("the other host was asked %d times", n)
	}
	if len(refused()) != 3 || len(goneHeard()) != 1 || len(leadsHeard()) != 3 {
		t.Errorf("asked %d, %d and %d times", len(refused()), len(goneHeard()), len(leadsHeard()))
	}
}

func TestSlackHearsAText(t *testing.T) {
	t.Parallel()
	url, all := receiver(t, status(200))
	o := send(t, notify.Config{}, map[string]string{"slack": url + "/services/T0\n"}, failed("s", spec.Notification{Slack: "slack"}))
	o.until(t, "s", core.DeliveryDelivered)
	var said struct{ Text string }
	if h := all(); len(h) != 1 || h[0].path != "/services/T0" || json.Unmarshal(h[0].body, &said) != nil {
		t.Fatalf("heard %v", h)
	}
	for _, part := range []string{"*mnist is Failed: ExitCode*", "&lt;1&gt; &amp; naïvely", "project nlp", "task 3", "1.50 GPU hours"} {
		if !strings.Contains(said.Text, part) {
			t.Errorf("%q lacks %q", said.Text, part)
		}
	}
}

// TestOneThatHangsHoldsUpNoOther: and each receiver hears things in order, even
// where it cannot be written at first what became of them.
func TestOneThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs, _ := receiver(t, func(int, http.ResponseWriter, *http.Request) { <-release })
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	url, all := receiver(t, status(200))
	ds := []core.Delivery{failed("hangs", spec.Notification{Webhook: hangs})}
	for i := range 20 {
		ds = append(ds, failed(fmt.Sprintf("m%02d", i), spec.Notification{Webhook: url}))
	}
	o := &outbox{all: map[string]core.Delivery{}, changed: make(chan struct{}, 1), broken: 3}
	at := time.Now()
	for i, d := range ds {
		d.User, d.State, d.NextAt = "ana", core.DeliveryWaiting, at.Add(time.Duration(i))
		o.all[d.ID] = d
	}
	run(t, notify.Config{Timeout: patience}, o)
	o.until(t, "m19", core.DeliveryDelivered)
	for i, h := range all() {
		if id := h.header.Get("webhook-id"); id != fmt.Sprintf("m%02d", i) {
			t.Errorf("the %dth was %s", i, id)
		}
	}
	if n := len(all()); n != 20 {
		t.Errorf("20 deliveries came %d times", n)
	}
	once.Do(func() { close(release) })
	o.until(t, "hangs", core.DeliveryDelivered)
}

// TestAnotherSenderGoesOn: what was under way when a server ended is sent by
// the next one, with the same id.
func TestAnotherSenderGoesOn(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	url, all := receiver(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			close(began)
			<-release
		}
	})
	t.Cleanup(func() { close(release) })
	o := &outbox{all: map[string]core.Delivery{}, changed: make(chan struct{}, 1)}
	d := failed("m", spec.Notification{Webhook: url})
	d.User, d.State, d.NextAt = "ana", core.DeliveryWaiting, time.Now()
	o.all["m"] = d
	stop := run(t, notify.Config{Timeout: patience}, o)
	<-began
	stop()
	if d := o.state("m"); d.State != core.DeliveryWaiting || d.Tries != 0 {
		t.Errorf("after the end: %+v", d)
	}
	run(t, notify.Config{}, o)
	o.until(t, "m", core.DeliveryDelivered)
	if h := all(); len(h) != 2 || h[0].header.Get("webhook-id") != h[1].header.Get("webhook-id") {
		t.Errorf("heard %v", h)
	}
}
