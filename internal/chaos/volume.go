//go:build linux

package chaos

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// volume is an ext4 file system in a file.
type volume struct {
	disk, dir string
	device    string // the loop device; empty: none
	mounted   bool
}

// NeedVolume says what is missing on this machine for a volume; empty: nothing.
func NeedVolume() string {
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

func newVolume(disk, dir string, size int64) (*volume, error) {
	v := &volume{disk: disk, dir: dir}
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
	return v, v.mount()
}

func tool(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func (v *volume) mount() error {
	if err := unix.Mount(v.device, v.dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", v.device, err)
	}
	v.mounted = true
	return nil
}

// unmount waits for who is on the way out.
func (v *volume) unmount() error {
	if !v.mounted {
		return nil
	}
	var err error
	if !waitFor(within, func() bool { err = unix.Unmount(v.dir, 0); return !errors.Is(err, unix.EBUSY) }) || err != nil {
		_ = unix.Unmount(v.dir, unix.MNT_DETACH)
		return fmt.Errorf("unmount %s: %w", v.dir, err)
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

func (v *volume) close() error {
	err := v.unmount()
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

// cut takes the volume its power.
func (v *volume) cut() error {
	f, err := os.Open(v.dir)
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

// newBoot gives the machine of the world another boot id.
func (w *World) newBoot() error {
	return os.WriteFile(w.host.boot, []byte(rand.Text()+"\n"), 0o600)
}

// cutPower ends everything at once, as loss of power does: first the disk, so
// that nobody hears of what it does not hold, then every process. Then the
// machine starts again.
//
// Server and keeper are held before, at any point of what they do, until no call
// of theirs is under way: a call of fsync that the shutdown meets in its middle
// may come back without an error though nothing was written.
func (z *hazard) cutPower(ctx context.Context, _ *Deed) error {
	h := z.w.host
	if err := errors.Join(hold(h.server()), hold(h.keeper())); err != nil {
		return err
	}
	if err := z.w.volume.cut(); err != nil {
		return err
	}
	h.signal(syscall.SIGKILL)
	h.killKeeper()
	if err := h.gone(); err != nil {
		return err
	}
	if err := errors.Join(z.w.clear(), z.w.volume.unmount(), z.w.volume.mount(), z.w.newBoot()); err != nil {
		return err
	}
	return z.up(ctx)
}

// hold stops every thread of a process and waits until each has stopped.
func hold(pid int) error {
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return nil // there is none
	}
	held := func() bool {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, t := range threads {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, t.Name()))
			_, rest, _ := bytes.Cut(data, []byte(") "))
			if err == nil && !bytes.HasPrefix(rest, []byte("T")) {
				return false
			}
		}
		return err == nil && len(threads) > 0 || ended(pid)
	}
	if !waitFor(within, held) {
		return fmt.Errorf("process %d goes on after SIGSTOP", pid)
	}
	return nil
}

// kill ends a process by force.
func (p proc) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if p.lives() {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}
