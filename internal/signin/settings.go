package signin

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Settings are what the file says that --sso names.
type Settings struct {
	Session spec.Duration `json:"session" doc:"How long one stays signed in; then the provider is asked again." default:"12h"`
	OIDC    *OIDC         `json:"oidc" doc:"An identity provider that speaks OpenID Connect."`
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

var root = schema.New(reflect.TypeFor[Settings](), "Single sign-on: by whom people sign in.", schema.Vocabulary{})

// Read reads settings; files that they name by no whole path are below dir. An error
// names the field and the line.
func Read(data []byte, dir string) (*Settings, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, codec.Errors{{Problem: "the file is empty", Hint: "say by whom people sign in: docs/access.md has an example"}}
	}
	n, src, err := codec.ReadTree(data)
	if err != nil {
		return nil, err
	}
	s := new(Settings)
	errs, zeros := root.Read(&n, src, false, reflect.ValueOf(s).Elem())
	root.Fill(reflect.ValueOf(s).Elem(), func() string { return "" }, zeros)
	if len(errs) == 0 {
		s.below(dir)
		errs = s.check()
		for i := range errs {
			errs[i].Line = src.LineOf(&n, errs[i].Path)
		}
	}
	if err := errs.InOrder(); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadFile reads the settings of a file.
func ReadFile(path string) (*Settings, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Read(data, filepath.Dir(path))
}

// below makes the paths of files whole.
func (s *Settings) below(dir string) {
	if s.OIDC == nil {
		return
	}
	for _, path := range []*string{&s.OIDC.ClientSecretFile, &s.OIDC.CAFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// How long a session may be.
const (
	shortest = time.Minute
	longest  = 30 * 24 * time.Hour
)

// SessionLife is for how long a session is good.
func (s *Settings) SessionLife() time.Duration { return s.Session.Std() }

func (s *Settings) check() (errs codec.Errors) {
	if life := s.SessionLife(); life < shortest || life > longest {
		errs.Add(codec.FieldError{Path: "session", Problem: s.Session.String() + " is not how long a session can be", Hint: "write one from 1m to 30d, like 12h"})
	}
	if s.OIDC == nil {
		errs.Add(codec.FieldError{Path: "oidc", Problem: "is missing", Hint: "say by whom people sign in: docs/access.md has an example"})
		return errs
	}
	bad := func(field, problem, hint string) {
		errs.Add(codec.FieldError{Path: "oidc." + field, Problem: problem, Hint: hint})
	}
	if s.OIDC.Issuer == "" {
		bad("issuer", "is missing", "write the provider's URL, like https://login.acme.com/realms/acme")
	} else if problem := Endpoint(s.OIDC.Issuer); problem != "" {
		bad("issuer", fmt.Sprintf("%q %s", s.OIDC.Issuer, problem), "write the provider's URL, like https://login.acme.com/realms/acme")
	}
	if s.OIDC.ClientID == "" {
		bad("clientId", "is missing", "register this server at the provider, and write what it is called there")
	}
	for field, path := range map[string]string{"clientSecretFile": s.OIDC.ClientSecretFile, "caFile": s.OIDC.CAFile} {
		if path == "" {
			continue
		}
		if _, err := os.ReadFile(path); err != nil {
			bad(field, err.Error(), "name a file that the server can read")
		}
	}
	for i, d := range s.OIDC.Domains {
		if d == "" || strings.ContainsAny(d, "@ /") {
			bad(fmt.Sprintf("domains[%d]", i), fmt.Sprintf("%q is not a domain", d), "write one like acme.com")
		}
	}
	return errs
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
