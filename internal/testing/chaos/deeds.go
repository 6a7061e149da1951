//go:build linux

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hazard does to the programs what chance chooses.
type hazard struct {
	w *World
	r *rand.Rand
	// pause is the longest time between two deeds.
	pause time.Duration
}

// choices are the deeds by weight. Those to the disk take a volume.
var choices = []struct {
	what   string
	weight int
	volume bool
	do     func(*hazard, context.Context, *Deed) error
}{
	{KillServer, 30, false, (*hazard).killServer},
	{KillSupervisor, 22, false, (*hazard).killSupervisor},
	{KillBoth, 14, false, (*hazard).killBoth},
	{KillTask, 16, false, (*hazard).killTask},
	{FreezeServer, 5, false, (*hazard).freezeServer},
	{FreezeSupervisor, 5, false, (*hazard).freezeSupervisor},
	{Restart, 4, false, (*hazard).restart},
	{FillDisk, 3, true, (*hazard).fillDisk},
	{SealDisk, 2, true, (*hazard).sealDisk},
}

// next does one thing, waits until the server answers, and a while more.
func (z *hazard) next(ctx context.Context) error {
	total := 0
	for _, c := range choices {
		if !c.volume || z.w.volume != nil {
			total += c.weight
		}
	}
	n := z.r.IntN(total)
	for _, c := range choices {
		if c.volume && z.w.volume == nil {
			continue
		}
		if n -= c.weight; n < 0 {
			return z.one(ctx, c.what, c.do)
		}
	}
	return nil
}

func (z *hazard) one(ctx context.Context, what string, do func(*hazard, context.Context, *Deed) error) error {
	d := Deed{What: what, From: here()}
	if err := do(z, ctx, &d); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if d.What != "" { // there was something to do it to
		d.To = here()
		z.w.ledger.did(d)
	}
	z.wait(ctx, z.pause)
	return nil
}

// wait lets some time pass, up to longest.
func (z *hazard) wait(ctx context.Context, longest time.Duration) {
	if longest <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(z.r.Int64N(int64(longest)))):
	}
}

// up starts a server and notes how long it takes to answer.
func (z *hazard) up(ctx context.Context) error {
	took, err := z.w.host.start(ctx)
	if err == nil {
		z.w.ledger.answered(took)
	}
	return err
}

func (z *hazard) killServer(ctx context.Context, _ *Deed) error {
	z.w.host.signal(syscall.SIGKILL)
	if err := z.w.host.gone(); err != nil {
		return err
	}
	if z.r.IntN(3) == 0 {
		z.wait(ctx, 600*time.Millisecond)
	}
	return z.up(ctx)
}

func (z *hazard) killSupervisor(ctx context.Context, d *Deed) error {
	if !z.w.host.killSupervisor() {
		d.What = ""
		return nil
	}
	begun := time.Now()
	if _, err := z.w.host.conn.Cluster(ctx); err != nil {
		return err
	}
	z.w.ledger.answered(time.Since(begun))
	return nil
}

func (z *hazard) killBoth(ctx context.Context, _ *Deed) error {
	if z.r.IntN(2) == 0 {
		z.w.host.killSupervisor()
		z.w.host.signal(syscall.SIGKILL)
	} else {
		z.w.host.signal(syscall.SIGKILL)
		z.w.host.killSupervisor()
	}
	if err := z.w.host.gone(); err != nil {
		return err
	}
	z.w.host.killSupervisor() // the server may have begun another between
	z.wait(ctx, 800*time.Millisecond)
	return z.up(ctx)
}

// killTask ends one process of a task, not always its first.
func (z *hazard) killTask(_ context.Context, d *Deed) error {
	all := scan(z.w.name)
	d.What = ""
	if len(all) == 0 {
		return nil
	}
	p := all[z.r.IntN(len(all))]
	if !p.lives() {
		return nil
	}
	d.What, d.Workload, d.Attempt, d.Index, d.Run = KillTask, p.run.Workload, p.run.Attempt, p.run.Index, p.run.Run
	p.kill()
	return nil
}

func (z *hazard) freezeServer(ctx context.Context, _ *Deed) error {
	z.w.host.signal(syscall.SIGSTOP)
	z.wait(ctx, 700*time.Millisecond)
	z.w.host.signal(syscall.SIGCONT)
	return nil
}

func (z *hazard) freezeSupervisor(ctx context.Context, d *Deed) error {
	pid := z.w.host.supervisor()
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		d.What = ""
		return nil
	}
	z.wait(ctx, 700*time.Millisecond)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	return nil
}

func (z *hazard) restart(ctx context.Context, _ *Deed) error {
	z.w.host.signal(syscall.SIGTERM)
	if err := z.w.host.gone(); err != nil {
		return err
	}
	return z.up(ctx)
}

// fillDisk leaves no room on the volume for a while.
func (z *hazard) fillDisk(ctx context.Context, _ *Deed) error {
	path := filepath.Join(z.w.volume.Dir, "fill")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	end := int64(0)
	for size := int64(1 << 28); size >= 512; { // to the last block
		if unix.Fallocate(int(f.Fd()), 0, end, size) == nil {
			end += size
		} else {
			size /= 2
		}
	}
	z.wait(ctx, 2*time.Second)
	_ = f.Close()
	return os.Remove(path)
}

// sealDisk makes the directories of tasks and logs refuse new files for a while,
// as a file system does that was set read-only. What is open can be written.
func (z *hazard) sealDisk(ctx context.Context, _ *Deed) error {
	dirs := []string{filepath.Join(z.w.host.data, "local", "tasks"), filepath.Join(z.w.host.data, "logs")}
	for _, dir := range dirs {
		if err := setFixed(dir, true); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	z.wait(ctx, 2*time.Second)
	for _, dir := range dirs {
		if err := setFixed(dir, false); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// setFixed sets or clears the immutable flag of a directory.
func setFixed(dir string, fixed bool) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if flags &^= fixedFlag; fixed {
		flags |= fixedFlag
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags))
}

// fixedFlag is FS_IMMUTABLE_FL.
const fixedFlag = 0x10
