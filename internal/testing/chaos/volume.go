//go:build linux

package chaos

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// newBoot gives the machine of the world another boot id.
func (w *World) newBoot() error {
	return os.WriteFile(w.host.boot, []byte(rand.Text()+"\n"), 0o600)
}

// cutPower ends everything at once, as loss of power does: first the disk, so
// that nobody hears of what it does not hold, then every process. Then the
// machine starts again.
//
// Server and supervisor are held before, at any point of what they do, until no call
// of theirs is under way: a call of fsync that the shutdown meets in its middle
// may come back without an error though nothing was written.
func (z *hazard) cutPower(ctx context.Context, _ *Deed) error {
	h := z.w.host
	if err := errors.Join(hold(h.server()), hold(h.supervisor())); err != nil {
		return err
	}
	if err := z.w.volume.Cut(); err != nil {
		return err
	}
	h.signal(syscall.SIGKILL)
	h.killSupervisor()
	if err := h.gone(); err != nil {
		return err
	}
	if err := errors.Join(z.w.clear(), z.w.volume.Unmount(), z.w.volume.Mount(), z.w.newBoot()); err != nil {
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
