package chores

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/musterhq/muster/internal/oci"
)

// writeDockerConfig writes credentials as builders read them: docker's
// config.json.
func writeDockerConfig(path string, creds []oci.Credential) error {
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

// loopback reports whether an image's registry is this machine, which is spoken
// to without TLS.
func loopback(ref string) bool {
	host, _, _ := strings.Cut(ref, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}
