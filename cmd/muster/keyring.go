package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/packed"
	"github.com/musterhq/muster/internal/secret"
	"github.com/musterhq/muster/internal/store"
)

// keyring opens secrets for tasks, seals those that users send, and finds what
// opens a registry.
type keyring struct {
	box   *secret.Box
	store store.Store
}

// Give implements control.Keyring.
func (k *keyring) Give(a *backend.Assignment, s core.Secret, use spec.SecretUse) error {
	values, err := k.box.Unseal(s)
	if err != nil {
		return err
	}
	g, err := secret.Give(s, values, use)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		a.Env = append(a.Env, name+"="+g.Env[name])
	}
	a.Files = append(a.Files, g.Files...)
	if g.Credential != nil {
		a.Credentials = append(a.Credentials, *g.Credential)
	}
	a.Prelude = append(a.Prelude, g.Prelude...)
	return nil
}

// Token implements control.Keyring.
func (k *keyring) Token(attempt string) string { return k.box.Token(attempt) }

// Seal implements server.Sealer.
func (k *keyring) Seal(user, name, typ string, fields map[string]string, values map[string][]byte) (core.Secret, error) {
	s, err := secret.Make(k.box, user, name, typ, fields, values, time.Now())
	if err != nil { // it tells no value
		return s, &api.Problem{Title: http.StatusText(http.StatusUnprocessableEntity), Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: err.Error(), Hint: "muster secret create --help shows what each type takes"}
	}
	return s, nil
}

// credentials is what opens registries for a workload: the one secret that is
// named, else every docker secret of its user, its project and what is above that;
// and what the server's own docker login has left.
func (k *keyring) credentials(ctx context.Context, w *core.Workload, name string) ([]oci.Credential, error) {
	all, err := k.store.Secrets(ctx)
	if err != nil {
		return nil, err
	}
	projects, err := k.store.Projects(ctx)
	if err != nil {
		return nil, err
	}
	var creds []oci.Credential
	for _, s := range launch.ForRegistries(org.TreeOf(projects).SecretOwners(w.User, w.Project), all, name) {
		var a backend.Assignment
		if err := k.Give(&a, s, spec.SecretUse{Name: s.Name}); err != nil {
			return nil, err
		}
		for _, c := range a.Credentials {
			creds = append(creds, oci.Credential{Server: c.Server, User: c.User, Password: c.Password})
		}
	}
	own, err := dockerLogin()
	return append(creds, own...), err
}

// dockerLogin is what docker login has written for the server's own user.
func dockerLogin() ([]oci.Credential, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil // no home, no login
		}
		dir = filepath.Join(home, ".docker")
	}
	return oci.DockerConfig(filepath.Join(dir, "config.json"))
}

// forTheirUse returns how tasks start this program. What runs may be gone from the
// disk, as after go run, so a copy of it is kept in the data directory: of the small
// half where it was packed, which has all that they need and starts soonest. But tasks
// that run as another user do not come in there, where everybody can run what is
// installed.
func forTheirUse(dir string) func() []string {
	return sync.OnceValue(func() []string {
		path := filepath.Join(dir, "muster")
		if own, err := installed(); err == nil && os.Getuid() == 0 && !forAll(dir) && forAll(own) {
			return []string{own}
		}
		if err := keepProgram(path); err != nil {
			return []string{"muster"} // in PATH, perhaps
		}
		return []string{path}
	})
}

// installed is the file that this server was started from, which it may lie packed
// in. It is asked for before anything is started, which would inherit the answer.
var installed = sync.OnceValues(func() (string, error) {
	defer os.Unsetenv(packed.From)
	if file := os.Getenv(packed.From); file != "" {
		return file, nil
	}
	return os.Executable()
})

// forAll says whether every user of the machine may pass through a directory, or run
// a program: that is, through all above it too.
func forAll(path string) bool {
	for {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		up := filepath.Dir(path)
		if up == path {
			return true
		}
		path = up
	}
}

func keepProgram(path string) error {
	own := "/proc/self/exe"
	if at, err := os.Readlink(own); err == nil && packed.Small(at) != at {
		own = packed.Small(at)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "muster-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o755), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
