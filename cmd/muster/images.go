package main

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/musterhq/muster/internal/backend/local"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/operations"
	"github.com/musterhq/muster/internal/outward"
)

// images is what this machine can do with container images.
type images struct {
	store   *oci.Store  // nil: nothing can be unpacked or run here
	client  *oci.Client // registries can be spoken to anyway
	login   []oci.Credential
	scratch string // for image builds
}

// openImages opens the cache of images where containers can run: that takes
// root and an OCI runtime.
func openImages(o cli.ServerOptions, guard *outward.Guard, log *slog.Logger) (*images, error) {
	login, err := dockerLogin()
	if err != nil {
		log.Warn("the docker login of this user cannot be read; images are pulled without it", "err", err)
	}
	opts := oci.Options{Dir: filepath.Join(o.DataDir, "images"), MaxBytes: o.Cache, Log: log, Carry: guard.Transport}
	if _, err := exec.LookPath("runc"); err != nil || os.Geteuid() != 0 {
		return &images{client: oci.NewClient(opts), login: login}, nil
	}
	i := &images{login: login, scratch: filepath.Join(o.DataDir, "installs")}
	i.store, err = oci.Open(opts)
	var e *oci.Error
	if errors.As(err, &e) && e.Kind == oci.NeedsRoot {
		log.Warn("containers cannot run here", "err", err)
		return &images{client: oci.NewClient(opts), login: login}, nil
	}
	if err != nil {
		return nil, err
	}
	i.client = i.store.Client
	return i, nil
}

func (i *images) close() {
	if i.store != nil {
		_ = i.store.Close()
	}
}

// backend is where the local backend has images from; nil: containers are refused.
func (i *images) backend() local.Images {
	if i.store == nil {
		return nil
	}
	return local.FromStore(i.store, i.login)
}

// installer runs the commands of image builds; nil: nothing can be installed.
func (i *images) installer() operations.Installer {
	if i.store == nil {
		return nil
	}
	return local.Installer{Dir: i.scratch}
}

func (i *images) registry() *oci.Client { return i.client }
