// Package vault keeps the keys that seal secrets in a vault of HashiCorp's (or OpenBao's),
// in its key-value engine of version 2, so that no file on the server's machine opens them.
package vault

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/settings"
)

// Settings are what the file says that --secrets-vault names.
type Settings struct {
	Address   string   `json:"address" doc:"URL of the vault." required:"true" example:"https://vault.acme.com:8200"`
	Mount     string   `json:"mount" doc:"Where the key-value engine (version 2) is mounted." default:"secret"`
	Path      string   `json:"path" doc:"Where the keys are in it; the server makes the first one." default:"muster/keys"`
	Namespace string   `json:"namespace" doc:"Namespace in the vault; by default its root."`
	CAFile    string   `json:"caFile" doc:"File with the certificates (PEM) by which the vault is known; by default those of the machine."`
	TokenFile string   `json:"tokenFile" doc:"File with the token that opens the vault, such as an agent writes; read each time."`
	AppRole   *AppRole `json:"appRole" doc:"Instead of a token: the role by which the server logs in."`
}

// AppRole is by what a program logs in at a vault.
type AppRole struct {
	Mount        string `json:"mount" doc:"Where AppRole is mounted, below auth/." default:"approle"`
	RoleID       string `json:"roleId" doc:"Which role." required:"true"`
	SecretIDFile string `json:"secretIdFile" doc:"File with the role's secret; read each time." required:"true"`
}

var kind = settings.Of("A vault that keeps the keys of secrets.", "say where the vault is: docs/security.md has an example", (*Settings).files, (*Settings).check)

// ReadFile reads the settings of a file; files that it names by no whole path are beside it.
func ReadFile(path string) (*Settings, error) { return kind.ReadFile(path) }

func (s *Settings) files() []*string {
	all := []*string{&s.CAFile, &s.TokenFile}
	if s.AppRole != nil {
		all = append(all, &s.AppRole.SecretIDFile)
	}
	return all
}

func (s *Settings) check() (errs codec.Errors) {
	bad := func(field, problem, hint string) {
		errs.Add(codec.FieldError{Path: field, Problem: problem, Hint: hint})
	}
	if u, err := url.Parse(s.Address); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		bad("address", fmt.Sprintf("%q is not an https URL; http is for this machine's own addresses alone", s.Address), "write one like https://vault.acme.com:8200")
	}
	for field, path := range map[string]string{"mount": s.Mount, "path": s.Path} {
		if !plainPath(path) {
			bad(field, fmt.Sprintf("%q is no path in a vault", path), "write names with / between them, like muster/keys")
		}
	}
	switch a := s.AppRole; {
	case (s.TokenFile == "") == (a == nil):
		bad("tokenFile", "and appRole are two ways to log in, of which one is needed", "write one of them")
	case a == nil:
	case a.RoleID == "":
		bad("appRole.roleId", "is missing", "vault read auth/approle/role/NAME/role-id shows it")
	case a.SecretIDFile == "":
		bad("appRole.secretIdFile", "is missing", "vault write -f auth/approle/role/NAME/secret-id makes one")
	case !plainPath(a.Mount):
		bad("appRole.mount", fmt.Sprintf("%q is no path in a vault", a.Mount), "approle is usual")
	}
	return errs
}

// plainPath says whether a path stays what it is in a URL.
func plainPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || url.PathEscape(part) != part {
			return false
		}
	}
	return true
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
