// Package ldap lets people sign in by a password that a directory knows: the person is
// looked up, and the directory is asked whether it is their password by a bind as them.
package ldap

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/signin"
)

const (
	// patience is how long the directory may take for one answer.
	patience = 10 * time.Second
	// groupsMost is how many groups are asked for; more are refused where somebody enters.
	groupsMost = 1000
)

// Directory is a directory, as its settings have it.
type Directory struct {
	settings signin.LDAP
	tls      *tls.Config
}

var _ signin.Directory = (*Directory)(nil)

// New returns a directory, which is asked when somebody signs in.
func New(s signin.LDAP) (*Directory, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("ldap.url: %w", err)
	}
	d := &Directory{settings: s, tls: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ldap.caFile: %w", err)
		}
		d.tls.RootCAs = x509.NewCertPool()
		if !d.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ldap.caFile: %s holds no certificate (PEM)", s.CAFile)
		}
	}
	return d, nil
}

// Name is what the directory is called on the sign-in page.
func (d *Directory) Name() string { return d.settings.Name }

// wrong says the same whether there is such a person or not.
var wrong = &signin.Error{Message: "the name or the password is wrong", Hint: "try again; who does not remember it asks those who run the directory"}

// Check asks whether a password is that of a name.
func (d *Directory) Check(ctx context.Context, name, password string) (core.Profile, error) {
	// A bind without a password is anonymous, and succeeds whoever it names.
	if name == "" || password == "" || strings.ContainsRune(name+password, 0) {
		return core.Profile{}, wrong
	}
	c, err := d.connect(ctx)
	if err != nil {
		return core.Profile{}, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := d.bind(c); err != nil {
		return core.Profile{}, err
	}
	person, err := d.find(c, name)
	if err != nil {
		return core.Profile{}, err
	}
	groups, err := d.groups(c, person)
	if err != nil {
		return core.Profile{}, err
	}
	if err := c.Bind(person.DN, password); err != nil {
		if ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials) {
			return core.Profile{}, wrong
		}
		if ldap.IsErrorAnyOf(err, ldap.LDAPResultInappropriateAuthentication, ldap.LDAPResultUnwillingToPerform, ldap.LDAPResultConstraintViolation, ldap.LDAPResultInsufficientAccessRights) {
			return core.Profile{}, &signin.Error{Message: "the directory does not let them in: " + shorten(err), Hint: "ask those who run the directory"}
		}
		return core.Profile{}, d.down(err)
	}
	id := person.GetRawAttributeValue(d.settings.IDAttribute)
	own := person.GetAttributeValue(d.settings.NameAttribute)
	if len(id) == 0 || own == "" {
		return core.Profile{}, &signin.Error{Message: fmt.Sprintf("the directory does not say both %s and %s of them", d.settings.IDAttribute, d.settings.NameAttribute), Hint: "an administrator looks at nameAttribute and idAttribute in the settings of single sign-on"}
	}
	return core.Profile{Provider: "ldap:" + strings.ToLower(d.settings.Users), Subject: subject(id), Name: own, Groups: signin.Called(groups, d.settings.GroupNames, d.settings.GroupPrefix)}, nil
}

// subject is an identifier as text: those of Active Directory are bytes.
func subject(id []byte) string {
	if utf8.Valid(id) && !bytes.ContainsFunc(id, func(r rune) bool { return r < ' ' }) {
		return string(id)
	}
	return hex.EncodeToString(id)
}

func (d *Directory) down(err error) error {
	return &signin.Error{Down: true, Message: fmt.Sprintf("%s (%s) does not answer: %s", d.settings.Name, d.settings.URL, shorten(err)), Hint: "try again; an administrator looks whether the server reaches the directory"}
}

func shorten(err error) string {
	const most = 300
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, err.Error())
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// connect opens a connection, which is encrypted before anything is said on it.
func (d *Directory) connect(ctx context.Context) (*ldap.Conn, error) {
	dialer := &net.Dialer{Timeout: patience / 2}
	if deadline, ok := ctx.Deadline(); ok {
		dialer.Deadline = deadline
	}
	c, err := ldap.DialURL(d.settings.URL, ldap.DialWithDialer(dialer), ldap.DialWithTLSConfig(d.tls))
	if err != nil {
		return nil, d.down(err)
	}
	c.SetTimeout(patience)
	if d.settings.StartTLS {
		if err := c.StartTLS(d.tls); err != nil {
			c.Close()
			return nil, d.down(err)
		}
	}
	return c, nil
}

// bind is as whom people are looked up.
func (d *Directory) bind(c *ldap.Conn) error {
	if d.settings.BindDN == "" {
		return nil
	}
	text, err := os.ReadFile(d.settings.BindPasswordFile)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return &signin.Error{Down: true, Message: "the password by which the directory knows this server cannot be read", Hint: "an administrator looks at bindPasswordFile in the settings of single sign-on"}
	}
	if err := c.Bind(d.settings.BindDN, string(bytes.TrimRight(text, "\r\n"))); err != nil {
		return d.down(err)
	}
	return nil
}

// find looks a person up. What was typed is a value in the filter, whatever it holds.
func (d *Directory) find(c *ldap.Conn, name string) (*ldap.Entry, error) {
	filter := strings.ReplaceAll(d.settings.UserFilter, "{name}", ldap.EscapeFilter(name))
	found, err := c.Search(ldap.NewSearchRequest(d.settings.Users, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 2, int(patience/time.Second), false, filter,
		[]string{d.settings.NameAttribute, d.settings.IDAttribute, "memberOf"}, nil))
	switch {
	case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded) || err == nil && len(found.Entries) > 1:
		return nil, &signin.Error{Message: "the directory knows several people by this name", Hint: "an administrator looks at userFilter in the settings of single sign-on"}
	case err != nil:
		return nil, d.down(err)
	case len(found.Entries) == 0:
		return nil, wrong
	}
	return found.Entries[0], nil
}

// groups are the names of those that a person is in.
func (d *Directory) groups(c *ldap.Conn, person *ldap.Entry) ([]string, error) {
	var out []string
	if d.settings.Groups == "" {
		for _, text := range person.GetAttributeValues("memberOf") {
			if dn, err := ldap.ParseDN(text); err == nil && len(dn.RDNs) > 0 {
				for _, a := range dn.RDNs[0].Attributes {
					if strings.EqualFold(a.Type, d.settings.GroupAttribute) {
						out = append(out, a.Value)
					}
				}
			}
		}
		return out, nil
	}
	filter := strings.ReplaceAll(d.settings.GroupFilter, "{dn}", ldap.EscapeFilter(person.DN))
	filter = strings.ReplaceAll(filter, "{name}", ldap.EscapeFilter(person.GetAttributeValue(d.settings.NameAttribute)))
	found, err := c.Search(ldap.NewSearchRequest(d.settings.Groups, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, groupsMost, int(patience/time.Second), false, filter, []string{d.settings.GroupAttribute}, nil))
	if err != nil {
		return nil, d.down(err)
	}
	for _, g := range found.Entries {
		if name := g.GetAttributeValue(d.settings.GroupAttribute); name != "" {
			out = append(out, name)
		}
	}
	return out, nil
}
