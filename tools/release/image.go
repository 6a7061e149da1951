package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// refName is the annotation by which tools find an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// image makes the image of the server for all platforms that have one, as an OCI layout
// in a tar file: what deploy/docker makes with Docker.
func (r *release) image() error {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.servers() {
		if err := r.build(p); err != nil {
			return err
		}
		one, err := r.imageFor(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: p.os, Architecture: p.arch},
		}})
	}
	folder := filepath.Join(r.stage, "image")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: r.version})); err != nil {
		return err
	}
	var files []file
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		files = append(files, file{filepath.ToSlash(name), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := tarTo(tar.NewWriter(&out), files, r.date); err != nil {
		return err
	}
	return r.put(r.name("image.tar"), out.Bytes(), 0o644)
}

// imageFor makes the image of one platform. It has the program without packing, as a
// server is all that starts there, and the roots that Mozilla trusts.
func (r *release) imageFor(p platform) (v1.Image, error) {
	program, err := os.ReadFile(r.staged(p, "parts/muster"))
	if err != nil {
		return nil, err
	}
	var roots, archive bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a file of certificates cannot say for what alone one is trusted
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if roots.Len() == 0 {
		return nil, fmt.Errorf("there are no certificates")
	}
	files := []file{{"etc/ssl/certs/ca-certificates.crt", 0o644, roots.Bytes()}, {"muster", 0o755, program}}
	if err := tarTo(tar.NewWriter(&archive), files, r.date); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	one, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := one.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.date}
	config.Config = v1.Config{User: "65532:65532", Entrypoint: []string{"/muster"}, Labels: map[string]string{
		"org.opencontainers.image.title": "muster", "org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.source": "https://github.com/musterhq/muster", "org.opencontainers.image.licenses": "Apache-2.0",
	}}
	return mutate.ConfigFile(one, config)
}
