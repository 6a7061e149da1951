package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestTheImageRunsInOurContainers reads the layout, puts the image into a registry and has
// the released program run it.
func TestTheImageRunsInOurContainers(t *testing.T) {
	t.Parallel()
	needs(t, "runc")
	if os.Getuid() != 0 {
		t.Skip("this takes root: runc makes containers for root only")
	}
	r := made(t)
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(r.out, r.name("image.tar")))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	at, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	top, err := at.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	list, err := top.IndexManifest()
	if err != nil || len(list.Manifests) != 1 || list.Manifests[0].Annotations[refName] != "9.8.7" {
		t.Fatalf("%v, %v", list, err)
	}
	index, err := top.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New())
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/muster:9.8.7"
	ref, err := name.ParseReference(image, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	works(t, r.staged(platform{runtime.GOOS, runtime.GOARCH}, "muster"), "--image", image, "--", "/muster", "version", "--client")
	one, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	config, err := one.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/muster" || c.Labels["org.opencontainers.image.revision"] != r.commit {
		t.Errorf("its configuration is %+v", c)
	}
}

// TestTheImageTrustsWhomMozillaTrusts reads the certificates.
func TestTheImageTrustsWhomMozillaTrusts(t *testing.T) {
	t.Parallel()
	r := made(t)
	one, err := r.imageFor(platform{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	layers, err := one.Layers()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	in := tar.NewReader(plain)
	if _, err := in.Next(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d certificates", n)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(text) {
		t.Error("none of them can be read")
	}
}
