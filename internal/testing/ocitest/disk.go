package ocitest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// disk keeps blobs as files. The library's own handler hashes a blob whenever
// it is asked for its size, which no registry does and which would be counted
// as time of the pull.
type disk string

func (d disk) path(h v1.Hash) string { return filepath.Join(string(d), h.Hex) }

// Stat implements registry.BlobStatHandler.
func (d disk) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	info, err := os.Stat(d.path(h))
	if err != nil {
		return 0, missing(err)
	}
	return info.Size(), nil
}

// Get implements registry.BlobHandler.
func (d disk) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) {
	f, err := os.Open(d.path(h))
	if err != nil {
		return nil, missing(err)
	}
	return f, nil
}

// Put implements registry.BlobPutHandler; rc fails when the digest is wrong.
func (d disk) Put(_ context.Context, _ string, h v1.Hash, rc io.ReadCloser) error {
	defer rc.Close()
	f, err := os.CreateTemp(string(d), "upload-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, rc)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), d.path(h))
}

func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return registry.ErrNotFound
	}
	return err
}
