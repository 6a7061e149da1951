//go:build linux

package oci

import (
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownerOf(info fs.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf(" %d:%d ", st.Uid, st.Gid)
}

func opaqueOf(path string) string {
	b := make([]byte, 8)
	n, err := unix.Lgetxattr(path, opaqueXattr, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}
