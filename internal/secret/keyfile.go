package secret

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// maxKeys bounds the file: nobody rotates so often without resealing.
const maxKeys = 1000

// lineSize is a key as a line: hexadecimal digits and the end of the line.
const lineSize = 2*len(key{}) + 1

// openKeys reads the file, or makes it.
func openKeys(path string) ([]key, error) {
	keys, err := readKeys(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	first, err := newKey()
	if err != nil {
		return nil, err
	}
	whole, err := writeBeside(path, []key{first})
	if err != nil {
		return nil, err
	}
	defer os.Remove(whole)
	// A link appears at once, whole and on the disk, or not at all where another
	// process was faster.
	if err := os.Link(whole, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := syncFolder(path); err != nil {
		return nil, err
	}
	return readKeys(path)
}

// readKeys reads a file that must be private and whole.
func readKeys(path string) ([]key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return keysOf(f, 0o077)
}

func keysOf(f *os.File, nobody fs.FileMode) ([]key, error) {
	path := f.Name()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file; name the file of the keys", path)
	case info.Mode().Perm()&nobody != 0:
		return nil, fmt.Errorf("%s may be read by others (its mode is %04o); run 'chmod 600 %s', and if they did read it, make the secrets anew",
			path, info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeys*int64(lineSize)+1))
	if err != nil {
		return nil, err
	}
	return parseKeys(text, path)
}

// parseKeys reads lines of keys, of which the first is the newest; from is where they are.
func parseKeys(text []byte, from string) ([]key, error) {
	damaged := func(what string) error {
		return fmt.Errorf("%s %s, but it must be lines of %d hexadecimal digits, the newest key first; restore it from a backup, "+
			"or, if there are no secrets yet or they are lost, move it away to begin anew", from, what, lineSize-1)
	}
	if len(text) == 0 || len(text)%lineSize != 0 {
		return nil, damaged(fmt.Sprintf("has %d bytes", len(text)))
	}
	var keys []key
	for line := range slices.Chunk(text, lineSize) {
		var k key
		if _, err := hex.Decode(k[:], line[:lineSize-1]); err != nil || line[lineSize-1] != '\n' {
			return nil, damaged(fmt.Sprintf("has a line %d that is no key", len(keys)+1)) // err would show a part of it
		}
		keys = append(keys, k)
	}
	if len(keys) > maxKeys {
		return nil, damaged(fmt.Sprintf("has more than %d keys", maxKeys))
	}
	return keys, nil
}

// addKey puts a new key before those of the file.
func addKey(path string) ([]key, error) {
	f, err := lock(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // and with it the lock
	keys, err := keysOf(f, 0o077)
	if err != nil {
		return nil, err
	}
	if len(keys) == maxKeys {
		return nil, fmt.Errorf("%s has %d keys already; seal all secrets anew and remove those that are not needed any more", path, maxKeys)
	}
	newest, err := newKey()
	if err != nil {
		return nil, err
	}
	keys = slices.Insert(keys, 0, newest)
	whole, err := writeBeside(path, keys)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(whole, path); err != nil {
		return nil, errors.Join(err, os.Remove(whole))
	}
	return keys, syncFolder(path)
}

// lock opens the file for one process at a time that replaces it.
func lock(path string) (*os.File, error) {
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
		ours, err1 := f.Stat()
		present, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(ours, present) {
			return f, nil
		}
		f.Close() // it was replaced while we waited
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
	}
}

func newKey() (k key, err error) {
	_, err = rand.Read(k[:])
	return k, err
}

// writeBeside writes a private file of keys next to path, so that a crash
// leaves either none or all of them.
func writeBeside(path string, keys []key) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600, and new
	if err != nil {
		return "", err
	}
	_, err = f.Write(written(keys))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// written are keys as they are kept.
func written(keys []key) []byte {
	var text bytes.Buffer
	for _, k := range keys {
		fmt.Fprintln(&text, hex.EncodeToString(k[:]))
	}
	return text.Bytes()
}

func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
