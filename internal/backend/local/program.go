//go:build linux

package local

import (
	"debug/elf"
	"fmt"
	"io"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
)

// checkOwn finds out whether this server's own program runs in an image that it is
// mounted into: linked against the libraries of its machine (plain go build, where
// cgo is on), it needs their loader there, and the kernel only says that there is
// no such file, meaning the loader.
func checkOwn(root int, a backend.Assignment, ref string, in container.Input) error {
	for _, m := range a.Mounts {
		if !m.Program {
			continue
		}
		if loader := loaderOf(m.Source); loader != "" && !isProgram(root, loader) && !mounted(in, loader) {
			return &cannotRun{text: fmt.Sprintf("this server's muster, which has to run in the container, is linked against libraries, and image %s lacks their loader %s; "+
				"build muster with make build (CGO_ENABLED=0) and start the server again with that", ref, loader)}
		}
	}
	return nil
}

// loaderOf is what the kernel starts a dynamically linked program with; empty: it
// needs nothing, or is no program.
func loaderOf(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			data, _ := io.ReadAll(io.LimitReader(p.Open(), 4096))
			return strings.TrimRight(string(data), "\x00")
		}
	}
	return ""
}
