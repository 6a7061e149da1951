//go:build linux

package local

import (
	"context"
	"errors"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/gpu"
	"github.com/musterhq/muster/internal/core"
)

var _ backend.StepImager = (*Backend)(nil)

// StepImage implements backend.StepImager. The image is held as the task's own would
// be, and let go of with it.
func (p *Backend) StepImage(ctx context.Context, t core.Task, ref string, credentials []backend.Credential) (backend.StepImage, error) {
	if p.opts.Images == nil {
		return backend.StepImage{}, errors.New("this server has no place for images: it runs no containers; start it as root, with runc installed")
	}
	img, err := p.opts.Images.Pull(ctx, ref, PullOptions{Owner: t.ID.String(), Credentials: credentials}, func(PullProgress) {})
	if err != nil {
		return backend.StepImage{}, err
	}
	driver, err := gpu.DriverFiles(backend.Assignment{Devices: t.Devices}, p.opts.CDIDirs)
	if err != nil {
		return backend.StepImage{}, err
	}
	return backend.StepImage{Layers: img.Layers, Env: img.Config.Env, Entrypoint: img.Config.Entrypoint, Workdir: img.Config.Workdir, Driver: driver}, nil
}
