//go:build linux

package oci_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func stat(t testing.TB, elem ...string) (st syscall.Stat_t) {
	t.Helper()
	if err := syscall.Lstat(filepath.Join(elem...), &st); err != nil {
		t.Fatal(err)
	}
	return st
}

func xattr(path, name string) string {
	b := make([]byte, 256)
	n, err := unix.Lgetxattr(path, name, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// mount skips where it is not allowed.
func mount(t testing.TB, source, fstype, data string) string {
	t.Helper()
	at := t.TempDir()
	if err := unix.Mount(source, at, fstype, 0, data); err != nil {
		t.Skipf("mounting %s takes root and a kernel that has it: %v", fstype, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, 0); err != nil {
			t.Errorf("unmount %s: %v", fstype, err)
		}
	})
	return at
}

// overlay stacks layers, lowest first.
func overlay(t testing.TB, layers []string) string {
	t.Helper()
	top := slices.Clone(layers)
	slices.Reverse(top)
	return mount(t, "overlay", "overlay", "lowerdir="+strings.Join(top, ":"))
}

func tmpfs(t testing.TB, bytes int) string {
	t.Helper()
	return mount(t, "tmpfs", "tmpfs", fmt.Sprintf("size=%d", bytes))
}

// cpuTime is what this process has used, which says more than the clock where
// others work on the same cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
