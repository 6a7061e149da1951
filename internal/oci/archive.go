package oci

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// layerTime is the time of files that are copied into an image: always the
// same, so that the same code gives the same image. Not 1970, since zip archives
// (and so Python wheels) cannot hold a time before 1980.
var layerTime = time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)

// fileLayer is a layer that was made here; it implements v1.Layer.
type fileLayer struct {
	path   string
	kind   types.MediaType
	digest v1.Hash
	diffID v1.Hash
	size   int64
}

func (l *fileLayer) Digest() (v1.Hash, error)            { return l.digest, nil }
func (l *fileLayer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *fileLayer) Size() (int64, error)                { return l.size, nil }
func (l *fileLayer) MediaType() (types.MediaType, error) { return l.kind, nil }
func (l *fileLayer) Compressed() (io.ReadCloser, error)  { return os.Open(l.path) }
func (l *fileLayer) Uncompressed() (io.ReadCloser, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// archiver writes a layer's archive, compressed and hashed on the way.
type archiver struct {
	tar      *tar.Writer
	zip      *gzip.Writer
	file     *os.File
	packed   hash.Hash
	unpacked hash.Hash
	links    map[inode]string // where a file with several names was written first
}

// inode identifies a file on this machine.
type inode struct{ dev, ino uint64 }

func newArchiver(f *os.File) *archiver {
	a := &archiver{file: f, packed: sha256.New(), unpacked: sha256.New(), links: map[inode]string{}}
	a.zip = gzip.NewWriter(io.MultiWriter(f, a.packed))
	a.tar = tar.NewWriter(io.MultiWriter(a.zip, a.unpacked))
	return a
}

// finish completes the archive and returns it as a layer.
func (a *archiver) finish(kind types.MediaType) (*fileLayer, error) {
	if err := errors.Join(a.tar.Close(), a.zip.Close()); err != nil {
		return nil, err
	}
	info, err := a.file.Stat()
	if err != nil {
		return nil, err
	}
	return &fileLayer{
		path: a.file.Name(), kind: kind, size: info.Size(),
		digest: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(a.packed.Sum(nil))},
		diffID: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(a.unpacked.Sum(nil))},
	}, nil
}

// put writes an entry; a regular file's content comes from open.
func (a *archiver) put(h *tar.Header, open func() (*os.File, error)) error {
	if h.Typeflag != tar.TypeReg || h.Size == 0 {
		return a.tar.WriteHeader(h)
	}
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	if err := a.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(a.tar, io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = fmt.Errorf("%s became shorter while it was read: %d instead of %d bytes; build again when nothing writes to it", h.Name, n, h.Size)
	}
	return err
}

// directory adds the content of a directory at a path of the image, as root's
// files, with one time and with modes that do not depend on anybody's umask.
func (a *archiver) directory(source LayerSource) error {
	root, err := os.OpenRoot(source.Dir)
	if err != nil {
		return fmt.Errorf("open the directory for the image: %w", err)
	}
	defer root.Close()
	skip, err := readIgnore(root, source.Ignore)
	if err != nil {
		return err
	}
	to := path.Clean("/" + source.To)[1:]
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if out, all := skip.match(p); p != "." && out {
			if d.IsDir() && all {
				return fs.SkipDir
			}
			return nil
		}
		h, err := plainHeader(root, path.Join(to, p), p, d)
		if h == nil || err != nil {
			return err
		}
		return a.put(h, func() (*os.File, error) { return root.Open(p) })
	})
}

// plainHeader is nil for what has no place in an image.
func plainHeader(root *os.Root, name, p string, d fs.DirEntry) (*tar.Header, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	h := &tar.Header{Name: name, ModTime: layerTime, Mode: 0o644, Typeflag: tar.TypeReg}
	switch {
	case d.IsDir():
		if name == "." || name == "" {
			return nil, nil // the image's root stays as it is
		}
		h.Name, h.Typeflag, h.Mode = name+"/", tar.TypeDir, 0o755
	case d.Type()&fs.ModeSymlink != 0:
		h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
		if h.Linkname, err = root.Readlink(p); err != nil {
			return nil, err
		}
	case d.Type().IsRegular():
		h.Size = info.Size()
		if info.Mode()&0o111 != 0 {
			h.Mode = 0o755
		}
	default:
		return nil, nil // sockets, pipes and devices are no code
	}
	return h, nil
}
