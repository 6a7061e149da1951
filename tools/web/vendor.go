package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pkg is a library of others as web/vendor/VENDOR.json has it. Keep names the
// files that are wanted, Files those that came of it with their SHA-256, so that
// a change of a committed file shows.
type pkg struct {
	Name      string            `json:"name"`
	Version   string            `json:"version"`
	Licence   string            `json:"licence"`
	Why       string            `json:"why"`
	Integrity string            `json:"integrity"`
	Keep      []string          `json:"keep"`
	Files     map[string]string `json:"files"`
}

// url is where npm's registry has the package.
func (p pkg) url() string {
	return "https://registry.npmjs.org/" + p.Name + "/-/" + path.Base(p.Name) + "-" + p.Version + ".tgz"
}

// readVendored reads the list of a folder of libraries.
func readVendored(dir string) ([]pkg, error) {
	text, err := os.ReadFile(filepath.Join(dir, "VENDOR.json"))
	if err != nil {
		return nil, err
	}
	var all []pkg
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: VENDOR.json: %w", dir, err)
	}
	return all, nil
}

// vendor fetches every package again and writes what is kept of it. A new entry
// needs name, version, integrity, licence and keep; the rest is filled in.
func vendor(web string, _ []string) error {
	// What only tests use is beside them, and never served.
	for _, dir := range []string{filepath.Join(web, "vendor"), filepath.Join(web, "..", "internal", "browser", "testdata", "vendor")} {
		if err := vendorTo(dir); err != nil {
			return err
		}
	}
	return nil
}

func vendorTo(folder string) error {
	all, err := readVendored(folder)
	if err != nil {
		return err
	}
	for i, p := range all {
		tgz, err := fetch(p.url(), p.Integrity)
		if err != nil {
			return fmt.Errorf("%s %s: %w", p.Name, p.Version, err)
		}
		dir := filepath.Join(folder, filepath.FromSlash(p.Name))
		for name := range p.Files {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		all[i].Files = map[string]string{}
		err = unpack(tgz, func(name string, content []byte) error {
			if !slices.ContainsFunc(p.Keep, func(k string) bool { ok, _ := path.Match(k, name); return ok }) {
				return nil
			}
			sum := sha256.Sum256(content)
			all[i].Files[name] = hex.EncodeToString(sum[:])
			to := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, content, 0o644)
		})
		if err != nil {
			return fmt.Errorf("%s %s: %w", p.Name, p.Version, err)
		}
		if len(all[i].Files) == 0 {
			return fmt.Errorf("%s %s: nothing in it matches %q", p.Name, p.Version, p.Keep)
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "VENDOR.json"), append(text, '\n'), 0o644)
}

// fetch returns what is at url if it has the integrity that npm states.
func fetch(url, integrity string) ([]byte, error) {
	want, ok := strings.CutPrefix(integrity, "sha512-")
	if !ok {
		return nil, fmt.Errorf("integrity %q is not of sha512", integrity)
	}
	var last error
	for try := range 4 {
		time.Sleep(time.Duration(try) * 2 * time.Second)
		body, err := download(url)
		if err != nil {
			last = err
			continue
		}
		sum := sha512.Sum512(body)
		if have := base64.StdEncoding.EncodeToString(sum[:]); have != want {
			return nil, fmt.Errorf("what came from %s has sha512-%s, not %s", url, have, integrity)
		}
		return body, nil
	}
	return nil, last
}

func download(url string) ([]byte, error) {
	resp, err := (&http.Client{Timeout: 5 * time.Minute}).Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// unpack gives each file of an npm package to each, by its name in the package.
func unpack(tgz []byte, each func(name string, content []byte) error) error {
	zr, err := gzip.NewReader(bytes.NewReader(tgz))
	if err != nil {
		return err
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, ok := strings.Cut(path.Clean(h.Name), "/")
		if h.Typeflag != tar.TypeReg || !ok || !filepath.IsLocal(name) {
			continue
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			return err
		}
		if err := each(name, content); err != nil {
			return err
		}
	}
}

// licences is what everybody is owed who gets the bundle.
func licences(web string) ([]byte, error) {
	all, err := readVendored(filepath.Join(web, "vendor"))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("The pages of Muster contain these works of others.\n")
	for _, p := range all {
		text, err := os.ReadFile(filepath.Join(web, "vendor", filepath.FromSlash(p.Name), "LICENSE"))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n\n%s\n", strings.Repeat("-", 72), p.Name, p.Version, p.Licence, bytes.TrimSpace(text))
	}
	return b.Bytes(), nil
}
