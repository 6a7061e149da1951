package local

import (
	"context"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
)

// Images is where the backend has container images from.
type Images interface {
	// Pull makes an image available, unpacked, and calls progress now and then.
	// An error with a method Temporary() bool that returns true is tried again.
	Pull(ctx context.Context, ref string, o PullOptions, progress func(PullProgress)) (container.Image, error)
	// Release ends what owner holds; an unknown one is a success.
	Release(owner string) error
	// Held lists the owners of all holds.
	Held() []string
}

// PullOptions say how an image is had. The credentials are passed on and never
// kept.
type PullOptions struct {
	// Owner, when set, holds the image until Release, over restarts too.
	Owner       string
	Policy      backend.PullPolicy
	Credentials []backend.Credential
}

// PullProgress is how far a pull is.
type PullProgress struct {
	Layers, Done int   // of the image
	Bytes, Total int64 // compressed
}

// The words that tasks wait with while an image is not there.
const (
	waitErrPull = "ErrImagePull"
	waitBackoff = "ImagePullBackOff"
)
