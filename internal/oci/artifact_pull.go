package oci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
)

// partPrefix begins the names of files that are not whole yet.
const partPrefix = ".muster-part-"

// PullArtifact writes the files of an artifact into dir, which is made where it
// is missing. Files that are there already, whole and the same, are not fetched
// again, and what a broken transfer left is gone on with. Nothing outside dir is
// touched, whatever the artifact's names and links in dir say. Errors are
// *Error with Op "pull".
func (c *Client) PullArtifact(ctx context.Context, ref, dir string, o PullOptions) (Artifact, error) {
	out, err := c.pullArtifact(ctx, ref, dir, o)
	return out, named("pull", ref, err)
}

func (c *Client) pullArtifact(ctx context.Context, ref, dir string, o PullOptions) (Artifact, error) {
	parsed, err := parseRef(ref)
	if err != nil {
		return Artifact{}, err
	}
	var out Artifact
	sess, err := c.wire.login(ctx, parsed, o.Credentials, transport.PullScope, func(s *session) (err error) {
		out, err = s.artifact(ctx, parsed)
		return err
	})
	if err != nil {
		return Artifact{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Artifact{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Artifact{}, err
	}
	defer root.Close()
	wants := make([]want, len(out.Files))
	for i, f := range out.Files {
		wants[i].size = f.Size
	}
	p := newProgress(wants)
	stop := p.report(o.Progress)
	err = each(ctx, len(out.Files), uploads, func(ctx context.Context, i int) error {
		got := new(atomic.Int64)
		p.got[i].Store(got)
		if err := sess.file(ctx, root, out.Files[i], got); err != nil {
			return err
		}
		p.finish(i)
		return nil
	})
	stop(err == nil)
	return out, err
}

// artifact reads the manifest and checks every name in it.
func (s *session) artifact(ctx context.Context, ref name.Reference) (Artifact, error) {
	var expect *v1.Hash
	if d, ok := ref.(name.Digest); ok {
		h, err := v1.NewHash(d.DigestStr())
		if err != nil {
			return Artifact{}, badName("the digest %q is not one: %v", d.DigestStr(), err)
		}
		expect = &h
	}
	body, header, err := s.get(ctx, "manifests/"+ref.Identifier(), manifestTypes, expect)
	if err != nil {
		return Artifact{}, err
	}
	kind, err := mediaType(body, header)
	if err != nil {
		return Artifact{}, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(body))
	if err != nil {
		return Artifact{}, failf(Damaged, err, "the artifact's manifest cannot be read: %v", err)
	}
	if kind.IsIndex() || m.Config.MediaType.IsConfig() {
		return Artifact{}, failf(Damaged, nil, "this is a container image, not a published directory; name an artifact")
	}
	digest, _, err := v1.SHA256(bytes.NewReader(body))
	if err != nil {
		return Artifact{}, err
	}
	out := Artifact{Digest: digest.String(), Type: m.ArtifactType, Annotations: m.Annotations, Ref: ref.Context().Digest(digest.String()).Name()}
	for _, l := range m.Layers {
		title := l.Annotations[spec.AnnotationTitle]
		if title == "" {
			continue // not a file
		}
		if err := titlePath(title); err != nil {
			return Artifact{}, err
		}
		if l.Annotations["io.deis.oras.content.unpack"] == "true" {
			return Artifact{}, failf(Damaged, nil, "%q is a packed directory; publish its files one by one", title)
		}
		if l.Size < 0 || l.Digest.Algorithm != "sha256" || !hex64.MatchString(l.Digest.Hex) {
			return Artifact{}, failf(Damaged, nil, "the file %q has size %d and digest %q; only sha256 is known here", title, l.Size, l.Digest)
		}
		out.Files = append(out.Files, File{Path: title, Size: l.Size, Digest: l.Digest.String()})
		out.Size += l.Size
	}
	if twice := byPath(out.Files); twice != "" {
		return Artifact{}, failf(Damaged, nil, "the file %q is there twice", twice)
	}
	return out, nil
}

// file fetches one, or finds that it is there.
func (s *session) file(ctx context.Context, root *os.Root, f File, got *atomic.Int64) error {
	if info, err := root.Lstat(f.Path); err == nil && info.Mode().IsRegular() && info.Size() == f.Size {
		if digest, _, err := hashFile(ctx, root, f.Path); err == nil && digest == f.Digest {
			return nil
		}
	}
	if dir := path.Dir(f.Path); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return outside(f.Path, err)
		}
	}
	part := partPrefix + key(f.Path + "@" + f.Digest)[:32]
	for try := 0; ; try++ {
		kept, err := s.fetchFile(ctx, root, part, f, got)
		if err == nil {
			return outside(f.Path, root.Rename(part, f.Path))
		}
		if KindOf(err) == Damaged {
			root.Remove(part)
			if kept > 0 && try == 0 {
				continue // what was there from before may be the damage
			}
		}
		return err
	}
}

// outside gives words to a refusal of the os.Root.
func outside(p string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Err.Error() == "path escapes from parent" {
		return failf(Damaged, err, "%q would be written outside of the directory, through a symbolic link that is there; use an empty directory", p)
	}
	return err
}

// fetchFile completes part and checks it; kept is how much of it was there.
func (s *session) fetchFile(ctx context.Context, root *os.Root, part string, f File, got *atomic.Int64) (kept int64, err error) {
	out, err := root.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
	}()
	sum := sha256.New()
	kept, err = io.Copy(sum, untilDone(ctx, out))
	if err != nil {
		return kept, err
	}
	if kept > f.Size {
		return kept, failf(Damaged, nil, "what was there of %q is longer than the file", f.Path)
	}
	got.Store(kept)
	rest := &blobReader{ctx: ctx, from: s, digest: f.Digest, size: f.Size, at: kept}
	defer rest.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(out, sum)}, &counter{rest, got}, make([]byte, 256<<10)); err != nil {
		return kept, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != hexOf(f.Digest) {
		return kept, failf(Damaged, nil, "the file %q that came is not the one that was published; try again", f.Path)
	}
	return kept, nil
}
