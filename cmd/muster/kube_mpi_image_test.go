package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/kubetest"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// ofMPI are Open MPI's plugins that only programs which speak MPI load; the
// launcher and its daemons do without them, and what they are linked with.
var ofMPI = strings.Fields("allocator atomic bml btl coll common crcp fbtl fcoll fs io memheap mpool mtl op osc pml rcache scoll sharedfp spml sshmem topo vprotocol")

// openMPI is a layer with the launcher and daemon of Debian's package, what they
// load, and what these are linked with.
func openMPI(t *testing.T) *ocitest.Layer {
	t.Helper()
	var files []string
	for _, pattern := range []string{"/usr/bin/orterun", "/usr/bin/orted", "/usr/lib/*/openmpi/lib/openmpi3/mca_*.so", "/usr/lib/*/pmix2/lib/pmix/*.so", "/usr/share/openmpi/*.txt", "/etc/openmpi/*.conf"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(path string) bool {
		kind, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), "mca_"), "_")
		return slices.Contains(ofMPI, kind)
	})
	if !slices.Contains(files, "/usr/bin/orterun") {
		kubetest.Fail(t, &kubetest.Missing{What: "there is no Open MPI on this machine: apt-get install --no-install-recommends openmpi-bin"})
	}
	return layerOf(t, files, ocitest.File{Path: "usr/bin/mpirun", Link: "orterun"})
}

// layerOf has files of this machine under their own names, with the libraries
// that they are linked with.
func layerOf(t *testing.T, paths []string, more ...ocitest.File) *ocitest.Layer {
	t.Helper()
	// ldd does not like files that are no programs, but goes on to the next.
	linked, _ := exec.Command("ldd", paths...).Output()
	all := map[string]bool{}
	for _, p := range paths {
		all[p] = true
	}
	for _, word := range strings.Fields(string(linked)) {
		if strings.HasPrefix(word, "/") && !strings.HasSuffix(word, ":") {
			all[word] = true
		}
	}
	var out []ocitest.File
	for path := range all {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ocitest.File{Path: path[1:], Mode: 0o755, Body: string(data)})
	}
	slices.SortFunc(out, func(a, b ocitest.File) int { return strings.Compare(a.Path, b.Path) })
	return ocitest.Files(append(out, more...)...)
}
