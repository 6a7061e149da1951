package browser_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/ldaptest"
	"github.com/musterhq/muster/internal/testing/oidctest"
)

// withSSO is a world whose people sign in by an identity provider: ann, who is in the
// group vision, and boss, whose name is that of a service account; or by a directory, which knows bob.
func withSSO(t *testing.T) *world {
	t.Helper()
	p, err := oidctest.Start(
		oidctest.User{ID: "0-ann", Name: "ann", Password: "pw", Groups: []string{"vision"}},
		oidctest.User{ID: "0-boss", Name: "boss", Password: "pw"},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	d, err := ldaptest.Start(t.TempDir())
	if errors.Is(err, ldaptest.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret": oidctest.Secret,
		"sso.yaml": "oidc: {name: Acme, issuer: \"" + p.URL + "\", clientId: " + oidctest.ClientID + ", clientSecretFile: " + filepath.Join(dir, "secret") + "}\n" +
			"ldap: {name: the staff, url: \"" + d.TLS + "\", caFile: " + d.CAFile + ", bindDN: \"" + ldaptest.BindDN + "\", bindPasswordFile: password, users: \"" + ldaptest.Users + "\"}\n",
		"password": ldaptest.Password,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	w := newWorld(t, "--listen", at, "--sso", filepath.Join(dir, "sso.yaml"))
	w.url = "http://" + at
	w.muster("project", "create", "vision")
	w.muster("service-account", "create", "boss")
	w.muster("access-rule", "create", "--group", "vision", "--role", "l1-researcher", "--project", "vision")
	w.muster("access", "enable")
	return w
}

// atProvider signs in on the provider's page.
func (g *page) atProvider(name, password string) {
	g.t.Helper()
	g.until(`document.title === 'Test provider'`)
	g.click("#username")
	g.write(name)
	g.click("#password")
	g.write(password)
	g.press("Enter")
}

func TestPeopleSignInByAnIdentityProvider(t *testing.T) {
	w := withSSO(t)
	g := w.newPage(1280, 800)
	g.must(g.Open(w.url + "/ui/projects?q=vision"))
	g.until(`location.pathname.endsWith('/ui/login')`)
	g.clickText("button", "Sign in with Acme")
	g.atProvider("ann", "pw")
	g.until(`location.pathname.endsWith('/ui/projects') && location.search === '?q=vision'`) // where they were
	g.shows("vision")
	if who := w.muster("token", "list"); !strings.Contains(who, "ann") {
		t.Errorf("there is no session of ann:\n%s", who)
	}
	var cookies string
	g.must(g.Eval(`document.cookie`, &cookies))
	if cookies != "" {
		t.Errorf("a page reads the cookie: %s", cookies)
	}

	// They sign out, there too.
	g.until(`document.querySelector('[aria-label="Sign out"]')`)
	g.click(`[aria-label="Sign out"]`)
	g.until(`document.body.innerText.includes('signed out')`)
	if who := w.muster("token", "list"); strings.Contains(who, "ann") {
		t.Errorf("the session is left:\n%s", who)
	}
	g.must(g.Open(w.url + "/ui/workloads"))
	g.until(`location.pathname.endsWith('/ui/login')`)

	// Who is not let in is told why.
	g.clickText("button", "Sign in with Acme")
	g.atProvider("boss", "pw")
	g.shows(`service account "boss"`)
	g.until(`location.pathname.endsWith('/ui/login') && !location.search.includes('code')`)

	// A password that the directory knows lets in, another one does not.
	for _, password := range []string{"not bob's", "pw of bob"} {
		g.must(g.Eval(`document.getElementById('user').value = ''; document.getElementById('password').value = ''`, nil))
		g.click("#user")
		g.write("bob")
		g.click("#password")
		g.write(password)
		g.press("Enter")
		if password == "not bob's" {
			g.shows("The name or the password is wrong")
		}
	}
	g.until(`location.pathname.endsWith('/ui/workloads')`)
	g.until(`document.querySelector('[aria-label="Sign out"]')`)
	g.click(`[aria-label="Sign out"]`)
	g.until(`location.pathname.endsWith('/ui/login')`)

	// What another browser has begun lets nobody in here.
	g.must(g.Open(w.url + "/ui/login?code=of+somebody+else&state=begun+elsewhere"))
	g.shows("The sign-in was not begun in this tab")
}
