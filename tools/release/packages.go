package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"

	"github.com/musterhq/muster/internal/cli"
)

// packages makes a .deb and an .rpm for each platform of servers.
func (r *release) packages() error {
	for _, p := range r.servers() {
		if err := r.build(p); err != nil {
			return err
		}
		for kind, packager := range map[string]nfpm.Packager{"deb": deb.Default, "rpm": rpm.DefaultRPM} {
			contents, err := r.contents(p, kind)
			if err != nil {
				return err
			}
			info := nfpm.WithDefaults(&nfpm.Info{
				Name: "muster", Arch: p.arch, Platform: "linux", Version: r.version, VersionSchema: "semver", Release: "1",
				Section: "utils", Priority: "optional", Maintainer: "The Muster project <https://github.com/musterhq/muster>",
				Description: "Workload manager for AI\nSubmits training, gangs of ranks, workspaces and services, queues them,\nplaces them on GPUs and says why one still waits.",
				Homepage:    "https://github.com/musterhq/muster", License: "Apache-2.0", MTime: r.date, DisableGlobbing: true,
				Overridables: nfpm.Overridables{
					Contents: contents, Recommends: []string{"runc"},
					RPM: nfpm.RPM{BuildHost: "localhost", Group: "System", Summary: "Workload manager for AI"},
				},
			})
			if kind == "deb" {
				info.Release = "" // the package is made with the program: it has no revision of its own
			}
			if err := nfpm.PrepareForPackager(info, kind); err != nil {
				return err
			}
			var out bytes.Buffer
			if err := packager.Package(info, &out); err != nil {
				return fmt.Errorf("%s for %s: %w", kind, p, err)
			}
			if err := r.put(r.name(p.os+"_"+p.arch+"."+kind), out.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// contents are what lies in a package, below /usr. Pages of the manual are compressed,
// as distributions have them.
func (r *release) contents(p platform, kind string) (files.Contents, error) {
	manuals, err := manuals(cli.Tree(), r.version, r.date)
	if err != nil {
		return nil, err
	}
	texts, err := r.texts()
	if err != nil {
		return nil, err
	}
	for i, f := range texts {
		if filepath.Base(f.name) == "LICENSE" {
			texts[i].name = "share/doc/muster/copyright"
			texts[i].data = append([]byte("Muster, https://github.com/musterhq/muster\n\nWhat it is linked with, and under which licences: THIRD_PARTY_LICENSES.\n\n"), f.data...)
		}
	}
	all := files.Contents{{Source: r.staged(p, "muster"), Destination: "/usr/bin/muster", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.date}}}
	for _, f := range slices.Concat(manuals, texts) {
		if kind == "deb" { // Debian has these elsewhere
			f.name = strings.Replace(f.name, "zsh/site-functions/", "zsh/vendor-completions/", 1)
		}
		if strings.HasPrefix(f.name, "share/man/") {
			if f.data, err = squeezed(f.data); err != nil {
				return nil, err
			}
			f.name += ".gz"
		}
		path := filepath.Join(r.stage, "package", f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return nil, err
		}
		all = append(all, &files.Content{Source: path, Destination: "/usr/" + f.name, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.date}})
	}
	return all, nil
}

func squeezed(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
