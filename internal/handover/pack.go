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
	"os"
	"path/filepath"
)

// The first and the last entry of a stream.
const (
	manifestEntry = "manifest.json"
	endEntry      = "end.json"
)

// part is one file of a stream, as its end lists it.
type part struct {
	Size int64  `json:"size"` // in bytes
	Sum  string `json:"sha256"`
}

// Identify returns the ID of the records in dir, whose server must have ended.
func Identify(dir string) (string, error) {
	f, err := os.Open(filepath.Join(dir, Database))
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Size is how many bytes of files would go, before they are packed.
func Size(dir string) (int64, error) {
	var all int64
	return all, each(dir, func(_, _ string, info fs.FileInfo) error {
		all += info.Size()
		return nil
	})
}

// each calls do with every file of dir that goes: its name in the stream, and its path.
func each(dir string, do func(name, path string, info fs.FileInfo) error) error {
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err // folders come with their files; links and sockets lead elsewhere
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			inside, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			return do(filepath.ToSlash(inside), path, info)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Pack writes the records in dir, whose server must have ended, to w.
func Pack(w io.Writer, dir string, m Manifest) error {
	m.Archive = archive
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // the network is seldom slower
	if err != nil {
		return err
	}
	t, parts := tar.NewWriter(z), map[string]part{}
	if err := packJSON(t, manifestEntry, m); err != nil {
		return err
	}
	err = each(dir, func(name, path string, info fs.FileInfo) error {
		one, err := packFile(t, name, path, info)
		parts[name] = one
		return err
	})
	if err == nil && parts[Database].Sum != m.ID {
		err = fmt.Errorf("%s has changed meanwhile", filepath.Join(dir, Database))
	}
	if err == nil {
		err = packJSON(t, endEntry, parts)
	}
	if err != nil {
		return err // without its end nobody takes it
	}
	return errors.Join(t.Close(), z.Close())
}

func packJSON(t *tar.Writer, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
		return err
	}
	_, err = t.Write(text)
	return err
}

func packFile(t *tar.Writer, name, path string, info fs.FileInfo) (part, error) {
	f, err := os.Open(path)
	if err != nil {
		return part{}, err
	}
	defer f.Close()
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime(), Format: tar.FormatPAX}
	if err := t.WriteHeader(h); err != nil {
		return part{}, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(t, sum), f)
	if err == nil && n != info.Size() {
		err = fmt.Errorf("%s has changed meanwhile", path)
	}
	return part{n, hex.EncodeToString(sum.Sum(nil))}, err
}
