package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bigFile is from what size on it is checked beforehand whether a file fits.
const bigFile = 64 << 20

func (u *unpacker) makeDirectory(p string, h *tar.Header) error {
	base := path.Base(p)
	err := unix.Mkdirat(u.fd(), base, 0o700)
	if errors.Is(err, unix.EEXIST) {
		info, err := u.root.Lstat(p)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			hidden, err := u.clear(base)
			if err != nil {
				return err
			}
			if err := unix.Mkdirat(u.fd(), base, 0o700); err != nil {
				return err
			}
			if hidden {
				if err := u.setOpaque(p); err != nil {
					return err
				}
			}
		}
	} else if err != nil {
		return err
	}
	u.known[p] = true
	return u.directory(p, h)
}

// directory gives a directory that is there its attributes.
func (u *unpacker) directory(p string, h *tar.Header) error {
	f, err := u.root.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	u.dirs = append(u.dirs, dirTime{p, h.ModTime})
	return setAttributes(f, h)
}

// setAttributes sets owner, mode and extended attributes, in the order in which
// none of them undoes another.
func setAttributes(f *os.File, h *tar.Header) error {
	fd := int(f.Fd())
	if err := unix.Fchown(fd, h.Uid, h.Gid); err != nil {
		return fmt.Errorf("set owner %d:%d: %w", h.Uid, h.Gid, err)
	}
	if err := unix.Fchmod(fd, uint32(h.Mode)&0o7777); err != nil {
		return err
	}
	for name, value := range keptXattrs(h) {
		err := unix.Fsetxattr(fd, name, []byte(value), 0)
		if err != nil && !errors.Is(err, unix.ENOTSUP) { // the disk does not have them: most images do without
			return fmt.Errorf("set attribute %s: %w", name, err)
		}
	}
	return nil
}

