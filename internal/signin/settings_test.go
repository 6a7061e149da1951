package signin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = "oidc: {issuer: https://login.acme.com, clientId: muster, clientSecretFile: secret}"
	s, err := Read([]byte(good), dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.SessionLife() != 12*time.Hour || s.OIDC.NameClaim != "preferred_username" || s.OIDC.GroupsClaim != "groups" || s.OIDC.Name != "single sign-on" || s.OIDC.ClientSecretFile != filepath.Join(dir, "secret") {
		t.Errorf("%+v %+v", s, s.OIDC)
	}
	for text, want := range map[string]string{
		"":                              "the file is empty",
		"session: 1h":                   "oidc: is missing",
		"session: 1s\n" + good:          "session",
		"session: 90d\n" + good:         "session",
		"oidc: {clientId: muster}":      "oidc.issuer",
		"oidc: {issuer: https://a.com}": "oidc.clientId",
		"oidc: {issuer: ftp://a.com, clientId: x}":                                     "is not an https URL",
		"oidc: {issuer: http://login.acme.com, clientId: x}":                           "is not encrypted",
		"oidc: {issuer: https://u:p@login.acme.com, clientId: x}":                      "is not a URL of a provider",
		"oidc: {issuer: https://a.com, clientId: x, clientSecretFile: gone}":           "oidc.clientSecretFile: open " + dir,
		"oidc: {issuer: https://a.com, clientId: x, domains: [\"ann@acme.com\"]}":      "oidc.domains[0]",
		"oidc:\n  issuer: https://a.com\n  clientId: x\n  clientSecret: in the file\n": "line 4: oidc.clientSecret: unknown field",
	} {
		if _, err := Read([]byte(text), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, at := range []string{"http://127.0.0.1:8080/x", "http://localhost/", "http://[::1]:1", "https://a"} {
		if p := Endpoint(at); p != "" {
			t.Errorf("%s %s", at, p)
		}
	}
}
