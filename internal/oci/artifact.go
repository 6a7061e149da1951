package oci

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
)

// DefaultArtifactType is what a published directory is called when nothing else is said.
const DefaultArtifactType = "application/vnd.musterhq.model.v1"

// fileType is the media type of the files of an artifact.
const fileType = types.MediaType("application/octet-stream")

// ArtifactOptions say how a directory is published.
type ArtifactOptions struct {
	Type        string            // a media type; "": DefaultArtifactType
	Annotations map[string]string // of the manifest
	Ignore      []string          // as in .dockerignore, besides the directory's own file
	Credentials []Credential
	Created     time.Time // zero: not said, so that the same files give the same digest
}

// File is one of an artifact.
type File struct {
	Path   string `json:"path"` // relative, with '/'
	Size   int64  `json:"size"` // bytes
	Digest string `json:"digest"`
}

// Artifact is a published directory.
type Artifact struct {
	Ref         string            `json:"ref"` // by digest
	Digest      string            `json:"digest"`
	Type        string            `json:"type"`
	Size        int64             `json:"size"`  // of the files, in bytes
	Files       []File            `json:"files"` // by path
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PushArtifact publishes a directory as an OCI 1.1 artifact with a layer for
// each file, titled with its path: "oras pull" gives the directory back, and
// what a registry has already is not sent again. Symbolic links that stay in
// the directory are followed. Errors are *Error with Op "push".
func (c *Client) PushArtifact(ctx context.Context, dir, ref string, o ArtifactOptions) (Artifact, error) {
	out, err := c.pushArtifact(ctx, dir, ref, o)
	return out, named("push", ref, err)
}

func (c *Client) pushArtifact(ctx context.Context, dir, ref string, o ArtifactOptions) (Artifact, error) {
	tag, err := target(ref)
	if err != nil {
		return Artifact{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Artifact{}, failf(Internal, err, "the directory to publish cannot be opened: %v", err)
	}
	defer root.Close()
	files, err := filesOf(ctx, root, o.Ignore)
	if err != nil {
		return Artifact{}, err
	}
	if len(files) == 0 {
		return Artifact{}, failf(Internal, nil, "the directory %s holds no files to publish; check that the workload wrote its model there", dir)
	}
	manifest, out, err := manifestOf(files, o)
	if err != nil {
		return Artifact{}, err
	}
	out.Ref = tag.Context().Digest(out.Digest).Name()
	err = c.writing(ctx, tag, o.Credentials, func(p *remote.Pusher) error {
		if err := uploadAll(ctx, p, tag.Context(), root, files); err != nil {
			return err
		}
		return p.Push(ctx, tag, manifest)
	})
	return out, err
}

// filesOf lists the files of a directory with their digests.
func filesOf(ctx context.Context, root *os.Root, ignored []string) ([]File, error) {
	skip, err := readIgnore(root, ignored)
	if err != nil {
		return nil, err
	}
	var files []File
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if out, all := skip.match(p); p != "." && out {
			if d.IsDir() && all {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := root.Stat(p)
		if err != nil && d.Type()&fs.ModeSymlink != 0 {
			return failf(Internal, err, "%s is a symbolic link out of the directory, or to nothing; publish a copy instead", p)
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			if info.IsDir() {
				return failf(Internal, nil, "%s is a symbolic link to a directory; publish a copy instead", p)
			}
			return nil // sockets, pipes
		}
		files = append(files, File{Path: p, Size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return files, each(ctx, len(files), runtime.NumCPU(), func(ctx context.Context, i int) error {
		digest, size, err := hashFile(ctx, root, files[i].Path)
		files[i].Digest, files[i].Size = digest, size
		return err
	})
}

func hashFile(ctx context.Context, root *os.Root, p string) (string, int64, error) {
	f, err := root.Open(p)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(struct{ io.Writer }{h}, untilDone(ctx, f), make([]byte, 256<<10))
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, err
}

// untilDone stops reading when ctx ends.
func untilDone(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// each calls fn for 0…n-1, some at the same time; the first error stops the rest.
func each(ctx context.Context, n, width int, fn func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, width)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			if err := fn(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// rawManifest implements remote.Taggable.
type rawManifest []byte

func (m rawManifest) RawManifest() ([]byte, error)        { return m, nil }
func (m rawManifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// emptyDigest is that of the empty configuration that artifacts have.
var emptyDigest = v1.Hash{Algorithm: "sha256", Hex: hexOf(string(spec.DescriptorEmptyJSON.Digest))}

// manifestLimit is what registries take.
const manifestLimit = 4 << 20

func manifestOf(files []File, o ArtifactOptions) (rawManifest, Artifact, error) {
	annotations := maps.Clone(o.Annotations)
	if !o.Created.IsZero() {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[spec.AnnotationCreated] = o.Created.UTC().Format(time.RFC3339)
	}
	m := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		ArtifactType: cmp.Or(o.Type, DefaultArtifactType), Annotations: annotations,
		Config: v1.Descriptor{MediaType: types.MediaType(spec.MediaTypeEmptyJSON), Digest: emptyDigest, Size: spec.DescriptorEmptyJSON.Size, Data: spec.DescriptorEmptyJSON.Data},
	}
	out := Artifact{Type: m.ArtifactType, Files: files, Annotations: annotations}
	for _, f := range files {
		m.Layers = append(m.Layers, v1.Descriptor{
			MediaType: fileType, Digest: v1.Hash{Algorithm: "sha256", Hex: hexOf(f.Digest)}, Size: f.Size,
			Annotations: map[string]string{spec.AnnotationTitle: f.Path},
		})
		out.Size += f.Size
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, out, err
	}
	if len(raw) > manifestLimit {
		return nil, out, failf(Internal, nil, "the directory has %d files, more than a registry can list; pack the small ones into an archive first", len(files))
	}
	digest, _, err := v1.SHA256(bytes.NewReader(raw))
	out.Digest = digest.String()
	return raw, out, err
}

func uploadAll(ctx context.Context, p *remote.Pusher, repo name.Repository, root *os.Root, files []File) error {
	config := &blob{digest: emptyDigest, size: spec.DescriptorEmptyJSON.Size, kind: types.MediaType(spec.MediaTypeEmptyJSON),
		open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(spec.DescriptorEmptyJSON.Data)), nil
		}}
	if err := p.Upload(ctx, repo, config); err != nil {
		return err
	}
	return each(ctx, len(files), uploads, func(ctx context.Context, i int) error {
		f := files[i]
		err := p.Upload(ctx, repo, &blob{digest: v1.Hash{Algorithm: "sha256", Hex: hexOf(f.Digest)}, size: f.Size, kind: fileType,
			open: func() (io.ReadCloser, error) { return root.Open(f.Path) }})
		if err != nil {
			if now, _, e := hashFile(ctx, root, f.Path); e == nil && now != f.Digest {
				return failf(Internal, err, "%s changed while it was published; publish again when nothing writes to it", f.Path)
			}
		}
		return err
	})
}

// blob is bytes with a known digest; it implements v1.Layer.
type blob struct {
	digest v1.Hash
	size   int64
	kind   types.MediaType
	open   func() (io.ReadCloser, error)
}

func (b *blob) Digest() (v1.Hash, error)             { return b.digest, nil }
func (b *blob) DiffID() (v1.Hash, error)             { return b.digest, nil }
func (b *blob) Compressed() (io.ReadCloser, error)   { return b.open() }
func (b *blob) Uncompressed() (io.ReadCloser, error) { return b.open() }
func (b *blob) Size() (int64, error)                 { return b.size, nil }
func (b *blob) MediaType() (types.MediaType, error)  { return b.kind, nil }

// byPath sorts files and finds the first name that comes twice.
func byPath(files []File) (twice string) {
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	for i := 1; i < len(files); i++ {
		if files[i].Path == files[i-1].Path {
			return files[i].Path
		}
	}
	return ""
}

// titlePath checks a name that a stranger gave a file.
func titlePath(title string) error {
	if !fs.ValidPath(title) || title == "." || path.Clean(title) != title || len(title) > maxName ||
		bytes.ContainsFunc([]byte(title), func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return hostile(title, "is no name of a file below the directory")
	}
	return nil
}
