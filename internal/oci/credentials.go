package oci

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Credential opens a registry.
type Credential struct {
	// Server is a host, a host with port, a host with the start of a path, or
	// https://index.docker.io/v1/, as docker and mcli spell it.
	Server   string
	User     string
	Password string
	// IdentityToken is exchanged for tokens (docker's identitytoken).
	IdentityToken string
	// RegistryToken is sent as it is (docker's registrytoken).
	RegistryToken string
}

// String names the credential without what is secret in it.
func (c Credential) String() string {
	who := "user " + fmt.Sprintf("%q", c.User)
	if c.User == "" || c.User == "<token>" {
		who = "a token"
	}
	return fmt.Sprintf("%s of the credential for %s", who, c.Server)
}

// GoString keeps %#v from printing secrets.
func (c Credential) GoString() string { return c.String() }

// server is the host in one spelling, and the path that the credential is
// limited to.
func (c Credential) server() (host, path string) {
	s := strings.ToLower(strings.TrimSpace(c.Server))
	s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
	host, path, _ = strings.Cut(strings.Trim(s, "/"), "/")
	if path == "v1" || path == "v2" {
		path = ""
	}
	switch host {
	case "docker.io", "registry-1.docker.io", "registry.hub.docker.com", "hub.docker.com":
		host = name.DefaultRegistry
	}
	return host, path
}

// matching returns the credentials for a repository, the most specific first,
// in the order given. None left means: ask without one.
func matching(all []Credential, repo name.Repository) []*Credential {
	type match struct {
		c     Credential
		depth int
	}
	var found []match
	for _, c := range all {
		host, path := c.server()
		if host == "" || host != strings.ToLower(repo.RegistryStr()) {
			continue
		}
		if r := repo.RepositoryStr(); path != "" && r != path && !strings.HasPrefix(r, path+"/") {
			continue
		}
		found = append(found, match{c, len(path)})
	}
	slices.SortStableFunc(found, func(a, b match) int { return b.depth - a.depth })
	if len(found) == 0 {
		return []*Credential{nil}
	}
	out := make([]*Credential, len(found))
	for i := range found {
		out[i] = &found[i].c
	}
	return out
}

// DockerConfig reads the credentials that "docker login" left in a file like
// ~/.docker/config.json. Credential helpers are not run. A file that does not
// exist has none.
func DockerConfig(path string) ([]Credential, error) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the docker credentials: %w", err)
	}
	var file struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("the docker credentials in %s are not JSON as docker writes it: %w", path, err)
	}
	var out []Credential
	for server, a := range file.Auths {
		c := Credential{Server: server, User: a.Username, Password: a.Password, IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken}
		if a.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(a.Auth)
			user, password, ok := strings.Cut(string(plain), ":")
			if err != nil || !ok {
				return nil, fmt.Errorf("the credential for %q in %s is not base64 of user:password; log in to the registry again", server, path)
			}
			c.User, c.Password = user, strings.TrimRight(password, "\x00")
		}
		if c.User == "" && c.IdentityToken == "" && c.RegistryToken == "" {
			continue // the helper has it
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Credential) int { return strings.Compare(a.Server, b.Server) })
	return out, nil
}

// denied completes a refusal with which credential was used, so that the
// reader knows which one to mend.
func denied(e *Error, host string, tried []*Credential) *Error {
	out := *e
	if len(tried) == 0 || tried[0] == nil {
		out.Text += fmt.Sprintf("; no credential for %s was given: check the name, and if the image is private add a docker secret for the server %s", host, host)
		return &out
	}
	var who []string
	for _, c := range tried {
		who = append(who, c.String())
	}
	out.Text += fmt.Sprintf(" for %s; check the name, the password, and that this user may read it", strings.Join(who, ", and for "))
	return &out
}

// WriteDockerConfig writes credentials as builders read them, and as
// DockerConfig does: docker's config.json.
func WriteDockerConfig(path string, creds []Credential) error {
	type entry struct {
		Auth          string `json:"auth,omitempty"`
		IdentityToken string `json:"identitytoken,omitempty"`
		RegistryToken string `json:"registrytoken,omitempty"`
	}
	auths := map[string]entry{}
	for _, c := range creds {
		e := entry{IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken}
		if c.User != "" {
			e.Auth = base64.StdEncoding.EncodeToString([]byte(c.User + ":" + c.Password))
		}
		auths[c.Server] = e
	}
	data, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// authOf turns a credential into what the transport understands.
func authOf(c *Credential) authn.Authenticator {
	if c == nil {
		return authn.Anonymous
	}
	return authn.FromConfig(authn.AuthConfig{
		Username: c.User, Password: c.Password,
		IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
	})
}
