//go:build linux

// Package testdisk has disks of their own for tests: small ones that may be
// filled, and such whose power may be cut.
package testdisk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// within bounds how long others may take to let go of a volume.
const within = 5 * time.Minute

// Volume is an ext4 file system in a file.
type Volume struct {
	Dir     string // where it is mounted
	device  string // the loop device; empty: none
	mounted bool
}

// Need says what is missing on this machine for a volume; empty: nothing.
func Need() string {
	if os.Geteuid() != 0 {
		return "this takes root: a disk of its own is mounted"
	}
	for _, tool := range []string{"mkfs.ext4", "losetup", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "this takes " + tool + ": apt-get install e2fsprogs util-linux mount"
		}
	}
	out, err := exec.Command("losetup", "--find").CombinedOutput()
	if err != nil {
		return "there is no loop device here: " + strings.TrimSpace(string(out))
	}
	return ""
}

// Make makes a volume of size bytes in the file disk, and mounts it on dir.
func Make(disk, dir string, size int64) (*Volume, error) {
	v := &Volume{Dir: dir}
	f, err := os.Create(disk)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(size), f.Close(), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	if _, err := tool("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=1", disk); err != nil {
		return nil, err
	}
	if v.device, err = tool("losetup", "--find", "--show", disk); err != nil {
		return nil, err
	}
	return v, v.Mount()
}

func tool(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Mount mounts it again.
func (v *Volume) Mount() error {
	if err := unix.Mount(v.device, v.Dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", v.device, err)
	}
	v.mounted = true
	return nil
}

// Unmount waits for who is on the way out.
func (v *Volume) Unmount() error {
	if !v.mounted {
		return nil
	}
	var err error
	if !waitFor(within, func() bool { err = unix.Unmount(v.Dir, 0); return !errors.Is(err, unix.EBUSY) }) || err != nil {
		_ = unix.Unmount(v.Dir, unix.MNT_DETACH)
		return fmt.Errorf("unmount %s: %w", v.Dir, err)
	}
	v.mounted = false
	// Servers had a view of their own of all mounts, which goes some time after them.
	free := func() bool {
		fd, err := unix.Open(v.device, unix.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err == nil
	}
	if !waitFor(within, free) {
		return fmt.Errorf("somebody still has %s mounted", v.device)
	}
	return nil
}

// Close takes it away; the file stays.
func (v *Volume) Close() error {
	err := v.Unmount()
	if v.device != "" {
		_, derr := tool("losetup", "--detach", v.device)
		err = errors.Join(err, derr)
	}
	return err
}

// shutdownNoFlush is EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: from
// then on nothing reaches the disk, what the journal has not written is lost.
const (
	shutdown        = 0x8004587d
	shutdownNoFlush = 2
)

// Cut takes the volume its power: what was not synced is gone. It is of no use until
// it was unmounted and mounted again.
func (v *Volume) Cut() error {
	f, err := os.Open(v.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	how := uint32(shutdownNoFlush)
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); no != 0 {
		return fmt.Errorf("EXT4_IOC_SHUTDOWN: %w", no)
	}
	return nil
}

func waitFor(long time.Duration, cond func() bool) bool {
	for begun := time.Now(); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > long {
			return false
		}
	}
	return true
}
