package handover

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// stageDir is where a stream lies until all of it has come.
const stageDir = "moving-in"

// listMost bounds the first and last entry of a stream, in bytes.
const listMost = 256 << 20

// ErrStream is that of a stream that is not whole, or none.
var ErrStream = errors.New("what came is not whole")

// Empty reports whether a data directory has no records of its own.
func Empty(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, Database))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// Take reads what Pack wrote into dir, which has no records. check looks at the
// manifest before anything else is read, and at the folder of all files, which it may
// change, before they are put in their place; either may refuse. Where Take fails, dir
// is as it was before; where the program ends meanwhile, dir has no records, and the
// next Take begins anew.
func Take(r io.Reader, dir string, first func(Manifest) error, check func(stage string, m Manifest) error) (m Manifest, err error) {
	if empty, err := Empty(dir); err != nil || !empty {
		return m, errors.Join(err, fmt.Errorf("%s has records already", dir))
	}
	stage := filepath.Join(dir, stageDir)
	if err := os.RemoveAll(stage); err != nil {
		return m, err
	}
	if err := os.Mkdir(stage, 0o700); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	if m, err = unpack(r, stage, first); err != nil {
		return m, err
	}
	if err := check(stage, m); err != nil {
		return m, err
	}
	if err := syncAll(stage); err != nil {
		return m, err
	}
	return m, place(stage, dir, m)
}

// unpack writes the files of a stream into stage, and compares them with its end.
func unpack(r io.Reader, stage string, first func(Manifest) error) (m Manifest, err error) {
	broken := func(err error) error { return fmt.Errorf("%w: %w", ErrStream, err) }
	z, err := gzip.NewReader(r)
	if err != nil {
		return m, broken(err)
	}
	t := tar.NewReader(z)
	h, err := t.Next()
	if err != nil {
		return m, broken(err)
	}
	if h.Name != manifestEntry {
		return m, broken(fmt.Errorf("it begins with %q", h.Name))
	}
	if err := json.NewDecoder(io.LimitReader(t, listMost)).Decode(&m); err != nil {
		return m, broken(err)
	}
	if m.Archive != archive {
		return m, fmt.Errorf("what came has the form %d, and this version of muster reads %d: use the same version on both sides", m.Archive, archive)
	}
	if err := first(m); err != nil {
		return m, err
	}
	root, err := os.OpenRoot(stage)
	if err != nil {
		return m, err
	}
	defer root.Close()
	parts := map[string]part{}
	for {
		h, err := t.Next()
		if err != nil { // also io.EOF: it has no end
			return m, broken(fmt.Errorf("it broke off after %d files: %w", len(parts), err))
		}
		if h.Name == endEntry {
			break
		}
		if h.Typeflag != tar.TypeReg || !goes(h.Name) {
			return m, broken(fmt.Errorf("it has %q, which does not go", h.Name))
		}
		one, err := unpackFile(root, t, h)
		if err != nil {
			return m, fmt.Errorf("%s: %w", h.Name, err)
		}
		parts[h.Name] = one
	}
	var want map[string]part
	if err := json.NewDecoder(io.LimitReader(t, listMost)).Decode(&want); err != nil {
		return m, broken(err)
	}
	if _, err := t.Next(); !errors.Is(err, io.EOF) {
		return m, broken(fmt.Errorf("something comes after its end: %w", err))
	}
	if _, err := io.Copy(io.Discard, z); err != nil { // the sum of the compression
		return m, broken(err)
	}
	if !maps.Equal(parts, want) || parts[Database].Sum != m.ID {
		return m, broken(errors.New("its files are not those that it lists"))
	}
	return m, nil
}

func unpackFile(root *os.Root, t *tar.Reader, h *tar.Header) (part, error) {
	if err := root.MkdirAll(filepath.Dir(h.Name), 0o700); err != nil {
		return part{}, err
	}
	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, h.FileInfo().Mode().Perm()|0o600)
	if err != nil {
		return part{}, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), t)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", ErrStream, err)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Chtimes(h.Name, h.ModTime, h.ModTime)
	}
	return part{n, hex.EncodeToString(sum.Sum(nil))}, err
}

// place moves what is staged into dir, the database last. What a program that ended
// in the middle of it has left there without a database goes.
func place(stage, dir string, m Manifest) error {
	if err := writeJSON(filepath.Join(dir, hereFile), m); err != nil {
		return err
	}
	for _, name := range slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == Database }) {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(stage, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(stage, Database), filepath.Join(dir, Database)); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
