//go:build linux

package testdisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Small mounts a disk of some MiB for the time of a test: a tmpfs, or an ext4.
// Where that cannot be the test is skipped.
func Small(t testing.TB, kind string, mib int64) (dir string) {
	t.Helper()
	if kind == "ext4" {
		return Frail(t, mib).Dir
	}
	dir = t.TempDir()
	if err := unix.Mount(kind, dir, kind, 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("this takes root and a kernel that has %s: a small disk is mounted: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Frail makes a disk of some MiB for the time of a test whose power can be cut.
// Where that cannot be the test is skipped.
func Frail(t testing.TB, mib int64) *Volume {
	t.Helper()
	if why := Need(); why != "" {
		t.Skip(why)
	}
	v, err := Make(filepath.Join(t.TempDir(), "disk"), t.TempDir(), mib<<20)
	if v != nil {
		t.Cleanup(func() {
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Skipf("this takes root, ext4 and a free loop device, in a container --privileged: a disk of its own is mounted: %v", err)
	}
	return v
}

// Fill writes into a new file until not a byte fits any more.
func Fill(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := 1 << 20; n > 0; {
		if _, err := f.Write(make([]byte, n)); err != nil {
			if !errors.Is(err, unix.ENOSPC) {
				t.Fatal(err)
			}
			n /= 2
		}
	}
	if err := f.Sync(); err != nil {
		t.Logf("sync: %v", err)
	}
}
