package oci

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	opaqueXattr = "trusted.overlay.opaque"
	maxLinks    = 40 // as many as the kernel follows
)

// unpacker writes the entries of one layer below a directory that nobody else
// touches meanwhile. Two guards keep it inside: directories are opened through
// an os.Root by paths without symbolic links, and the last part of a name is
// only ever made, changed or removed relative to such a directory without
// following links.
type unpacker struct {
	ctx   context.Context
	root  *os.Root
	limit int64 // bytes that the layer may take; 0: no limit
	size  int64 // bytes that it takes so far, in blocks of 4 KiB
	buf   []byte

	known map[string]bool // clean paths that are directories, to spare system calls
	dirs  []dirTime
	at    string   // clean path of here
	here  *os.File // the directory that was opened last
}

// dirTime is set at the end: whatever is made in a directory changes its time.
type dirTime struct {
	path string
	at   time.Time
}

// unpack writes a layer's archive into dir, with whiteouts as overlayfs wants
// them, and returns about how many bytes it takes on disk. What it cannot
// accept is an *Error; other errors are from the reader or the file system.
func unpack(ctx context.Context, archive io.Reader, dir string, limit int64) (int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	u := &unpacker{ctx: ctx, root: root, limit: limit, buf: make([]byte, 256<<10), known: map[string]bool{".": true}}
	defer u.leave()
	t := tar.NewReader(archive)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return u.size, u.setTimes()
		}
		if err != nil {
			return u.size, err
		}
		if err := ctx.Err(); err != nil {
			return u.size, err
		}
		if err := u.entry(h, t); err != nil {
			return u.size, refine(h.Name, err)
		}
	}
}

// refine finds out of what a system call says whether the archive is to blame.
func refine(name string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return failf(NeedsRoot, err, "the image's files cannot be given their owners and attributes by this process (%v); run it as root", err)
	case errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EISDIR),
		errors.Is(err, unix.ELOOP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EILSEQ):
		e := hostile(name, "cannot be made: %v", err)
		e.Err = err
		return e
	}
	return err
}

func (u *unpacker) entry(h *tar.Header, body io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	p, err := entryPath(h.Name)
	if err != nil {
		return err
	}
	if u.size += 4096; u.limit > 0 && u.size > u.limit { // an inode is not for nothing
		return u.tooLarge()
	}
	if p == "." {
		if h.Typeflag != tar.TypeDir {
			return hostile(h.Name, "is the root itself and no directory")
		}
		return u.directory(".", h)
	}
	dir, err := u.directoryOf(h.Name, path.Dir(p), true)
	if err != nil {
		return err
	}
	if err := u.enter(dir); err != nil {
		return err
	}
	base := path.Base(p)
	if name, opaque, skip, ok := whiteoutOf(base); ok {
		return u.whiteout(h.Name, name, opaque, skip)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.makeDirectory(path.Join(dir, base), h)
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse: // the reader has made TypeReg of what old archives have
		return u.file(base, h, body)
	case tar.TypeSymlink:
		return u.symlink(base, h)
	case tar.TypeLink:
		return u.link(dir, base, h)
	case tar.TypeFifo:
		return u.fifo(base, h)
	case tar.TypeChar, tar.TypeBlock:
		// A runtime gives a container its own /dev. A node on our disk would be
		// a door to the machine's devices, or a forged whiteout.
		return nil
	}
	return hostile(h.Name, "is of unknown type %q", h.Typeflag)
}

// directoryOf returns the path without symbolic links that p means, as a
// process would see it whose root is the layer; missing directories are made.
func (u *unpacker) directoryOf(entry, p string, make bool) (string, error) {
	if u.known[p] {
		return p, nil
	}
	cur, links := ".", 0
	for rest := strings.Split(p, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if cur == "." {
				return "", hostile(entry, "leads out of the image through a symbolic link")
			}
			cur = path.Dir(cur)
			continue
		}
		next := path.Join(cur, part)
		if u.known[next] {
			cur = next
			continue
		}
		target, err := u.step(entry, next, make)
		if err != nil {
			return "", err
		}
		if target == "" {
			u.known[next] = true
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return "", hostile(entry, "lies behind symbolic links that lead in a circle")
		}
		if strings.HasPrefix(target, "/") {
			cur = "."
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return cur, nil
}

// step looks at one part of a path whose parents are real directories. It
// returns the target of a symbolic link, or "" for a directory.
func (u *unpacker) step(entry, p string, make bool) (string, error) {
	info, err := u.root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist) && make:
		return "", u.root.Mkdir(p, 0o755)
	case err != nil:
		return "", err
	case info.IsDir():
		return "", nil
	case info.Mode()&fs.ModeSymlink != 0:
		return u.root.Readlink(p)
	case isWhiteout(info) && make:
		// What was below is hidden already; what comes now is new.
		if err := u.root.Remove(p); err != nil {
			return "", err
		}
		if err := u.root.Mkdir(p, 0o755); err != nil {
			return "", err
		}
		return "", u.setOpaque(p)
	}
	return "", hostile(entry, "lies below %q, which is no directory", p)
}

// enter makes a clean path the directory that the next names are relative to.
func (u *unpacker) enter(dir string) error {
	if u.here != nil && u.at == dir {
		return nil
	}
	u.leave()
	f, err := u.root.Open(dir)
	if err != nil {
		return err
	}
	u.at, u.here = dir, f
	return nil
}

func (u *unpacker) leave() {
	if u.here != nil {
		u.here.Close()
		u.here = nil
	}
}

func (u *unpacker) fd() int { return int(u.here.Fd()) }

// clear removes what has the name here, so that something new can have it.
// wasWhiteout says that it hid something below.
func (u *unpacker) clear(base string) (wasWhiteout bool, err error) {
	p := path.Join(u.at, base)
	info, err := u.root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		u.forget(p)
	}
	return isWhiteout(info), u.root.RemoveAll(p)
}

// forget drops what is known about a directory that goes away.
func (u *unpacker) forget(p string) {
	clear(u.known)
	u.known["."] = true
	if u.at == p || strings.HasPrefix(u.at, p+"/") {
		u.leave()
	}
}

func (u *unpacker) tooLarge() error {
	return failf(NoSpace, nil, "a layer unpacks to more than the image cache may hold (%d bytes); raise its limit, or make the image smaller", u.limit)
}

// setTimes gives directories their times, the deepest first by construction or
// not at all when they have become something else.
func (u *unpacker) setTimes() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		d := u.dirs[i]
		info, err := u.root.Lstat(d.path)
		if err != nil || !info.IsDir() {
			continue
		}
		if err := u.root.Chtimes(d.path, d.at, d.at); err != nil {
			return fmt.Errorf("set the time of a directory: %w", err)
		}
	}
	return nil
}
