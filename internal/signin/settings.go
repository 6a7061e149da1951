package signin

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/settings"
)

// Settings are what the file says that --sso names.
type Settings struct {
	Session spec.Duration `json:"session" doc:"How long one stays signed in; then the provider is asked again." default:"12h"`
	OIDC    *OIDC         `json:"oidc" doc:"An identity provider that speaks OpenID Connect."`
	LDAP    *LDAP         `json:"ldap" doc:"A directory that knows people's passwords."`
}

// LDAP is a directory that knows people's passwords.
type LDAP struct {
	Name             string            `json:"name" doc:"What the directory is called on the sign-in page." default:"the directory" example:"Acme"`
	URL              string            `json:"url" doc:"Where it is: ldaps://, or ldap:// with startTLS." required:"true" example:"ldaps://ldap.acme.com"`
	StartTLS         bool              `json:"startTLS" doc:"Encrypt a connection to ldap:// before anything is said."`
	CAFile           string            `json:"caFile" doc:"File with the certificates (PEM) by which the directory is known; by default those of the machine."`
	BindDN           string            `json:"bindDN" doc:"Who looks people up; absent: nobody in particular." example:"cn=muster,ou=services,dc=acme,dc=com"`
	BindPasswordFile string            `json:"bindPasswordFile" doc:"File with the password of bindDN; read each time."`
	Users            string            `json:"users" doc:"Below what people are." required:"true" example:"ou=people,dc=acme,dc=com"`
	UserFilter       string            `json:"userFilter" doc:"Which of them is meant by {name}, what somebody has typed; (uid={name}) where nothing is said." example:"(&(objectClass=user)(sAMAccountName={name}))"`
	NameAttribute    string            `json:"nameAttribute" doc:"Where users have their names from." default:"uid" example:"sAMAccountName"`
	IDAttribute      string            `json:"idAttribute" doc:"What stays the same whatever becomes of a name." default:"entryUUID" example:"objectGUID"`
	Groups           string            `json:"groups" doc:"Below what groups are; absent: the attribute memberOf says them." example:"ou=groups,dc=acme,dc=com"`
	GroupFilter      string            `json:"groupFilter" doc:"Which groups {dn} is in; (member={dn}) where nothing is said. {name} is the user's."`
	GroupAttribute   string            `json:"groupAttribute" doc:"Where groups have their names from." default:"cn"`
	GroupPrefix      string            `json:"groupPrefix" doc:"Only groups whose names begin so are taken, without it."`
	GroupNames       map[string]string `json:"groupNames" doc:"What groups are called here that have no name of ours."`
}

// OIDC is an identity provider that speaks OpenID Connect.
type OIDC struct {
	Name             string            `json:"name" doc:"What the provider is called on the sign-in page." default:"single sign-on" example:"Acme"`
	Issuer           string            `json:"issuer" doc:"URL of the provider, below which /.well-known/openid-configuration is." required:"true" example:"https://login.acme.com/realms/acme"`
	ClientID         string            `json:"clientId" doc:"What the provider calls this server." required:"true" example:"muster"`
	ClientSecretFile string            `json:"clientSecretFile" doc:"File with the client's secret; read each time. Without it the client is a public one, which PKCE protects."`
	Scopes           []string          `json:"scopes" doc:"What is asked for beside openid. By default profile and email." example:"[profile, email, groups]"`
	NameClaim        string            `json:"nameClaim" doc:"The claim that users have their names from, when they come for the first time. email is taken only where email_verified is true." default:"preferred_username" example:"email"`
	GroupsClaim      string            `json:"groupsClaim" doc:"The claim with the groups that a user is in." default:"groups"`
	GroupPrefix      string            `json:"groupPrefix" doc:"Only groups whose names begin so are taken, without it." example:"muster-"`
	Groups           map[string]string `json:"groups" doc:"What groups are called here that have no name of ours, as /ml/vision: vision."`
	Domains          []string          `json:"domains" doc:"Only who has a verified mail address in one of these is let in." example:"[acme.com]"`
	CAFile           string            `json:"caFile" doc:"File with the certificates (PEM) by which the provider is known; by default those of the machine."`
}

var kind = settings.Of("Single sign-on: by whom people sign in.", "say by whom people sign in: docs/access.md has an example", (*Settings).files, (*Settings).check)

// Read reads settings; files that they name by no whole path are below dir. An error
// names the field and the line.
func Read(data []byte, dir string) (*Settings, error) { return kind.Read(data, dir) }

// ReadFile reads the settings of a file.
func ReadFile(path string) (*Settings, error) { return kind.ReadFile(path) }

func (s *Settings) files() []*string {
	var all []*string
	if s.OIDC != nil {
		all = append(all, &s.OIDC.ClientSecretFile, &s.OIDC.CAFile)
	}
	if s.LDAP != nil {
		all = append(all, &s.LDAP.BindPasswordFile, &s.LDAP.CAFile)
	}
	return all
}

