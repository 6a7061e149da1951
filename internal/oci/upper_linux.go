package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// upper adds what a container changed: the upper directory of its overlay, with
// overlayfs' marks turned back into the whiteouts of images. Owners, modes and
// times stay: Python's compiled files are tied to the times of their sources.
func (a *archiver) upper(source LayerSource) error {
	skip, err := parseIgnore(source.Ignore)
	if err != nil {
		return err
	}
	return filepath.WalkDir(source.Dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		p, err := filepath.Rel(source.Dir, full)
		if err != nil || p == "." {
			return err
		}
		if out, all := skip.match(p); out {
			if d.IsDir() && all {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return a.changed(full, p, info)
	})
}

func (a *archiver) changed(full, p string, info fs.FileInfo) error {
	if isWhiteout(info) {
		return a.tar.WriteHeader(&tar.Header{Name: path.Join(path.Dir(p), whiteoutPrefix+path.Base(p)), Typeflag: tar.TypeReg, ModTime: layerTime})
	}
	st := info.Sys().(*syscall.Stat_t)
	h := &tar.Header{Name: p, Mode: int64(st.Mode & 0o7777), Uid: int(st.Uid), Gid: int(st.Gid), ModTime: info.ModTime().Truncate(time.Second)}
	opaque := false
	switch {
	case info.IsDir():
		h.Name, h.Typeflag = p+"/", tar.TypeDir
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		var err error
		if h.Linkname, err = os.Readlink(full); err != nil {
			return err
		}
	case info.Mode()&fs.ModeNamedPipe != 0:
		h.Typeflag = tar.TypeFifo
	case info.Mode().IsRegular():
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
		if id := (inode{uint64(st.Dev), st.Ino}); st.Nlink > 1 {
			if first, ok := a.links[id]; ok {
				h.Typeflag, h.Size, h.Linkname = tar.TypeLink, 0, first
			} else {
				a.links[id] = p
			}
		}
	default:
		return nil // sockets and devices
	}
	if h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeDir {
		var err error
		if h.PAXRecords, opaque, err = attributes(full, p); err != nil {
			return err
		}
	}
	if err := a.put(h, func() (*os.File, error) { return os.OpenFile(full, os.O_RDONLY|unix.O_NOFOLLOW, 0) }); err != nil {
		return err
	}
	if opaque {
		return a.tar.WriteHeader(&tar.Header{Name: p + "/" + whiteoutOpaque, Typeflag: tar.TypeReg, ModTime: layerTime})
	}
	return nil
}

// attributes returns those that belong into an image, and whether the directory
// hides what is below it.
func attributes(full, p string) (records map[string]string, opaque bool, err error) {
	size, err := unix.Llistxattr(full, nil)
	if errors.Is(err, unix.ENOTSUP) || err == nil && size == 0 {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list the attributes of %s: %w", p, err)
	}
	list := make([]byte, size)
	if size, err = unix.Llistxattr(full, list); err != nil {
		return nil, false, fmt.Errorf("list the attributes of %s: %w", p, err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		short := strings.TrimPrefix(strings.TrimPrefix(name, "trusted.overlay."), "user.overlay.")
		switch {
		case short != name && (short == "redirect" || short == "metacopy"):
			return nil, false, failf(Internal, nil, "%s was moved or changed without being copied (overlayfs attribute %s); mount the container with redirect_dir=off,metacopy=off", p, name)
		case short == "opaque" && short != name:
			value, err := getxattr(full, name)
			if err != nil {
				return nil, false, err
			}
			opaque = opaque || value == "y"
		case keepXattr(name):
			value, err := getxattr(full, name)
			if err != nil {
				return nil, false, err
			}
			if records == nil {
				records = map[string]string{}
			}
			records[xattrRecord+name] = value
		}
	}
	return records, opaque, nil
}

func getxattr(path, name string) (string, error) {
	b := make([]byte, 64<<10) // the kernel's limit
	n, err := unix.Lgetxattr(path, name, b)
	if err != nil {
		return "", fmt.Errorf("read attribute %s of %s: %w", name, path, err)
	}
	return string(b[:n]), nil
}
