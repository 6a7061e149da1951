package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// maxManifest is how large a manifest, index or configuration may be;
	// registries refuse more than 4 MiB.
	maxManifest = 8 << 20
	// maxLayers is how many directories overlayfs stacks.
	maxLayers = 500
)

var manifestTypes = []string{
	string(types.OCIManifestSchema1), string(types.OCIImageIndex),
	string(types.DockerManifestSchema2), string(types.DockerManifestList),
}

// found is what a name stands for, after the platform was chosen.
type found struct {
	digest   v1.Hash // of the manifest of this platform
	manifest *v1.Manifest
	config   *v1.ConfigFile
}

// get reads a small document whole and checks its digest where one is known.
func (c *session) get(ctx context.Context, path string, accept []string, want *v1.Hash) ([]byte, http.Header, error) {
	var body []byte
	var header http.Header
	err := again(ctx, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(path), nil)
		if err != nil {
			return err
		}
		if len(accept) > 0 {
			req.Header.Set("Accept", strings.Join(accept, ","))
		}
		resp, err := c.client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if err := transport.CheckError(resp, http.StatusOK); err != nil {
			return err
		}
		header = resp.Header
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if len(body) > maxManifest {
		return nil, nil, failf(Damaged, nil, "the registry's description of the image is larger than %d MiB; it is not one", maxManifest>>20)
	}
	if got, _, _ := v1.SHA256(bytes.NewReader(body)); want != nil && got != *want {
		return nil, nil, failf(Damaged, nil, "the registry sent something else than was asked for (digest %s instead of %s); push the image again", got, *want)
	}
	return body, header, nil
}

// url is below the repository; the transport puts in http where it is allowed.
func (c *session) url(path string) string {
	return fmt.Sprintf("https://%s/v2/%s/%s", c.repo.RegistryStr(), c.repo.RepositoryStr(), path)
}

// fetch finds the manifest and the configuration for the platform.
func (c *session) fetch(ctx context.Context, ref name.Reference, want v1.Platform) (*found, error) {
	id := ref.Identifier()
	var expect *v1.Hash
	if d, ok := ref.(name.Digest); ok {
		h, err := v1.NewHash(d.DigestStr())
		if err != nil {
			return nil, badName("the digest %q is not one: %v", d.DigestStr(), err)
		}
		expect = &h
	}
	for range 3 { // an index may hold an index
		body, header, err := c.get(ctx, "manifests/"+id, manifestTypes, expect)
		if err != nil {
			return nil, err
		}
		kind, err := mediaType(body, header)
		if err != nil {
			return nil, err
		}
		if !kind.IsIndex() {
			return c.image(ctx, body, want)
		}
		next, err := choose(body, want)
		if err != nil {
			return nil, err
		}
		id, expect = next.String(), &next
	}
	return nil, failf(Damaged, nil, "the image's index leads to further indexes without end")
}

// mediaType is what the document says of itself, or else the header.
func mediaType(body []byte, header http.Header) (types.MediaType, error) {
	var doc struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return "", failf(Damaged, err, "the registry's description of the image is not JSON (%v); is this really a registry?", err)
	}
	kind := doc.MediaType
	if kind == "" {
		kind = types.MediaType(strings.TrimSpace(strings.Split(header.Get("Content-Type"), ";")[0]))
	}
	switch {
	case doc.SchemaVersion != 2 || kind.IsSchema1():
		return "", failf(Damaged, nil, "the image is in a format that was given up in 2017 (schema %d); push it again with a present tool", doc.SchemaVersion)
	case kind.IsIndex() || kind.IsImage():
		return kind, nil
	case doc.Manifests != nil:
		return types.OCIImageIndex, nil
	}
	return types.OCIManifestSchema1, nil
}

