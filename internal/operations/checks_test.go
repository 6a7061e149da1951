package operations

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/outward"
)

// signed reports whether a request is signed with a key, lately.
func signed(r *http.Request, body []byte, key string) bool {
	at, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > time.Minute {
		return false
	}
	h := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(h, r.Header.Get("webhook-id")+"."+r.Header.Get("webhook-timestamp")+".")
	h.Write(body)
	given, _ := strings.CutPrefix(r.Header.Get("webhook-signature"), "v1,")
	mac, err := base64.StdEncoding.DecodeString(given)
	return err == nil && hmac.Equal(mac, h.Sum(nil))
}

// gate are hands whose guard lets them call this machine, and the check of a scope.
func gate(t *testing.T, url string, hook core.CheckHook) (*Hands, core.CheckState) {
	t.Helper()
	rules, err := address.ParseRules([]string{"127.0.0.1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := hands(t, func(c *Config) {
		c.Carry = outward.New(rules).Transport
		c.Secret = func(_ context.Context, id core.SecretID) (string, error) {
			if id != (core.SecretID{User: "root", Name: "key"}) {
				return "", errors.New("it is there no more")
			}
			return "hush\n", nil
		}
	})
	return h, core.CheckState{Name: "gate", Type: "webhook", When: "queue", Scope: core.SystemScope, URL: url, Hook: &hook}
}

func TestQuestionsAreSigned(t *testing.T) {
	var dry []bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !signed(r, body, "hush") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var q struct {
			DryRun bool   `json:"dryRun"`
			Scope  string `json:"scope"`
		}
		_ = json.Unmarshal(body, &q)
		dry = append(dry, q.DryRun)
		_, _ = io.WriteString(w, `{"decision":"deny","message":"no \u001b[2Jroom"}`)
	}))
	defer srv.Close()
	w := workload(t, `{command: ["true"]}`)
	h, c := gate(t, srv.URL, core.CheckHook{Secret: core.SecretID{User: "root", Name: "key"}})
	a, err := h.Ask(t.Context(), w, c)
	if err != nil || a.Verdict != core.CheckRejected || a.Message != "no [2Jroom" {
		t.Errorf("%+v %v", a, err)
	}
	c.Hook.Trial = true
	if _, err := h.Ask(t.Context(), w, c); err != nil || len(dry) != 2 || dry[0] || !dry[1] {
		t.Errorf("dry runs: %v %v", dry, err)
	}
	c.Hook.Secret = core.SecretID{}
	if _, err := h.Ask(t.Context(), w, c); err == nil || err.Error() != "its receiver answered 401 Unauthorized" {
		t.Errorf("without a signature: %v", err)
	}
	h.CheckKeys = func(scope core.ProjectID, name string) (string, error) {
		switch {
		case scope != core.SystemScope:
			return "", errors.New("of another scope")
		case name == "gate":
			return "hush", nil
		case name == "shut":
			return "", errors.New("/etc/keys: permission denied")
		}
		return "", nil
	}
	if _, err := h.Ask(t.Context(), w, c); err != nil {
		t.Errorf("with keys of the server: %v", err)
	}
	c.Called, c.Name = "gate", "gate-2" // as it is called in its scope
	c.Hook.Secret = core.SecretID{User: "root", Name: "lost"}
	if _, err := h.Ask(t.Context(), w, c); err != nil {
		t.Errorf("keys of the server go before a secret: %v", err)
	}
	c.Called = "shut"
	if _, err := h.Ask(t.Context(), w, c); err == nil || strings.Contains(err.Error(), "/etc") || !strings.Contains(err.Error(), "cannot be had") {
		t.Errorf("keys that cannot be read: %v", err)
	}
	c.Called, c.Name = "", "other"
	if _, err := h.Ask(t.Context(), w, c); err == nil || !strings.Contains(err.Error(), "secret lost of root: it is there no more") {
		t.Errorf("a lost secret: %v", err)
	}
}

func TestWaitSaysForHowLong(t *testing.T) {
	for answer, want := range map[string]time.Duration{
		`{"decision":"wait","retryAfterSeconds":90}`: 90 * time.Second, `{"decision":"wait","retryAfterSeconds":1e300}`: 24 * time.Hour,
		`{"decision":"wait","retryAfterSeconds":-5}`: 0, `{"decision":"wait"}`: 7 * time.Second, // of its header
	} {
		a, err := understood("x", []byte(answer), "7")
		if err != nil || a.After != want || a.Verdict != core.CheckWaiting {
			t.Errorf("%s: %+v %v", answer, a, err)
		}
	}
}

func TestProgramsThatDoNotAnswer(t *testing.T) {
	var mode atomic.Value // a string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch mode.Load() {
		case "hangs":
			<-r.Context().Done()
		case "dies":
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = c.Close()
			}
		case "nonsense":
			_, _ = io.WriteString(w, "<html>yes</html>")
		case "much":
			_, _ = io.WriteString(w, `{"decision":"approve","message":"`)
			for range 10 << 10 {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<10)); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, `"}`)
		case "headers":
			for i := range 200 {
				w.Header().Set("X-"+strconv.Itoa(i), strings.Repeat("y", 1<<10))
			}
			_, _ = io.WriteString(w, `{"decision":"approve"}`)
		case "leads":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
		}
	}))
	defer srv.Close()
	w := workload(t, `{command: ["true"]}`)
	h, c := gate(t, srv.URL, core.CheckHook{})
	for _, x := range []struct{ mode, want string }{
		{"hangs", "its receiver does not answer in time"}, {"dies", "its receiver ends the connection without an answer"}, {"nonsense", "its receiver answered what is not JSON"},
		{"much", "its receiver answered more than 64 KiB"}, {"headers", "what its receiver answers is not HTTP"}, {"leads", "its receiver answered 307"},
	} {
		mode.Store(x.mode)
		within := time.Minute
		if x.mode == "hangs" {
			within = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		a, err := h.Ask(ctx, w, c)
		cancel()
		if err == nil || !strings.HasPrefix(err.Error(), x.want) || strings.Contains(err.Error(), srv.URL) {
			t.Errorf("%s: %+v %v, want %q without its address", x.mode, a, err, x.want)
		}
	}
	srv.Close()
	h, c = gate(t, srv.URL, core.CheckHook{}) // without connections that were open
	if _, err := h.Ask(t.Context(), w, c); err == nil || err.Error() != "its receiver refuses connections" {
		t.Errorf("nobody is there: %v", err)
	}
	c.URL = "http://169.254.169.254/"
	var refused *address.Refused
	if _, err := h.Ask(t.Context(), w, c); !errors.As(err, &refused) {
		t.Errorf("an address of the machine's own: %v", err)
	}
}

func TestProgramsAreKnownByCertificatesOfTheCheck(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	}))
	defer srv.Close()
	w := workload(t, `{command: ["true"]}`)
	h, c := gate(t, srv.URL, core.CheckHook{})
	if _, err := h.Ask(t.Context(), w, c); err == nil || err.Error() != "the certificate of its receiver is not trusted" {
		t.Errorf("by the machine's certificates: %v", err)
	}
	c.Hook.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	if a, err := h.Ask(t.Context(), w, c); err != nil || a.Verdict != core.CheckApproved {
		t.Errorf("%+v %v", a, err)
	}
}
