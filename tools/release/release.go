package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is one release on its way.
type release struct {
	root, out string // the repository; where files go
	stage     string // for what is built and not released as it is
	version   string // 1.2.3, without v
	commit    string
	date      time.Time // of the commit: the only time that any file has
	platforms []platform
	key       string
}

// part makes some of the files.
type part struct {
	name string
	make func(*release) error
}

// parts are in the order in which they are made: binaries are what most others hold.
var parts = []part{
	{"binaries", (*release).archives},
	{"installer", (*release).installer},
	{"packages", (*release).packages},
	{"chart", (*release).chart},
	{"image", (*release).image},
	{"python", (*release).python},
	{"sbom", (*release).sbom},
	{"notes", (*release).notes},
}

func names() []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

func choosePart(list string) ([]part, error) {
	if list == "" {
		return parts, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("--only: there is no part %q; there are %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, parts[i])
	}
	return chosen, nil
}

// make fills the folder. The checksums, and the signature of them, are the last: a folder
// that has them is whole.
func (r *release) make(chosen []part) error {
	if err := r.empty(); err != nil {
		return err
	}
	for _, p := range chosen {
		if err := p.make(r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := r.sums(); err != nil {
		return err
	}
	return r.sign()
}

// empty makes the folder and removes from it what an earlier release left there. A
// folder that holds anything else is left alone.
func (r *release) empty() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	there, err := os.ReadDir(r.out)
	if err != nil || len(there) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.out, sumsFile)); err != nil {
		return fmt.Errorf("--out: %s holds files and no %s, so that it is no earlier release: empty it, or name another folder", r.out, sumsFile)
	}
	for _, e := range there {
		if err := os.RemoveAll(filepath.Join(r.out, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// name is that of a file of this release.
func (r *release) name(rest string) string { return "muster_" + r.version + "_" + rest }

// put writes a file of the release.
func (r *release) put(name string, data []byte, mode os.FileMode) error {
	path := filepath.Join(r.out, name)
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask is
}

// sumsFile lists the other files by SHA-256, as sha256sum reads it.
const sumsFile = "SHA256SUMS"

func (r *release) sums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	return r.put(sumsFile, []byte(lines.String()), 0o644)
}

// report prints what was made, with sizes.
func (r *release) report(out io.Writer) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%8.2f MB  %s\n", float64(info.Size())/1e6, filepath.Join(r.out, f.Name()))
	}
	return nil
}
