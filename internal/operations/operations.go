// Package operations does what the control plane has done outside of every backend:
// it asks admission checks, builds images, publishes models, and follows the
// service that a model is deployed to.
//
// It decides nothing about workloads: each result goes back to the control
// backend, which knows what follows. Every operation may be begun again after a crash
// and gives the same then.
package operations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/store"
)

// Config is what operations need.
type Config struct {
	Store store.Store
	Log   *slog.Logger
	Clock func() time.Time
	HTTP  *http.Client // for web hooks of documents and projects
	// Carry makes what carries requests to the programs that checks of a scope ask; nil:
	// whoever is named is called. Secret opens what signs these requests; nil: none is kept.
	Carry  func(*http.Transport, time.Duration) http.RoundTripper
	Secret func(context.Context, core.SecretID) (string, error)
	// CheckKeys are the keys that whoever runs the server has for the check of a name in a
	// scope, which go before its secret; empty: none, and so of a nil function.
	CheckKeys func(scope core.ProjectID, name string) (string, error)
	// Images builds; nil: nothing is built.
	Images *oci.Store
	// Registry publishes; it needs no root.
	Registry *oci.Client
	// Target is where images and models go whose document names no target:
	// HOST or HOST/PATH. Empty: the document must name one.
	Target string
	// Credentials opens registries for a workload, with one secret only where it is named.
	Credentials func(ctx context.Context, w *core.Workload, secret string) ([]oci.Credential, error)
	// Installer runs commands on top of an image; nil: packages cannot be installed.
	Installer Installer
	// BuildLogs is where the logs of builds are kept, ID.log each.
	BuildLogs string
	// Models is where models of served artifacts are kept on this machine.
	Models string
	// FollowFor is how long the service of a model may take to run; default 30 minutes.
	FollowFor time.Duration
}

// Installer runs commands in a container on top of an image.
type Installer interface {
	// Install runs script with /bin/sh on top of img and returns the directory
	// that holds what it has changed, as the upper directory of an overlay.
	// done removes it.
	Install(ctx context.Context, img *oci.Image, script string, env []string, log io.Writer) (upper string, done func(), err error)
}

// Hands is the doer of operations.
type Hands struct {
	Config
	hooks hooks
}

var _ control.Hands = (*Hands)(nil)

// New returns hands.
func New(c Config) *Hands {
	if c.HTTP == nil {
		c.HTTP = &http.Client{}
	}
	if c.FollowFor == 0 {
		c.FollowFor = 30 * time.Minute
	}
	return &Hands{Config: c}
}

// target is the name of an artifact or image of w in the default registry.
func (h *Hands) target(w *core.Workload, field string) (string, error) {
	if h.Target == "" {
		return "", fmt.Errorf("%s: no target is named, and the server has no registry of its own; write %s: HOST/NAME:TAG, or start the server with --registry", field, field)
	}
	return fmt.Sprintf("%s/%s/%s:%d", h.Target, w.Project, w.Name, w.Attempt), nil
}

// Clean implements control.Hands.
func (h *Hands) Clean(_ context.Context, id core.WorkloadID) error {
	err := os.Remove(h.buildLog(id))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	models, gerr := filepath.Glob(filepath.Join(h.Models, "by-workload", string(id)+".*"))
	err = errors.Join(err, gerr)
	for _, dir := range models {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

func (h *Hands) buildLog(id core.WorkloadID) string {
	return filepath.Join(h.BuildLogs, string(id)+".log")
}

// within joins a path below a base directory where it is relative.
func within(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// explain strips what a cancelled context leaves of an error: nobody reads it.
func explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return err
}
