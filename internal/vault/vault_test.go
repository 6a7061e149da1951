package vault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/secret"
)

// server answers as the documentation of a vault says of the key-value engine (version 2)
// and of AppRole.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	kept    []string // versions; empty: nothing
	deleted bool
	sealed  bool
	tokens  map[string]bool
	logins  int
	race    func() // before something is kept
	seen    []http.Header
}

func newServer(t *testing.T) *server {
	t.Helper()
	v := &server{tokens: map[string]bool{"root-token": true}}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, words ...string) {
	answer(w, status, map[string]any{"errors": append([]string{}, words...)})
}

// ServeHTTP implements http.Handler.
func (v *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if v.race != nil && r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/data/") {
		race := v.race
		v.race = nil
		race()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, r.Header)
	var in struct {
		RoleID   string            `json:"role_id"`
		SecretID string            `json:"secret_id"`
		Options  map[string]int    `json:"options"`
		Data     map[string]string `json:"data"`
	}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			refuse(w, 400, "error parsing JSON")
			return
		}
	}
	switch {
	case v.sealed:
		refuse(w, 503, "Vault is sealed")
	case r.URL.Path == "/v1/auth/approle/login" && r.Method == http.MethodPost:
		if in.RoleID != "role" || in.SecretID != "role-secret" {
			refuse(w, 400, "invalid role or secret ID")
			return
		}
		v.logins++
		token := fmt.Sprintf("login-%d", v.logins)
		v.tokens[token] = true
		answer(w, 200, map[string]any{"auth": map[string]any{"client_token": token, "lease_duration": 3600, "renewable": true}})
	case !v.tokens[r.Header.Get("X-Vault-Token")]:
		refuse(w, 403, "permission denied")
	case r.URL.Path != "/v1/secret/data/muster/keys":
		refuse(w, 404)
	case r.Method == http.MethodGet && len(v.kept) == 0:
		refuse(w, 404)
	case r.Method == http.MethodGet && v.deleted:
		answer(w, 404, map[string]any{"data": map[string]any{"data": nil, "metadata": map[string]any{"version": len(v.kept), "deletion_time": "2026-01-01T00:00:00Z", "destroyed": false}}})
	case r.Method == http.MethodGet:
		answer(w, 200, map[string]any{"data": map[string]any{"data": map[string]string{"keys": v.kept[len(v.kept)-1]}, "metadata": map[string]any{"version": len(v.kept), "deletion_time": "", "destroyed": false}}})
	case in.Options["cas"] != len(v.kept):
		refuse(w, 400, "check-and-set parameter did not match the current version")
	default:
		v.kept = append(v.kept, in.Data["keys"])
		answer(w, 200, map[string]any{"data": map[string]any{"version": len(v.kept)}})
	}
}

// at is a vault by settings, of which %s is a directory with files.
func (v *server) at(t *testing.T, settings string) *Vault {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"token": "root-token\n", "secret-id": "role-secret\n", "wrong": "wrong", "vault.yaml": "address: " + v.URL + "\n" + settings} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := ReadFile(filepath.Join(dir, "vault.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := New(*s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	byToken = "tokenFile: token"
	byRole  = "appRole: {roleId: role, secretIdFile: secret-id}"
)

func sealed(t *testing.T, b *secret.Box, value string) core.Secret {
	t.Helper()
	text, err := b.Seal(core.SecretID{User: "ann", Name: "k"}, "env", map[string][]byte{"value": []byte(value)})
	if err != nil {
		t.Fatal(err)
	}
	return core.Secret{User: "ann", Name: "k", Type: "env", Sealed: text}
}

func opens(t *testing.T, b *secret.Box, s core.Secret, want string) {
	t.Helper()
	if values, err := b.Unseal(s); err != nil || string(values["value"]) != want {
		t.Errorf("%v", err)
	}
}

func open(t *testing.T, v *Vault) *secret.Box {
	t.Helper()
	b, err := secret.OpenKept(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestKeysAreKeptInAVault(t *testing.T) {
	for _, settings := range []string{byToken, byRole, byToken + "\nnamespace: team"} {
		v := newServer(t)
		one := open(t, v.at(t, settings))
		s := sealed(t, one, "one")
		other := open(t, v.at(t, settings))
		opens(t, other, s, "one")
		if len(v.kept) != 1 || len(v.kept[0]) != 65 {
			t.Errorf("%s: kept are %d versions", settings, len(v.kept))
		}
		if err := one.Rotate(); err != nil || len(v.kept) != 2 || len(v.kept[1]) != 130 {
			t.Errorf("%s: a second key: %v, %d versions", settings, err, len(v.kept))
		}
		opens(t, other, sealed(t, one, "two"), "two") // it asks again
		opens(t, one, s, "one")
		for _, h := range v.seen {
			if strings.Contains(settings, "team") != (h.Get("X-Vault-Namespace") == "team") || h.Get("X-Vault-Request") != "true" {
				t.Errorf("%s: %v", settings, h)
			}
		}
		if text := fmt.Sprintf("%v %+v %s", one, one, one); strings.Contains(text, v.kept[0][:16]) || !strings.Contains(text, "secret/muster/keys in the vault") {
			t.Error(text)
		}
	}
}

// TestFieldsOfAnotherPath: what else is kept there is read by its names; what is no text,
// and what is not there, is none.
func TestFieldsOfAnotherPath(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Vault-Token") != "root-token":
			refuse(w, http.StatusForbidden, "permission denied")
		case r.URL.Path == "/v1/secret/data/muster/checks":
			answer(w, http.StatusOK, map[string]any{"data": map[string]any{"data": map[string]any{"vision.gate": "k1", "n": 7}, "metadata": map[string]any{"version": 3}}})
		default:
			refuse(w, http.StatusNotFound)
		}
	}))
	defer srv.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("root-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := New(Settings{Address: srv.URL, Mount: "secret", Path: "muster/keys", TokenFile: token})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Fields("muster/checks"); err != nil || len(got) != 1 || got["vision.gate"] != "k1" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := v.Fields("muster/nothing"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := v.Fields("../sys"); err == nil || !strings.Contains(err.Error(), "no path in a vault") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(token, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Fields("muster/checks"); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("%v", err)
	}
}