// How long a session may be.
const (
	shortest = time.Minute
	longest  = 30 * 24 * time.Hour
)

// SessionLife is for how long a session is good.
func (s *Settings) SessionLife() time.Duration { return s.Session.Std() }

func (s *Settings) check() (errs codec.Errors) {
	if s.LDAP != nil { // a tag cannot say them: there an = is for kinds of workloads
		s.LDAP.UserFilter = cmp.Or(s.LDAP.UserFilter, "(uid={name})")
		s.LDAP.GroupFilter = cmp.Or(s.LDAP.GroupFilter, "(member={dn})")
	}
	if life := s.SessionLife(); life < shortest || life > longest {
		errs.Add(codec.FieldError{Path: "session", Problem: s.Session.String() + " is not how long a session can be", Hint: "write one from 1m to 30d, like 12h"})
	}
	if s.OIDC == nil && s.LDAP == nil {
		errs.Add(codec.FieldError{Path: "oidc", Problem: "is missing, and so is ldap", Hint: "say by whom people sign in: docs/access.md has an example"})
	}
	if s.OIDC != nil {
		s.OIDC.check(&errs)
	}
	if s.LDAP != nil {
		s.LDAP.check(&errs)
	}
	return errs
}

func (o *OIDC) check(errs *codec.Errors) {
	bad := func(field, problem, hint string) {
		errs.Add(codec.FieldError{Path: "oidc." + field, Problem: problem, Hint: hint})
	}
	const like = "write the provider's URL, like https://login.acme.com/realms/acme"
	if o.Issuer == "" {
		bad("issuer", "is missing", like)
	} else if problem := Endpoint(o.Issuer); problem != "" {
		bad("issuer", fmt.Sprintf("%q %s", o.Issuer, problem), like)
	}
	if o.ClientID == "" {
		bad("clientId", "is missing", "register this server at the provider, and write what it is called there")
	}
	readable(bad, "clientSecretFile", o.ClientSecretFile)
	readable(bad, "caFile", o.CAFile)
	for i, d := range o.Domains {
		if d == "" || strings.ContainsAny(d, "@ /") {
			bad(fmt.Sprintf("domains[%d]", i), fmt.Sprintf("%q is not a domain", d), "write one like acme.com")
		}
	}
}

func (l *LDAP) check(errs *codec.Errors) {
	bad := func(field, problem, hint string) {
		errs.Add(codec.FieldError{Path: "ldap." + field, Problem: problem, Hint: hint})
	}
	u, err := url.Parse(l.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "ldap" && u.Scheme != "ldaps" || u.Path != "" && u.Path != "/":
		bad("url", fmt.Sprintf("%q is not where a directory is", l.URL), "write one like ldaps://ldap.acme.com")
	case u.Scheme == "ldap" && !l.StartTLS && !Loopback(u.Hostname()):
		bad("url", fmt.Sprintf("%q is not encrypted, and passwords would be read on the way", l.URL), "write ldaps://, or startTLS: true")
	case u.Scheme == "ldaps" && l.StartTLS:
		bad("startTLS", "is for ldap:// alone", "leave it out: ldaps:// is encrypted from the beginning")
	}
	if l.Users == "" {
		bad("users", "is missing", "say below what people are, like ou=people,dc=acme,dc=com")
	}
	if (l.BindDN == "") != (l.BindPasswordFile == "") {
		bad("bindDN", "goes together with bindPasswordFile", "give both, or neither")
	}
	for field, f := range map[string][2]string{"userFilter": {l.UserFilter, "{name}"}, "groupFilter": {l.GroupFilter, "{dn}"}} {
		if !strings.HasPrefix(f[0], "(") || !strings.Contains(f[0], f[1]) {
			bad(field, fmt.Sprintf("%q is not a filter with %s in it", f[0], f[1]), "write one like (uid={name}) or (member={dn})")
		}
	}
	readable(bad, "bindPasswordFile", l.BindPasswordFile)
	readable(bad, "caFile", l.CAFile)
}

// readable looks whether a file can be read.
func readable(bad func(field, problem, hint string), field, path string) {
	if path == "" {
		return
	}
	if _, err := os.ReadFile(path); err != nil {
		bad(field, err.Error(), "name a file that the server can read")
	}
}

// Called are groups as they are called here: by names, else those that begin with prefix,
// without it.
func Called(all []string, names map[string]string, prefix string) []string {
	var out []string
	for _, g := range all {
		if name, ok := names[g]; ok {
			out = append(out, name)
		} else if name, ok := strings.CutPrefix(g, prefix); ok {
			out = append(out, name)
		}
	}
	return out
}

// Endpoint says what is wrong with the URL of a provider; empty: nothing. What is not
// encrypted is for this machine alone.
func Endpoint(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return "is not a URL of a provider"
	case u.Scheme == "https", u.Scheme == "http" && Loopback(u.Hostname()):
		return ""
	case u.Scheme == "http":
		return "is not encrypted: only on this machine's own addresses may it be http"
	}
	return "is not an https URL"
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
