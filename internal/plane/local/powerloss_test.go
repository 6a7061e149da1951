//go:build linux

package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// inBoot is how a keeper is started that believes the machine to be in a run of
// that name.
func inBoot(name string) []string { return []string{"/proc/self/exe", KeeperArg, "--boot", name} }

// restartInBoot goes on as after a restart of the machine.
func restartInBoot(t *testing.T, p *Plane, name string) *Plane {
	t.Helper()
	p.opts.Exe = inBoot(name)
	return reopen(t, p)
}

// frailDisk mounts a disk whose power can be cut.
func frailDisk(t *testing.T) (dir string, cut func()) {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "disk"), t.TempDir()
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("no disk to cut the power of: mkfs.ext4: %v %s", err, out)
	}
	mount := func() error {
		out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := mount(); err != nil {
		t.Skipf("no disk to cut the power of: mount: %v (needs root and loop devices)", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, func() {
		t.Helper()
		const shutdown, noFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err == nil {
			err = unix.IoctlSetPointerInt(fd, shutdown, noFlush)
			_ = unix.Close(fd)
		}
		if err != nil {
			t.Fatalf("cut the power: %v", err)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			until(t, "nobody uses the disk", func() bool { return unix.Unmount(dir, 0) == nil })
		}
		if err := mount(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStartsAreKnownAfterAPowerLoss: whatever ran when the power went is known
// afterwards, so that it is neither forgotten nor started under the same name
// again.
func TestStartsAreKnownAfterAPowerLoss(t *testing.T) {
	disk, cut := frailDisk(t)
	p := open(t, Options{Dir: filepath.Join(disk, "data"), LogDir: filepath.Join(t.TempDir(), "logs"), Exe: inBoot("one")})
	var tasks []plane.Assignment
	for i := range 20 {
		tasks = append(tasks, shellTask("power", i, "exec sleep 1000"))
	}
	start(t, p, tasks...)
	pids := map[core.TaskID]int{}
	for _, a := range tasks {
		pids[a.ID] = pidOf(t, p, a.ID)
	}
	_ = p.Close()
	killKeeper(t, p)
	for _, pid := range pids {
		killProcess(pid, unix.SIGKILL)
	}
	cut()
	q := restartInBoot(t, p, "two")
	for _, a := range tasks {
		if o := end(t, q, a.ID); o.State != core.TaskLost || o.Reason != "NodeLost" {
			t.Errorf("after the power loss: %+v, want lost, NodeLost", o)
		}
	}
}

// TestDamagedRecords: where the machine was restarted, a task without a readable
// record may have run and is not started again. In the same run of the machine
// the page cache is what it was, so it was never forked.
func TestDamagedRecords(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 40) },
		"missing": os.Remove,
	} {
		for _, boot := range []string{"one", "two"} {
			t.Run(name+" in "+boot, func(t *testing.T) {
				p := open(t, Options{Exe: inBoot("one")})
				a := shellTask("damaged", 0, "exec sleep 1000")
				start(t, p, a)
				pid := pidOf(t, p, a.ID)
				_ = p.Close()
				killKeeper(t, p)
				killProcess(pid, unix.SIGKILL)
				if err := damage(filepath.Join(p.task(a.ID), recordFile)); err != nil {
					t.Fatal(err)
				}
				q := restartInBoot(t, p, boot)
				if boot == "one" {
					if o := observe(t, q, a.ID); o.State != "" {
						t.Errorf("in the same run of the machine: %+v, want nothing", o)
					}
				} else if o := end(t, q, a.ID); o.State != core.TaskLost || o.Reason != "NodeLost" {
					t.Errorf("after a restart of the machine: %+v, want lost, NodeLost", o)
				}
			})
		}
	}
}
