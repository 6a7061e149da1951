package ldap

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/signin"
	"github.com/musterhq/muster/internal/testing/ldaptest"
)

func directory(t *testing.T) *ldaptest.Directory {
	t.Helper()
	d, err := ldaptest.Start(t.TempDir())
	if errors.Is(err, ldaptest.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// settings are read as they are from a file, so that defaults are those of the product.
func settings(t *testing.T, d *ldaptest.Directory, more string) signin.LDAP {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte(ldaptest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := signin.Read([]byte("ldap:\n  url: "+d.TLS+"\n  caFile: "+d.CAFile+"\n  bindDN: "+ldaptest.BindDN+"\n  bindPasswordFile: password\n  users: "+ldaptest.Users+"\n"+more), dir)
	if err != nil {
		t.Fatal(err)
	}
	return *s.LDAP
}

func open(t *testing.T, s signin.LDAP) *Directory {
	t.Helper()
	d, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPeopleSignInByTheirPassword(t *testing.T) {
	at := directory(t)
	for name, more := range map[string]string{
		"by memberOf":         "",
		"by groups' members":  "  groups: " + ldaptest.Groups + "\n",
		"by names of members": "  groups: " + ldaptest.Groups + "\n  groupFilter: (|(member={dn})(memberUid={name}))\n",
	} {
		d := open(t, settings(t, at, more))
		who, err := d.Check(t.Context(), "ann", "pw of ann")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slices.Sort(who.Groups)
		if who.Name != "ann" || len(who.Subject) != 36 || who.Provider != "ldap:"+ldaptest.Users || !slices.Equal(who.Groups, []string{"staff", "vision"}) {
			t.Errorf("%s: %+v", name, who)
		}
		bob, err := d.Check(t.Context(), "BOB", "pw of bob")
		if err != nil || bob.Name != "bob" || len(bob.Groups) != 0 || bob.Subject == who.Subject {
			t.Errorf("%s: %+v %v", name, bob, err)
		}
	}
	s := settings(t, at, "")
	s.URL, s.StartTLS = at.URL, true
	if who, err := open(t, s).Check(t.Context(), "ann", "pw of ann"); err != nil || who.Name != "ann" {
		t.Errorf("by STARTTLS: %+v %v", who, err)
	}
	s.GroupPrefix, s.GroupNames = "vis", map[string]string{"staff": "everybody"}
	who, err := open(t, s).Check(t.Context(), "ann", "pw of ann")
	if slices.Sort(who.Groups); err != nil || !slices.Equal(who.Groups, []string{"everybody", "ion"}) {
		t.Errorf("groups are %v (%v)", who.Groups, err)
	}
}

func TestWrongNamesAndPasswordsLetNobodyIn(t *testing.T) {
	at := directory(t)
	d := open(t, settings(t, at, ""))
	for _, c := range [][2]string{
		{"ann", "pw of bob"}, {"ann", ""}, {"", ""}, {"", "pw of ann"}, {"nobody", ""}, {"nobody", "x"}, {"zoe", "x"},
		{"*", "pw of ann"}, {"a*", "pw of ann"}, {"ann)(uid=*", "pw of ann"}, {"ann)(|(uid=*", "pw of ann"}, {"*)(objectClass=*", "pw of ann"}, {"ann\x00", "pw of ann"},
		{ldaptest.BindDN, ldaptest.Password}, {"uid=ann," + ldaptest.Users, "pw of ann"}, {"ann", "pw of ann\x00"}, {`ann\2a`, "pw of ann"}, {"muster", ldaptest.Password},
	} {
		who, err := d.Check(t.Context(), c[0], c[1])
		var e *signin.Error
		if !errors.As(err, &e) || e.Down {
			t.Errorf("%q with %q: %+v %v", c[0], c[1], who, err)
		}
		if c[0] != "nobody" && err != nil && !errors.Is(err, wrong) {
			t.Errorf("%q with %q is told more than that it is wrong: %v", c[0], c[1], err)
		}
	}
	// What looks like a pattern can be a name.
	if who, err := d.Check(t.Context(), "a*b", "pw of a*b"); err != nil || who.Name != "a*b" {
		t.Errorf("%+v %v", who, err)
	}
	s := settings(t, at, "")
	s.UserFilter = "(|(uid={name})(objectClass=person))"
	if _, err := open(t, s).Check(t.Context(), "ann", "pw of ann"); err == nil || !strings.Contains(err.Error(), "several people") {
		t.Errorf("a name of several people: %v", err)
	}
}

func TestADirectoryThatIsDownIsNobodysFault(t *testing.T) {
	at := directory(t)
	for name, edit := range map[string]func(*signin.LDAP){
		"unknown certificate":  func(s *signin.LDAP) { s.CAFile = "" },
		"nobody listens":       func(s *signin.LDAP) { s.URL = "ldaps://127.0.0.1:1" },
		"no encryption there":  func(s *signin.LDAP) { s.URL = strings.Replace(at.URL, "ldap:", "ldaps:", 1) },
		"wrong password of us": func(s *signin.LDAP) { s.BindDN = "cn=another,dc=acme,dc=com" },
		"nobody in particular": func(s *signin.LDAP) { s.BindDN = "" },
		"nothing there":        func(s *signin.LDAP) { s.Users = "ou=gone,dc=acme,dc=com" },
	} {
		s := settings(t, at, "")
		edit(&s)
		_, err := open(t, s).Check(t.Context(), "ann", "pw of ann")
		var e *signin.Error
		if !errors.As(err, &e) || !e.Down || e.Hint == "" {
			if name != "nobody in particular" || !errors.Is(err, wrong) { // to whom the directory shows nothing
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, settings(t, at, "")).Check(ctx, "ann", "pw of ann"); err == nil {
		t.Error("nobody waits, and somebody is let in")
	}
}
