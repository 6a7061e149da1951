// Command sizes tells what a program is made of: its sections, and its code by
// module. It builds both halves of the released file with the names of functions,
// which that does not have.
package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "sizes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	released := filepath.Join(dir, "released")
	if out, err := exec.Command("scripts/build", released).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	info, err := os.Stat(released)
	if err != nil {
		return err
	}
	fmt.Printf("%9.1f MB the released file, stripped and static\n", mega(uint64(info.Size())))
	for _, half := range []string{"./cmd/muster/front", "./cmd/muster"} {
		path := filepath.Join(dir, filepath.Base(half))
		cmd := exec.Command("go", "build", "-trimpath", "-o", path, half)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if err := show(half, path); err != nil {
			return err
		}
	}
	return nil
}

func mega(n uint64) float64 { return float64(n) / 1e6 }

func show(half, path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sections, modules, all := map[string]uint64{}, map[string]uint64{}, uint64(0)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS {
			continue // what only a debugger reads, and what is all zero
		}
		what := "other data"
		switch s.Name {
		case ".text":
			what = "code"
		case ".rodata":
			what = "constants, types, embedded files"
		case ".gopclntab":
			what = "tables of functions and lines"
		}
		sections[what] += s.Size
		all += s.Size
	}
	symbols, err := f.Symbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			modules[moduleOf(s.Name)] += s.Size
		}
	}
	fmt.Printf("%9.1f MB %s\n", mega(all), half)
	list("", sections)
	list("code of ", modules)
	return nil
}

// list shows what is at least 0.2 MB, the largest first.
func list(before string, sizes map[string]uint64) {
	for _, name := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) }) {
		if sizes[name] >= 200_000 {
			fmt.Printf("%13.1f MB %s%s\n", mega(sizes[name]), before, name)
		}
	}
}

// moduleOf is whose a function is, after its name in the table of symbols.
func moduleOf(symbol string) string {
	path, _, _ := strings.Cut(symbol, "[") // type parameters have paths too
	last := strings.LastIndexByte(path, '/') + 1
	if dot := strings.IndexByte(path[last:], '.'); dot >= 0 {
		path = path[:last+dot]
	}
	parts := strings.Split(path, "/")
	switch host := parts[0]; {
	case !strings.Contains(host, "."):
		return "Go's own library"
	case strings.HasSuffix(host, "k8s.io"):
		return "k8s.io, sigs.k8s.io"
	case host == "modernc.org":
		return "modernc.org (SQLite)"
	case strings.HasPrefix(path, "github.com/musterhq/"):
		return "Muster itself"
	case host == "github.com" && len(parts) > 2:
		return strings.Join(parts[:3], "/")
	case len(parts) > 1:
		return strings.Join(parts[:2], "/")
	}
	return path
}
