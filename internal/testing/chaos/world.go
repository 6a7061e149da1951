//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/testdisk"
)

// Config says what is to be tried.
type Config struct {
	Program string // muster
	Dir     string // of the world: evidence, the ledger, what servers say
	Image   string // busybox for containers; empty: processes only
	Seed    uint64
	Users   int
	Pause   time.Duration // the longest between two requests of a user
	Between time.Duration // the longest between two deeds
	// Volume is the size of a disk of its own for the data directory, which can
	// be filled and lose its power; 0: none. It takes root.
	Volume int64
	// PowerCuts has the volume lose its power again and again; else other deeds
	// are done.
	PowerCuts bool
	Progress  func(string)
}

// World is one server's life, and who makes it hard.
type World struct {
	Config
	name     string
	host     *host
	ledger   *Ledger
	observer *observer
	volume   *testdisk.Volume
	evidence string

	mu         sync.Mutex
	violations []Violation
}

// Open prepares a world and starts its first server.
func Open(ctx context.Context, c Config) (w *World, err error) {
	w = &World{Config: c, name: fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()), evidence: filepath.Join(c.Dir, "evidence", "marks")}
	if err := os.MkdirAll(filepath.Dir(w.evidence), 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.evidence, nil, 0o666); err != nil {
		return nil, err
	}
	out, err := os.Create(w.LedgerFile())
	if err != nil {
		return nil, err
	}
	w.ledger = NewLedger(out)
	w.host = &host{program: c.Program, data: filepath.Join(c.Dir, "data"), log: filepath.Join(c.Dir, "server.log")}
	if c.Volume > 0 {
		if w.volume, err = testdisk.Make(filepath.Join(c.Dir, "disk"), filepath.Join(c.Dir, "volume"), c.Volume); err != nil {
			return nil, err
		}
		w.host.data = filepath.Join(w.volume.Dir, "data")
	}
	if c.PowerCuts {
		w.host.boot = filepath.Join(c.Dir, "boot")
		if err := w.newBoot(); err != nil {
			return w, err
		}
	}
	if err := os.MkdirAll(w.host.data, 0o700); err != nil {
		return w, err
	}
	w.host.conn, err = client.New(client.Options{Address: "unix://" + filepath.Join(w.host.data, "muster.sock"), Retries: -1})
	if err != nil {
		return w, err
	}
	w.observer = newObserver(w)
	_, err = w.host.start(ctx)
	return w, err
}

// LedgerFile is where every change of the ledger is written, a line each.
func (w *World) LedgerFile() string { return filepath.Join(w.Dir, "ledger.jsonl") }

// found notes a violation that is seen while all goes on.
func (w *World) found(v Violation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, v)
	w.ledger.say(v)
	if w.Progress != nil {
		w.Progress(v.String())
	}
}

// Play lets users work and deeds be done until enough says so, then waits until
// all has come to its end, ends the server, and returns what there is to check.
func (w *World) Play(ctx context.Context, enough func(deeds []Deed) bool) (*History, error) {
	all, cancel := context.WithCancel(ctx)
	defer cancel()
	var busy, seeing sync.WaitGroup
	seeing.Go(func() { w.observer.listen(all) })
	seeing.Go(func() { w.observer.look(all, 250*time.Millisecond) })
	working, rest := context.WithCancel(all)
	defer rest()
	hands := make([]*hand, w.Users)
	for i := range hands {
		r := rand.New(rand.NewPCG(w.Seed, uint64(i)+1))
		hands[i] = &hand{w: w, r: r, name: fmt.Sprintf("u%d", i), pause: w.Pause,
			make: &maker{world: w.name, evidence: w.evidence, image: w.Image, r: r}}
		busy.Go(func() { hands[i].work(working) })
	}
	err := w.harm(all, enough)
	rest()
	busy.Wait()
	if err == nil {
		for _, h := range hands {
			busy.Go(func() { h.finish(all) })
		}
		busy.Wait()
		err = w.drain(all, 3*within)
	}
	cancel() // before the server goes: its end is none of theirs
	seeing.Wait()
	if err != nil {
		return nil, fmt.Errorf("%w\nthe server's last words:\n%s", err, tail(w.host.log, 20))
	}
	return w.end(ctx)
}

// harm does one thing after another.
func (w *World) harm(ctx context.Context, enough func([]Deed) bool) error {
	z := &hazard{w: w, r: rand.New(rand.NewPCG(w.Seed, 0)), pause: w.Between}
	do := z.next
	if w.PowerCuts {
		do = func(ctx context.Context) error { return z.one(ctx, CutPower, (*hazard).cutPower) }
	}
	z.wait(ctx, w.Between)
	for ctx.Err() == nil && !enough(w.ledger.deeds) { // of which this alone makes more
		if err := do(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// drain waits until every workload has come to an end. What should not take
// longer than it is given counts as stuck, and is stopped.
func (w *World) drain(ctx context.Context, patience time.Duration) error {

	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		page, err := w.host.conn.Workloads(ctx, client.ListOptions{Live: true, Limit: 500, Summary: true})
		if err == nil && len(page.Items) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(begun) < patience {
			continue
		}
		if err != nil {
			return fmt.Errorf("the server does not answer at the end: %w", err)
		}
		for _, x := range page.Items {
			w.found(Violation{Kind: Stuck, Who: x.Name, Detail: fmt.Sprintf("%v after the last deed it is %s (%s %s)", patience, x.Phase, x.Reason, x.Message)})
		}
		return nil
	}
}

// Close ends what is left and gives everything back.
func (w *World) Close() error {
	if w.host != nil && w.host.conn != nil {
		w.host.signal(syscall.SIGKILL)
		_ = w.host.gone()
		w.host.killSupervisor()
	}
	err := w.clear()
	if w.volume != nil {
		err = errors.Join(err, w.volume.Close())
	}
	return err
}

// clear ends every process of every task, with what engines have begun for
// them, and removes their groups, as the end of a machine does.
func (w *World) clear() error {
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		all := scan(w.name)
		for _, p := range all {
			p.kill()
		}
		groups := w.host.groups()
		for _, dir := range groups {
			pids, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			for _, pid := range strings.Fields(string(pids)) {
				if n, err := strconv.Atoi(pid); err == nil && n > 1 {
					_ = syscall.Kill(n, syscall.SIGKILL)
				}
			}
			_ = os.Remove(dir)
		}
		if !w.host.killSupervisor() && len(all)+len(groups) == 0 { // one may have been on its way in
			return nil
		}
		if time.Since(begun) > within {
			return fmt.Errorf("%d processes and %d control groups cannot be ended", len(all), len(groups))
		}
	}
}

// tail is the end of a file.
func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	for i := len(data) - 2; i >= 0; i-- {
		if data[i] == '\n' {
			if lines--; lines == 0 {
				return string(data[i+1:])
			}
		}
	}
	return string(data)
}