// choose picks the entry of an index for a platform.
func choose(body []byte, want v1.Platform) (v1.Hash, error) {
	index, err := v1.ParseIndexManifest(bytes.NewReader(body))
	if err != nil {
		return v1.Hash{}, failf(Damaged, err, "the image's index cannot be read: %v", err)
	}
	var there []string
	for _, d := range index.Manifests {
		switch p := d.Platform; {
		case p == nil && len(index.Manifests) == 1:
			return d.Digest, nil
		case p == nil, p.OS == "unknown", p.Architecture == "unknown": // attestations
		case suits(*p, want):
			return d.Digest, nil
		default:
			if s := spell(p.OS, p.Architecture, p.Variant); !slices.Contains(there, s) {
				there = append(there, s)
			}
		}
	}
	return v1.Hash{}, wrongPlatform(want, there)
}

func suits(have, want v1.Platform) bool {
	if have.OS != want.OS || have.Architecture != want.Architecture {
		return false
	}
	return want.Variant == "" || have.Variant == "" || have.Variant == want.Variant
}

func spell(os, arch, variant string) string {
	if variant != "" {
		arch += "/" + variant
	}
	return os + "/" + arch
}

func wrongPlatform(want v1.Platform, there []string) *Error {
	has := "for no platform at all"
	if len(there) > 0 {
		has = "only for " + strings.Join(there, ", ")
	}
	need := spell(want.OS, want.Architecture, want.Variant)
	return failf(WrongPlatform, nil, "the image exists %s, not for %s; build it for %s, or run it on machines that it is made for", has, need, need)
}

// image reads the manifest of one platform and its configuration.
func (c *session) image(ctx context.Context, body []byte, want v1.Platform) (*found, error) {
	m, err := v1.ParseManifest(bytes.NewReader(body))
	if err != nil {
		return nil, failf(Damaged, err, "the image's manifest cannot be read: %v", err)
	}
	if !m.Config.MediaType.IsConfig() {
		kind := m.ArtifactType
		if kind == "" {
			kind = string(m.Config.MediaType)
		}
		return nil, failf(Damaged, nil, "this is not a container image but an artifact of type %q; name an image", kind)
	}
	raw, _, err := c.get(ctx, "blobs/"+m.Config.Digest.String(), nil, &m.Config.Digest)
	if err != nil {
		return nil, missingBlob(err)
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, failf(Damaged, err, "the image's configuration cannot be read: %v", err)
	}
	if config.OS != "" && config.Architecture != "" {
		have := v1.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}
		if !suits(have, want) {
			return nil, wrongPlatform(want, []string{spell(have.OS, have.Architecture, have.Variant)})
		}
	}
	if e := checkLayers(m, config); e != nil {
		return nil, e
	}
	digest, _, err := v1.SHA256(bytes.NewReader(body))
	return &found{digest: digest, manifest: m, config: config}, err
}

func checkLayers(m *v1.Manifest, config *v1.ConfigFile) *Error {
	if len(m.Layers) != len(config.RootFS.DiffIDs) {
		return failf(Damaged, nil, "the image has %d layers, but its configuration lists %d; build it again", len(m.Layers), len(config.RootFS.DiffIDs))
	}
	if len(m.Layers) > maxLayers {
		return failf(Damaged, nil, "the image has %d layers; at most %d can be stacked: build it again with fewer", len(m.Layers), maxLayers)
	}
	for i, l := range m.Layers {
		diff := config.RootFS.DiffIDs[i]
		switch {
		case l.Size < 0:
			return failf(Damaged, nil, "layer %d of the image has a size of %d bytes", i, l.Size)
		case l.Digest.Algorithm != "sha256" || diff.Algorithm != "sha256" || !hex64.MatchString(l.Digest.Hex) || !hex64.MatchString(diff.Hex):
			return failf(Damaged, nil, "layer %d of the image is named by %q and %q; only sha256 digests are known here", i, l.Digest, diff)
		case strings.Contains(string(l.MediaType), "encrypted"):
			return failf(Damaged, nil, "layer %d of the image is encrypted; this is not supported", i)
		}
	}
	return nil
}

// missingBlob tells a manifest whose parts are gone from a name that is not there.
func missingBlob(err error) error {
	if e := classify(err); e.Kind == NotFound {
		return failf(Damaged, err, "the registry knows the image but has lost a part of it; push the image again")
	}
	return err
}
