package main

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/musterhq/muster/internal/testing/ldaptest"
	"github.com/musterhq/muster/internal/testing/oidctest"
)

// oidcprovider starts an identity provider on loopback, where ann (of the groups vision
// and staff) and root have accounts, each with the password pw. Its URL is $ISSUER; $FREE
// is a HOST:PORT on which nothing listens, for a server before it.
func oidcprovider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: oidcprovider")
	}
	p, err := oidctest.Start(
		oidctest.User{ID: "0-ann", Name: "ann", Password: "pw", Email: "ann@acme.com", Verified: true, Groups: []string{"vision", "staff"}},
		oidctest.User{ID: "0-root", Name: "root", Password: "pw"},
	)
	ts.Check(err)
	ts.Defer(p.Close)
	ts.Setenv("ISSUER", p.URL)
	ts.Setenv("SECRET", oidctest.Secret)
	freePortFor(ts)
}

// opened is the last address that a command asked somebody to open.
var opened = regexp.MustCompile(`(?i)open (http\S+)\s`)

// signsin is somebody with a browser, who waits until a file tells an address to open,
// and signs in there: signsin FILE USER.
func signsin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signsin FILE USER")
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		if all := opened.FindAllStringSubmatch(string(text), -1); all != nil && (strings.Contains(string(text), "or open") || !strings.Contains(string(text), "enter the code")) {
			_, err := oidctest.SignIn(all[len(all)-1][1], "", args[1], "pw")
			ts.Check(err)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nobody was asked to open an address:\n%s", text)
		}
	}
}

// directory starts a directory on loopback (LDAP), in which ann, of the groups vision and
// staff, has the password "pw of ann". The settings of single sign-on are in sso.yaml.
func directory(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: directory")
	}
	d, err := ldaptest.Start(ts.Getenv("WORK"))
	ts.Check(err)
	ts.Defer(d.Close)
	ts.Check(os.WriteFile(ts.MkAbs("bind"), []byte(ldaptest.Password), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("sso.yaml"), []byte("ldap:\n  url: "+d.TLS+"\n  caFile: "+d.CAFile+"\n  bindDN: "+ldaptest.BindDN+"\n  bindPasswordFile: bind\n  users: "+ldaptest.Users+"\n"), 0o600))
	freePortFor(ts)
}

// freePortFor sets $FREE to a HOST:PORT on which nothing listens.
func freePortFor(ts *testscript.TestScript) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("FREE", l.Addr().String())
	ts.Check(l.Close())
}

// hasDirectory reports whether there is a program for one.
func hasDirectory() bool {
	_, err := exec.LookPath("slapd")
	if err != nil {
		_, err = exec.LookPath("/usr/sbin/slapd")
	}
	return err == nil
}
