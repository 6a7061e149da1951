package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Scratch is the base of images without one.
const Scratch = "scratch"

// LayerSource becomes one layer.
type LayerSource struct {
	// Dir is on this machine.
	Dir string
	// To is where the content of Dir appears in the image. Directories above it
	// are not touched: where the base has them they stay as they are.
	To string
	// Upper says that Dir is the upper directory of an overlay: what a container
	// changed on top of the base. To does not matter then.
	Upper bool
	// Ignore are patterns as in .dockerignore of what is left out, besides those
	// of a .musterignore or .dockerignore in Dir (of which Upper reads none).
	Ignore []string
	// Comment goes into the image's history.
	Comment string
}

// BuildOptions say what an image is made of. Zero fields leave what the base has.
type BuildOptions struct {
	Base        string // an image's name, or Scratch
	Target      string // with a tag
	Layers      []LayerSource
	Env         map[string]string
	Workdir     string
	Entrypoint  []string
	Cmd         []string
	User        string
	Labels      map[string]string
	Credentials []Credential
	Log         io.Writer // hears line by line what is done; nil: nobody
	// Created is written into the image; zero: the base's. The same base, files
	// and options give the same digest.
	Created time.Time
}

// Built is an image that is in the registry now.
type Built struct {
	Ref    string // by digest
	Digest string
	Size   int64 // of its layers, compressed, in bytes; the base's included
}

// Build makes an image and writes it to the registry, for the store's platform.
// Layers of the base that the target's registry has are not transferred. Errors
// are *Error with Op "build"; their Ref is the base or the target, whichever failed.
func (s *Store) Build(ctx context.Context, o BuildOptions) (Built, error) {
	log := o.Log
	if log == nil {
		log = io.Discard
	}
	tag, err := target(o.Target)
	if err != nil {
		return Built{}, named("build", o.Target, err)
	}
	base, err := s.base(ctx, o)
	if err != nil {
		return Built{}, named("build from", o.Base, err)
	}
	dir, err := os.MkdirTemp(s.path("tmp"), "build-")
	if err != nil {
		return Built{}, named("build", o.Target, err)
	}
	defer os.RemoveAll(dir)
	img, err := s.assemble(ctx, base, dir, o, log)
	if err != nil {
		return Built{}, named("build", o.Target, err)
	}
	fmt.Fprintf(log, "pushing %s\n", tag.Name())
	err = s.writing(ctx, tag, o.Credentials, func(p *remote.Pusher) error { return p.Push(ctx, tag, img) })
	if err != nil {
		return Built{}, named("build", o.Target, err)
	}
	out, err := describe(tag, img)
	if err != nil {
		return Built{}, named("build", o.Target, err)
	}
	fmt.Fprintf(log, "built %s\n", out.Ref)
	return out, nil
}

// base opens the base image; only its description is read.
func (s *Store) base(ctx context.Context, o BuildOptions) (v1.Image, error) {
	if o.Base == Scratch {
		img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		return mutate.ConfigFile(img, &v1.ConfigFile{OS: s.platform.OS, Architecture: s.platform.Architecture, Variant: s.platform.Variant, RootFS: v1.RootFS{Type: "layers"}})
	}
	ref, err := parseRef(o.Base)
	if err != nil {
		return nil, err
	}
	var f *found
	sess, err := s.wire.login(ctx, ref, o.Credentials, transport.PullScope, func(c *session) (err error) {
		f, err = c.fetch(ctx, ref, s.platform)
		return err
	})
	if err != nil {
		return nil, err
	}
	return remote.Image(ref.Context().Digest(f.digest.String()), s.remoteOptions(ctx, sess.cred)...)
}

func (s *Store) assemble(ctx context.Context, img v1.Image, dir string, o BuildOptions, log io.Writer) (v1.Image, error) {
	kind := types.OCILayer
	if base, err := img.MediaType(); err != nil {
		return nil, err
	} else if base == types.DockerManifestSchema2 {
		kind = types.DockerLayer
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: o.Created.UTC()}
	if o.Created.IsZero() {
		created = config.Created
	}
	for i, source := range o.Layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		layer, err := pack(dir, source, kind)
		if err != nil {
			return nil, fmt.Errorf("layer %d from %s: %w", i, source.Dir, err)
		}
		fmt.Fprintf(log, "layer %d from %s: %d bytes\n", i, source.Dir, layer.size)
		by := "muster build"
		if source.Comment != "" {
			by += ": " + source.Comment
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, MediaType: kind, History: v1.History{Created: created, CreatedBy: by}})
		if err != nil {
			return nil, err
		}
	}
	if config, err = img.ConfigFile(); err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created = created
	edit(&config.Config, o)
	return mutate.ConfigFile(img, config)
}

// pack makes the layer's archive.
func pack(dir string, source LayerSource, kind types.MediaType) (*fileLayer, error) {
	info, err := os.Stat(source.Dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is not a directory; name the one that holds the files")
	}
	f, err := os.CreateTemp(dir, "layer-")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := newArchiver(f)
	if source.Upper {
		err = a.upper(source)
	} else {
		err = a.directory(source)
	}
	if err != nil {
		return nil, err
	}
	return a.finish(kind)
}

// edit changes what was asked for and nothing else.
func edit(c *v1.Config, o BuildOptions) {
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		line := name + "=" + o.Env[name]
		i := slices.IndexFunc(c.Env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		if i < 0 {
			c.Env = append(c.Env, line)
		} else {
			c.Env[i] = line
		}
	}
	if o.Workdir != "" {
		c.WorkingDir = o.Workdir
	}
	if o.Entrypoint != nil {
		c.Entrypoint, c.Cmd = o.Entrypoint, nil // the base's arguments are for its own entrypoint
	}
	if o.Cmd != nil {
		c.Cmd = o.Cmd
	}
	if o.User != "" {
		c.User = o.User
	}
	if len(o.Labels) > 0 {
		labels := maps.Clone(c.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, o.Labels)
		c.Labels = labels
	}
}

func describe(tag name.Tag, img v1.Image) (Built, error) {
	digest, err := img.Digest()
	if err != nil {
		return Built{}, err
	}
	m, err := img.Manifest()
	if err != nil {
		return Built{}, err
	}
	out := Built{Ref: tag.Context().Digest(digest.String()).Name(), Digest: digest.String()}
	for _, l := range m.Layers {
		out.Size += l.Size
	}
	return out, nil
}
