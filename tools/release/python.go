package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var before = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(rc|alpha|beta|dev)\.?(\d*)((?:\.[0-9a-z]+)*))?$`)

// pep440 is a version as Python writes it.
func pep440(version string) (string, error) {
	local := ""
	version, dirty := strings.CutSuffix(version, ".dirty")
	m := before.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("%s cannot be written as a version of Python: what comes after the dash has to begin with rc, alpha, beta or dev", version)
	}
	if local = strings.TrimPrefix(m[4], "."); dirty {
		local = strings.TrimPrefix(local+".dirty", ".")
	}
	out := m[1]
	if m[2] != "" {
		out += map[string]string{"rc": "rc", "alpha": "a", "beta": "b", "dev": ".dev"}[m[2]] + cmp.Or(m[3], "0")
	}
	if local != "" {
		out += "+" + local
	}
	return out, nil
}

var ownVersion = regexp.MustCompile(`(?m)^__version__ = .*$`)

// python makes the wheel and the source archive with Python's own tools, out of a copy
// that has the release's version.
func (r *release) python() error {
	version, err := pep440(r.version)
	if err != nil {
		return err
	}
	work, dist := filepath.Join(r.stage, "python"), filepath.Join(r.stage, "dist")
	if err := errors.Join(os.RemoveAll(work), os.RemoveAll(dist)); err != nil {
		return err
	}
	// What git does not know, such as what Python leaves behind, is not released.
	listed, err := r.git("ls-files", "-z", "sdk/python")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "/_version.py") {
			data = ownVersion.ReplaceAll(data, []byte(`__version__ = "`+version+`"`))
		}
		to := filepath.Join(work, strings.TrimPrefix(name, "sdk/python/"))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
	python := "/usr/bin/python3" // whose packages the distribution has, before one that only comes first in PATH
	if _, err := os.Stat(python); err != nil {
		python = "python3"
	}
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10), "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0"}
	if err := r.command(env, python, "-m", "build", "--no-isolation", "--outdir", dist, work); err != nil {
		return fmt.Errorf("%w(it needs the modules build, setuptools and wheel: scripts/packages installs them)", err)
	}
	made, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	for _, f := range made {
		data, err := os.ReadFile(filepath.Join(dist, f.Name()))
		if err == nil && strings.HasSuffix(f.Name(), ".tar.gz") {
			data, err = r.normalized(data)
		}
		if err == nil {
			err = r.put(f.Name(), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// normalized is a .tar.gz without what depends on the day and the user: setuptools knows no
// SOURCE_DATE_EPOCH there.
func (r *release) normalized(data []byte) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var files []file
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue // folders are made with what is in them
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		files = append(files, file{h.Name, 0o644, content})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return tarred(files, r.date)
}
