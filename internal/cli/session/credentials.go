package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/musterhq/muster/internal/wholefile"
)

// Credentials are the tokens that muster login has kept, by the address of the server
// that each opens. The file is for its owner alone.
type Credentials map[string]string

// credentialsPath is where they are kept; "" where nobody can tell.
func (s *Session) credentialsPath() string {
	path := s.ConfigPath()
	if path == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), "credentials.yaml")
}

// Credentials reads what was kept.
func (s *Session) Credentials() (Credentials, error) {
	out := Credentials{}
	path := s.credentialsPath()
	if path == "" {
		return out, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = yaml.Unmarshal(data, &out)
	}
	if err != nil {
		return Credentials{}, UsageError(fmt.Sprintf("%s cannot be read: %s", path, firstLine(err.Error())), "remove it, and sign in again with muster login")
	}
	return out, nil
}

// KeepCredentials writes them, so that nobody else reads them.
func (s *Session) KeepCredentials(c Credentials) error {
	path := s.credentialsPath()
	if path == "" {
		return UsageError("there is no place for the token: neither HOME nor XDG_CONFIG_HOME is set", "set MUSTER_TOKEN instead")
	}
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Write(path, data)
}

// TokenFor is what a server at an address is shown: $MUSTER_TOKEN, or what muster
// login has kept for it.
func (s *Session) TokenFor(address string) string {
	if t := s.Env("MUSTER_TOKEN"); t != "" {
		return t
	}
	all, err := s.Credentials()
	if err != nil {
		return "" // the server says that there is none
	}
	return all[address]
}
