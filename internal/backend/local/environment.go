//go:build linux

package local

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/backend/local/protocol"
)

// inherited are the variables that a task gets from the machine, if the server
// has them: where things are and how to reach the world, no more. A server's
// own secrets stay its own.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
	"GOFLAGS", "GOPROXY", "GOCACHE", "GOMODCACHE", "GOPATH",
	"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// baseEnv is what the machine gives; own is the server's environment.
func baseEnv(own []string) []string {
	env := []string{protocol.DefaultPath, "TERM=dumb"}
	for _, e := range own {
		if name, _, _ := strings.Cut(e, "="); slices.Contains(inherited, name) {
			env = append(env, e)
		}
	}
	return env
}