func TestTwoServersMakeOneKey(t *testing.T) {
	v := newServer(t)
	first := v.at(t, byToken)
	var faster *secret.Box
	v.race = func() { faster = open(t, v.at(t, byToken)) }
	slower := open(t, first)
	opens(t, slower, sealed(t, faster, "x"), "x")
	if len(v.kept) != 1 {
		t.Errorf("%d versions", len(v.kept))
	}
	v.race = func() {
		if err := faster.Rotate(); err != nil {
			t.Error(err)
		}
	}
	if err := slower.Rotate(); err == nil || !strings.Contains(err.Error(), "check-and-set") {
		t.Errorf("who is slower would take the other's key away: %v", err)
	}
	opens(t, slower, sealed(t, faster, "y"), "y")
}

func TestALoginThatIsOverIsMadeAgain(t *testing.T) {
	v := newServer(t)
	k := v.at(t, byRole)
	open(t, k)
	v.mu.Lock()
	v.tokens = map[string]bool{}
	v.mu.Unlock()
	if _, version, err := k.Keys(); err != nil || version != 1 || v.logins != 2 {
		t.Errorf("version %d, %d logins: %v", version, v.logins, err)
	}
}

func TestWhatAVaultRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		change   func(*server)
		want     string
	}{
		"a wrong token":    {"tokenFile: wrong", nil, "its policy has to allow read, create and update of secret/data/muster/keys (permission denied)"},
		"no token":         {"tokenFile: none", nil, "tokenFile: open"},
		"a wrong role":     {"appRole: {roleId: role, secretIdFile: wrong}", nil, "by appRole: the vault"},
		"a wrong mount":    {"mount: other\ntokenFile: token", nil, "no key-value engine at other"},
		"it is sealed":     {byToken, func(v *server) { v.sealed = true }, "it is sealed, or stands by"},
		"keys are deleted": {byToken, func(v *server) { v.kept, v.deleted = []string{"x"}, true }, "was deleted there: vault kv undelete"},
		"no keys":          {byToken, func(v *server) { v.kept = []string{"nonsense"} }, "must be lines of 64 hexadecimal digits"},
		"it is down":       {byToken, func(v *server) { v.Close() }, "the vault does not answer"},
	} {
		v := newServer(t)
		if c.change != nil {
			c.change(v)
		}
		before := len(v.kept)
		_, err := secret.OpenKept(v.at(t, c.settings))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "role-secret") || strings.Contains(err.Error(), "root-token") || strings.Contains(err.Error(), "nonsense")) {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
		if len(v.kept) != before {
			t.Errorf("%s: something was kept", name)
		}
	}
	// What stands in the way and leads elsewhere gets no token.
	var got atomicHeader
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.set(r.Header) }))
	defer elsewhere.Close()
	leads := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer leads.Close()
	v := newServer(t)
	k := v.at(t, byToken)
	k.s.Address = leads.URL
	if _, _, err := k.Keys(); err == nil || got.get() != nil {
		t.Errorf("a redirect: %v, %v", err, got.get())
	}
}

type atomicHeader struct {
	mu sync.Mutex
	h  http.Header
}

func (a *atomicHeader) set(h http.Header) { a.mu.Lock(); a.h = h; a.mu.Unlock() }

func (a *atomicHeader) get() http.Header { a.mu.Lock(); defer a.mu.Unlock(); return a.h }

func TestSettingsThatAreWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vault.yaml")
	for text, want := range map[string]string{
		"": "the file is empty",
		"address: http://vault.acme.com\ntokenFile: t":                            "is not an https URL",
		"address: https://u:p@vault.acme.com\ntokenFile: t":                       "is not an https URL",
		"address: https://v\ntokenFile: t\npath: ../x":                            `path: "../x" is no path in a vault`,
		"address: https://v\ntokenFile: t\nmount: a?b":                            `mount: "a?b" is no path`,
		"address: https://v":                                                      "two ways to log in",
		"address: https://v\ntokenFile: t\nappRole: {roleId: r, secretIdFile: s}": "two ways to log in",
		"address: https://v\nappRole: {secretIdFile: s}":                          "appRole.roleId: is missing",
		"address: https://v\nappRole: {roleId: r}":                                "appRole.secretIdFile: is missing",
		"adress: https://v":                                                       "did you mean address?",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
