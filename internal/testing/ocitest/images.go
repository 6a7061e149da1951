package ocitest

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// File is an entry of a layer's archive. Type 0 is a directory where Path ends
// with '/', a symbolic link where Link is set, and else a file.
type File struct {
	Path  string
	Body  string
	Mode  int64 // 0: 0755 of directories, 0644 of others
	UID   int
	GID   int
	Link  string
	Type  byte
	PAX   map[string]string
	Major int64
	Minor int64
	Time  time.Time // zero: 2020-01-01
}

var someTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Tar makes an archive of files, in their order and with nothing added.
func Tar(files ...File) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.Path, Typeflag: f.Type, Mode: f.Mode, Uid: f.UID, Gid: f.GID, Linkname: f.Link,
			PAXRecords: f.PAX, Devmajor: f.Major, Devminor: f.Minor, ModTime: f.Time}
		if f.Time.IsZero() {
			h.ModTime = someTime
		}
		if h.Typeflag == 0 {
			switch {
			case strings.HasSuffix(f.Path, "/"):
				h.Typeflag = tar.TypeDir
			case f.Link != "":
				h.Typeflag = tar.TypeSymlink
			default:
				h.Typeflag = tar.TypeReg
			}
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(f.Body))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
			if h.Typeflag == tar.TypeDir {
				h.Mode = 0o755
			}
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err) // a mistake in the test that calls
		}
		if h.Typeflag == tar.TypeReg {
			io.WriteString(w, f.Body)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Compression of a layer.
type Compression int

// The compressions.
const (
	Gzip Compression = iota
	Zstd
	Plain
)

// Layer is one in memory. Its fields may be changed to make it lie.
type Layer struct {
	Packed []byte
	Diff   v1.Hash // what the configuration says that it unpacks to
	Sum    v1.Hash // what the manifest says that it is
	Type   types.MediaType
}

// NewLayer packs an archive.
func NewLayer(archive []byte, how Compression) *Layer {
	l := &Layer{Packed: archive, Type: types.OCIUncompressedLayer}
	var b bytes.Buffer
	switch how {
	case Gzip:
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		w.Write(archive)
		w.Close()
		l.Packed, l.Type = b.Bytes(), types.OCILayer
	case Zstd:
		w, _ := zstd.NewWriter(&b)
		w.Write(archive)
		w.Close()
		l.Packed, l.Type = b.Bytes(), types.OCILayerZStd
	}
	l.Diff, _, _ = v1.SHA256(bytes.NewReader(archive))
	l.Sum, _, _ = v1.SHA256(bytes.NewReader(l.Packed))
	return l
}

// Files makes a gzip layer of files.
func Files(files ...File) *Layer { return NewLayer(Tar(files...), Gzip) }

// Digest implements v1.Layer, as the other methods do.
func (l *Layer) Digest() (v1.Hash, error) { return l.Sum, nil }

// DiffID implements v1.Layer.
func (l *Layer) DiffID() (v1.Hash, error) { return l.Diff, nil }

// Compressed implements v1.Layer.
func (l *Layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.Packed)), nil
}

// Uncompressed implements v1.Layer; nobody needs it to write an image.
func (l *Layer) Uncompressed() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }

// Size implements v1.Layer.
func (l *Layer) Size() (int64, error) { return int64(len(l.Packed)), nil }

// MediaType implements v1.Layer.
func (l *Layer) MediaType() (types.MediaType, error) { return l.Type, nil }

// Image stacks layers, for this machine's platform.
func Image(t testing.TB, config v1.Config, layers ...*Layer) v1.Image {
	t.Helper()
	return ImageFor(t, "linux/"+runtime.GOARCH, config, layers...)
}

// ImageFor stacks layers for a platform.
func ImageFor(t testing.TB, platform string, config v1.Config, layers ...*Layer) v1.Image {
	t.Helper()
	p, err := v1.ParsePlatform(platform)
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.ConfigFile(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1),
		&v1.ConfigFile{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, Config: config, RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		img, err = mutate.Append(img, mutate.Addendum{Layer: l, MediaType: l.Type})
		if err != nil {
			t.Fatal(err)
		}
	}
	return img
}

// Index makes one image of several platforms.
func Index(t testing.TB, images map[string]v1.Image) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for platform, img := range images {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	return index
}

// Noise is n bytes of which about half can be compressed away; the same seed
// gives the same bytes.
func Noise(seed uint64, n int) []byte {
	out := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	const block = 32 << 10
	text := []byte("weights and biases, weights and measures; ")
	for at := 0; at < n; at += block {
		part := out[at:min(at+block, n)]
		if at/block%2 == 0 {
			source.Read(part)
			continue
		}
		for i := 0; i < len(part); i += len(text) {
			copy(part[i:], text)
		}
	}
	return out
}

// busyboxes are where Debian's busybox-static and others put it.
var busyboxes = []string{"/bin/busybox", "/usr/bin/busybox"}

// Busybox makes a layer with a shell and the usual programs that runs anywhere.
// It skips the test where the machine has no static busybox.
func Busybox(t testing.TB) *Layer {
	t.Helper()
	for _, path := range busyboxes {
		program, err := os.ReadFile(path)
		if err != nil || !static(program) {
			continue
		}
		files := []File{{Path: "bin/"}, {Path: "tmp/", Mode: 0o1777}, {Path: "etc/"}, {Path: "proc/"}, {Path: "sys/"}, {Path: "dev/"},
			{Path: "etc/passwd", Body: "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n"},
			{Path: "bin/busybox", Body: string(program), Mode: 0o755}}
		for _, name := range strings.Fields("sh true false echo cat ls sleep env id pwd mkdir rm touch wc head tail seq kill ps test printf hostname uname dd sha256sum sync nproc stat chmod chown ln cp mv grep sed awk tr date mount umount") {
			files = append(files, File{Path: "bin/" + name, Link: "busybox"})
		}
		return Files(files...)
	}
	t.Skip("this takes a static busybox: apt-get install busybox-static")
	return nil
}

func static(program []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return false
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// Arch is this machine's architecture as images name it.
func Arch() string { return runtime.GOARCH }
