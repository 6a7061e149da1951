//go:build linux

package rootfs

import (
	"debug/elf"
	"io"
	"strings"
)

// Loader is what the kernel starts a dynamically linked program with; empty: it
// needs nothing, or is no program.
func Loader(path string) string {
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