func (u *unpacker) file(base string, h *tar.Header, body io.Reader) error {
	if h.Size > bigFile {
		var s unix.Statfs_t
		if err := unix.Fstatfs(u.fd(), &s); err == nil && h.Size/int64(s.Bsize) > int64(s.Bavail) {
			return fmt.Errorf("a file of %d bytes: %w", h.Size, unix.ENOSPC)
		}
	}
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(u.fd(), base, flags, 0o600)
	if errors.Is(err, unix.EEXIST) {
		if _, err := u.clear(base); err != nil {
			return err
		}
		fd, err = unix.Openat(u.fd(), base, flags, 0o600)
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	if err := u.fillFile(f, body); err != nil {
		return err
	}
	if err := setAttributes(f, h); err != nil {
		return err
	}
	return u.setTime(base, h.ModTime)
}

// fillFile copies and counts. Archives can claim any size, so that only what
// really comes counts.
func (u *unpacker) fillFile(f *os.File, body io.Reader) error {
	for {
		n, err := body.Read(u.buf)
		if n > 0 {
			if u.size += int64(n); u.limit > 0 && u.size > u.limit {
				return u.tooLarge()
			}
			if _, err := f.Write(u.buf[:n]); err != nil {
				return err
			}
			if err := u.ctx.Err(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) symlink(base string, h *tar.Header) error {
	if h.Linkname == "" {
		return hostile(h.Name, "is a symbolic link to nothing")
	}
	err := unix.Symlinkat(h.Linkname, u.fd(), base)
	if errors.Is(err, unix.EEXIST) {
		if _, err := u.clear(base); err != nil {
			return err
		}
		err = unix.Symlinkat(h.Linkname, u.fd(), base)
	}
	if err != nil {
		return err
	}
	return u.own(base, h)
}

// link makes a second name of a file of this layer.
func (u *unpacker) link(dir, base string, h *tar.Header) error {
	target, err := entryPath(h.Linkname)
	if err != nil {
		return hostile(h.Name, "is a hard link out of the image (%q)", h.Linkname)
	}
	from, err := u.directoryOf(h.Name, path.Dir(target), false)
	if errors.Is(err, fs.ErrNotExist) {
		return hostile(h.Name, "is a hard link to %q, which the layer does not hold", h.Linkname)
	}
	if err != nil {
		return err
	}
	clean := path.Join(from, path.Base(target))
	switch info, err := u.root.Lstat(clean); {
	case errors.Is(err, fs.ErrNotExist):
		return hostile(h.Name, "is a hard link to %q, which the layer does not hold", h.Linkname)
	case err != nil:
		return err
	case info.IsDir(), isWhiteout(info):
		return hostile(h.Name, "is a hard link to %q, which is no file", h.Linkname)
	}
	if clean == path.Join(dir, base) {
		return nil // to itself: it is there
	}
	source, err := u.root.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	err = unix.Linkat(int(source.Fd()), path.Base(target), u.fd(), base, 0)
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	if strings.HasPrefix(clean, path.Join(dir, base)+"/") {
		return hostile(h.Name, "is a hard link in place of the directory that holds its target")
	}
	if _, err := u.clear(base); err != nil {
		return err
	}
	return unix.Linkat(int(source.Fd()), path.Base(target), u.fd(), base, 0)
}

func (u *unpacker) fifo(base string, h *tar.Header) error {
	if _, err := u.clear(base); err != nil {
		return err
	}
	mode := uint32(h.Mode)&0o7777 | unix.S_IFIFO
	if err := unix.Mknodat(u.fd(), base, mode, 0); err != nil {
		return err
	}
	return u.own(base, h)
}

// own gives what is not opened its owner and time, and never its target.
func (u *unpacker) own(base string, h *tar.Header) error {
	if err := unix.Fchownat(u.fd(), base, h.Uid, h.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set owner %d:%d: %w", h.Uid, h.Gid, err)
	}
	return u.setTime(base, h.ModTime)
}

func (u *unpacker) setTime(base string, at time.Time) error {
	ts, err := unix.TimeToTimespec(at)
	if err != nil { // far outside of what file systems know
		ts = unix.Timespec{}
	}
	return unix.UtimesNanoAt(u.fd(), base, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

// whiteout hides what lower layers have. What this layer itself has is not
// meant, in whichever order the entries come.
func (u *unpacker) whiteout(entry, name string, opaque, skip bool) error {
	switch {
	case skip:
		return nil
	case opaque:
		return u.setOpaque(u.at)
	case name == "", name == ".", name == "..":
		return hostile(entry, "hides no name")
	}
	p := path.Join(u.at, name)
	info, err := u.root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unix.Mknodat(u.fd(), name, unix.S_IFCHR, 0)
	case err != nil:
		return err
	case info.IsDir():
		return u.setOpaque(p)
	}
	return nil
}

func (u *unpacker) setOpaque(p string) error {
	f, err := u.root.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fsetxattr(int(f.Fd()), opaqueXattr, []byte("y"), 0)
}

// isWhiteout says whether a file is overlayfs' mark for "not here".
func isWhiteout(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}

// probeUnpack tries in dir what unpacking needs.
func probeUnpack(dir string) error {
	probe, err := os.MkdirTemp(dir, "probe-")
	if err != nil {
		return failf(Internal, err, "the image cache cannot be written: %v", err)
	}
	defer os.RemoveAll(probe)
	if err := unix.Lchown(probe, 1, 1); err != nil {
		return cannotUnpack("give files to other users", err)
	}
	if err := unix.Mknod(path.Join(probe, "whiteout"), unix.S_IFCHR, 0); err != nil {
		return cannotUnpack("make whiteouts", err)
	}
	if err := unix.Lsetxattr(probe, opaqueXattr, []byte("y"), 0); err != nil {
		return cannotUnpack("mark directories as opaque", err)
	}
	return nil
}

func cannotUnpack(what string, err error) error {
	return failf(NeedsRoot, err, "image layers cannot be unpacked here: this process may not %s (%v); run the server as root with its data on a local disk such as ext4 or xfs (building and publishing work without)", what, err)
}
