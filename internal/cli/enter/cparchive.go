package enter

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// packed is a local file tree to send.
type packed struct {
	from  string
	base  string // the name that it has here
	total int64  // bytes of its files
}

// pack lists the files to send.
func pack(from string) (*packed, error) {
	abs, err := filepath.Abs(from)
	if err != nil {
		return nil, err
	}
	p := &packed{from: abs, base: filepath.Base(abs)}
	if real, err := filepath.EvalSymlinks(abs); err == nil { // what is named is meant, links below it stay links
		p.from = real
	}
	err = filepath.WalkDir(p.from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			p.total += info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, session.NotFoundError(fmt.Sprintf("%s does not exist on this machine", from), "a path in a task is written WORKLOAD:PATH")
	}
	if err != nil {
		return nil, session.UsageError(err.Error(), "muster cp reads what this user may read")
	}
	return p, nil
}

// write writes the tree as an archive in which it is called base.
func (p *packed) write(w io.Writer, m *meter, base string) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(p.from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.from, name)
		if err != nil {
			return err
		}
		return p.add(t, m, name, path.Join(base, filepath.ToSlash(rel)), d)
	})
	if err != nil {
		return err
	}
	return t.Close()
}

func (p *packed) add(t *tar.Writer, m *meter, name, as string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		if link, err = os.Readlink(name); err != nil {
			return err
		}
	case !mode.IsRegular() && !mode.IsDir():
		m.skip(name)
		return nil
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Mode = as, h.Mode&0o777
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""                                                     // whoever unpacks it owns it
	h.ModTime, h.AccessTime, h.ChangeTime = h.ModTime.Truncate(time.Second), time.Time{}, time.Time{} // else it is rounded up
	if info.IsDir() {
		h.Name += "/"
	}
	if !info.IsDir() {
		m.file()
	}
	if !info.Mode().IsRegular() {
		return t.WriteHeader(h)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(m.counting(t), io.LimitReader(f, h.Size))
	if err == nil && n < h.Size {
		err = fmt.Errorf("%s became shorter while it was copied", name)
	}
	return err
}

// unpacking is a tree that comes as an archive.
type unpacking struct {
	m    *meter
	base string   // what the tree is called in the archive; ".": it is what is in a directory
	to   string   // what it is to be called here
	in   bool     // to is in a directory that was named, and was not named itself
	root *os.Root // nothing is written outside it
	sole string   // the name in root of a tree that is one file; empty: root is the tree
	dirs []dirTime
}

type dirTime struct {
	name string
	mode fs.FileMode
	at   time.Time
}

// unpack reads an archive of a tree called base, and makes it at to, or in to
// where that is a directory.
func unpack(r io.Reader, m *meter, base, to string) error {
	u := &unpacking{m: m, base: base, to: to}
	defer func() {
		if u.root != nil {
			_ = u.root.Close()
		}
	}()
	if info, err := os.Stat(to); err == nil && info.IsDir() && base != "." {
		u.to, u.in = filepath.Join(to, base), true
	} else if err != nil && strings.HasSuffix(to, string(filepath.Separator)) {
		return session.NotFoundError(fmt.Sprintf("directory %s does not exist on this machine", to), "make it first, or leave out the last /")
	}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return u.finish()
		}
		if err == nil {
			err = u.entry(h, t)
		}
		if err != nil {
			return u.explain(err)
		}
	}
}

// explain makes a sentence of what went wrong here.
func (u *unpacking) explain(err error) error {
	var f *session.Failure
	var p *api.Problem
	if errors.As(err, &f) || errors.As(err, &p) {
		return err
	}
	return &session.Failure{Code: session.ExitConflict, Problem: &api.Problem{Title: "Copy failed", Code: "conflict", Detail: fmt.Sprintf("%s cannot be written: %v", u.to, err), Hint: "nothing is written outside it; check permissions and room"}}
}

// begin opens the root by the first entry, which is the tree itself.
func (u *unpacking) begin(dir bool) (err error) {
	if dir {
		if info, err := os.Lstat(u.to); u.in && err == nil && info.Mode()&fs.ModeSymlink != 0 { // perhaps of an earlier copy, and leads anywhere
			return &session.Failure{Code: session.ExitConflict, Problem: &api.Problem{
				Title: "Copy failed", Code: "conflict", Detail: fmt.Sprintf("%s is a symbolic link, and what comes is a directory: nothing is written through it", u.to),
				Hint: "take it away, or copy WORKLOAD:PATH/. to " + u.to + ", which writes where it leads",
			}}
		}
		if err = os.Mkdir(u.to, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		u.root, err = os.OpenRoot(u.to)
		return err
	}
	parent, name := filepath.Split(filepath.Clean(u.to))
	if parent == "" {
		parent = "."
	}
	u.sole = name
	u.root, err = os.OpenRoot(parent)
	return err
}

// place is the name in the root of an entry; ok is false for one that is not of
// the tree.
func (u *unpacking) place(name string) (string, bool) {
	clean := path.Clean(strings.TrimPrefix(name, "/"))
	switch {
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", false
	case u.base == ".":
		return clean, true
	case clean == u.base && u.sole != "":
		return u.sole, true
	case clean == u.base:
		return ".", true
	}
	rest, ok := strings.CutPrefix(clean, u.base+"/")
	return rest, ok && u.sole == ""
}

func (u *unpacking) entry(h *tar.Header, body io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if u.root == nil {
		if u.base == "." && h.Typeflag != tar.TypeDir { // its place would be beside the target
			return fmt.Errorf("the task sent %q before the directory that was asked for", session.Cut(h.Name, 80))
		}
		if err := u.begin(h.Typeflag == tar.TypeDir); err != nil {
			return err
		}
	}
	name, ok := u.place(h.Name)
	if !ok {
		return fmt.Errorf("the task sent %q, which is not a part of what was asked for", session.Cut(h.Name, 80))
	}
	mode := fs.FileMode(h.Mode).Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := u.root.Mkdir(name, mode|0o700); err != nil && !errors.Is(err, fs.ErrExist) && name != "." {
			return err
		}
		u.dirs = append(u.dirs, dirTime{name, mode, h.ModTime})
		return nil
	case tar.TypeReg:
		return u.file(name, mode, h, body)
	case tar.TypeSymlink:
		if err := u.clear(name); err != nil {
			return err
		}
		u.m.file()
		return u.root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		old, ok := u.place(h.Linkname)
		if !ok {
			return fmt.Errorf("the task sent %q as a link to %q, which is not a part of what was asked for", session.Cut(h.Name, 80), session.Cut(h.Linkname, 80))
		}
		if err := u.clear(name); err != nil {
			return err
		}
		u.m.file()
		return u.root.Link(old, name)
	}
	u.m.skip(h.Name)
	return nil
}

// clear takes away what has the name, so that nothing is written through it.
func (u *unpacking) clear(name string) error {
	err := u.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (u *unpacking) file(name string, mode fs.FileMode, h *tar.Header, body io.Reader) error {
	if err := u.clear(name); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, u.m.countingReader(body))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = u.root.Chmod(name, mode)
	}
	if err == nil {
		err = u.root.Chtimes(name, h.ModTime, h.ModTime)
	}
	u.m.file()
	return err
}

// finish gives directories their permissions and times, deepest first: what was
// made in them has changed these.
func (u *unpacking) finish() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		d := u.dirs[i]
		if err := u.root.Chmod(d.name, d.mode|0o700); err != nil { // the owner goes on to reach it
			return err
		}
		if err := u.root.Chtimes(d.name, d.at, d.at); err != nil {
			return err
		}
	}
	return nil
}
