package local

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/oci"
)

// FromStore has images come from a cache of this machine. defaults open
// registries for every task, after the task's own credentials.
func FromStore(s *oci.Store, defaults []oci.Credential) Images { return stored{s, defaults} }

type stored struct {
	store    *oci.Store
	defaults []oci.Credential
}

var policies = map[backend.PullPolicy]oci.PullPolicy{
	backend.PullMissing: oci.IfNotPresent, backend.PullAlways: oci.Always, backend.PullNever: oci.Never,
}

// Pull implements Images.
func (s stored) Pull(ctx context.Context, ref string, o PullOptions, progress func(PullProgress)) (container.Image, error) {
	creds := make([]oci.Credential, 0, len(o.Credentials)+len(s.defaults))
	for _, c := range o.Credentials {
		creds = append(creds, oci.Credential{Server: c.Server, User: c.User, Password: c.Password})
	}
	img, err := s.store.Pull(ctx, ref, oci.PullOptions{
		Policy: policies[o.Policy], Credentials: append(creds, s.defaults...), Owner: o.Owner,
		Progress: func(p oci.Progress) {
			progress(PullProgress{Layers: p.Layers, Done: p.LayersDone, Bytes: p.Bytes, Total: p.Total})
		},
	})
	if err != nil {
		return container.Image{}, asKubelet(err)
	}
	return container.Image{
		Ref: img.Ref, Digest: img.Digest, Layers: img.Layers,
		Config: container.Config{
			Env: img.Config.Env, Entrypoint: img.Config.Entrypoint, Cmd: img.Config.Cmd,
			User: img.Config.User, Workdir: img.Config.WorkingDir,
		},
	}, nil
}

// Release implements Images.
func (s stored) Release(owner string) error { return s.store.Release(owner) }

// Held implements Images.
func (s stored) Held() []string { return slices.Collect(maps.Keys(s.store.Held())) }

// asKubelet has an image that is not there, or that nobody may see, looked for
// again as a kubelet does: it may have been pushed, or opened, a moment later.
func asKubelet(err error) error {
	var never *address.Refused
	if errors.As(err, &never) {
		return err // it is refused by a rule of ours, which no time changes
	}
	switch oci.KindOf(err) {
	case oci.NotFound, oci.Denied:
		return &retried{err}
	default:
		return err
	}
}

type retried struct{ error }

func (p *retried) Unwrap() error   { return p.error }
func (p *retried) Temporary() bool { return true }
