//go:build !linux

package oci

import (
	"context"
	"errors"
	"io"
)

var errNotLinux = failf(NeedsRoot, errors.ErrUnsupported, "image layers can be unpacked on Linux only; building and publishing work here")

func unpack(context.Context, io.Reader, string, int64) (int64, error) { return 0, errNotLinux }

func probeUnpack(string) error { return errNotLinux }

func (a *archiver) upper(LayerSource) error {
	return failf(NeedsRoot, errors.ErrUnsupported, "what a container changed can be read on Linux only")
}
