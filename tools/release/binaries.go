package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/cli"
)

// platform is a system that there are binaries for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// server reports whether it has the server; others are clients.
func (p platform) server() bool { return p.os == "linux" }

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"}}

func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("--platforms: %q is none of %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// servers are the platforms with the server.
func (r *release) servers() []platform {
	return slices.DeleteFunc(slices.Clone(r.platforms), func(p platform) bool { return !p.server() })
}

// staged is where a program lies that was built: muster as it is released; whole,
// without packing; front, the client.
func (r *release) staged(p platform, program string) string {
	return filepath.Join(r.stage, p.os+"_"+p.arch, program)
}

// build makes the programs of a platform, unless they are there.
func (r *release) build(p platform) error {
	released := r.staged(p, "muster")
	if _, err := os.Stat(released); err == nil {
		return nil
	}
	link := "-X github.com/musterhq/muster/internal/program.release=v" + r.version
	if p.server() {
		return r.command([]string{"GOOS=" + p.os, "GOARCH=" + p.arch, "LDFLAGS=" + link}, "scripts/build", released, r.staged(p, "parts"))
	}
	return r.command([]string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w "+link, "-o", released, "./cmd/muster/front")
}

func (r *release) command(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// archives makes one archive for each platform: the program, its licences and what
// a shell and man need.
func (r *release) archives() error {
	manuals, err := manuals(cli.Tree(), r.version, r.date)
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := r.build(p); err != nil {
			return err
		}
		program, err := os.ReadFile(r.staged(p, "muster"))
		if err != nil {
			return err
		}
		texts, err := r.texts()
		if err != nil {
			return err
		}
		if p.os == "windows" {
			files := []file{{"muster.exe", 0o755, program}}
			for _, f := range texts {
				files = append(files, file{filepath.Base(f.name), f.mode, f.data})
			}
			data, err := zipped(files, r.date)
			if err == nil {
				err = r.put(r.name(p.os+"_"+p.arch+".zip"), data, 0o644)
			}
			if err != nil {
				return err
			}
			continue
		}
		data, err := tarred(slices.Concat([]file{{"bin/muster", 0o755, program}}, texts, manuals), r.date)
		if err == nil {
			err = r.put(r.name(p.os+"_"+p.arch+".tar.gz"), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// texts are the licences, and where they lie in an installation.
func (r *release) texts() ([]file, error) {
	var all []file
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		all = append(all, file{"share/doc/muster/" + name, 0o644, data})
	}
	return all, nil
}

// installer is install.sh as it is in the repository, with the version that it is of.
func (r *release) installer() error {
	data, err := os.ReadFile(filepath.Join(r.root, "scripts", "install.sh"))
	if err != nil {
		return err
	}
	if !bytes.Contains(data, []byte("\nversion=dev\n")) {
		return fmt.Errorf("scripts/install.sh has no line version=dev")
	}
	return r.put("install.sh", bytes.Replace(data, []byte("\nversion=dev\n"), []byte("\nversion="+r.version+"\n"), 1), 0o755)
}
