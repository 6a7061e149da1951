//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
)

// stop asks trees to end; see backend.Backend. One look at the processes does for
// all of them.
func (k *supervisor) stop(ids []core.TaskID, grace time.Duration) error {
	var errs []error
	since := time.Now()
	for _, id := range ids {
		if err := k.stopOne(id, grace, since); err != nil {
			errs = append(errs, err)
		}
	}
	return joinFew(errs)
}

// stopOne records the wish, then acts on it: a supervisor that dies between finds
// the record and acts again. Nobody is told yes before the record is there, also
// where somebody else asked first.
func (k *supervisor) stopOne(id core.TaskID, grace time.Duration, since time.Time) error {
	deadline := time.Now().Add(max(grace, 0))
	k.mu.Lock()
	t := k.tasks[id]
	k.mu.Unlock()
	if t == nil {
		return nil
	}
	t.stopping.Lock()
	defer t.stopping.Unlock()
	k.mu.Lock()
	if t.ended || t.exited || !t.deadline.IsZero() && !deadline.Before(t.deadline) {
		k.mu.Unlock()
		return nil
	}
	first := t.deadline.IsZero()
	t.deadline = deadline
	mild := t.mild
	forked := t.pid != 0 || t.container != nil // an engine that hangs is ended by force
	k.mu.Unlock()
	err := taskdir.Write(t.dir, taskdir.StopRecord, taskdir.Stopped{Deadline: deadline, Mild: mild})
	if forked { // else start looks at the deadline once it has
		t.enforceStop(first, since)
	}
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// enforceStop signals the tree and sets the alarm for the end of the grace.
func (t *task) enforceStop(polite bool, since time.Time) {
	k := t.supervisor
	k.mu.Lock()
	if t.exited || t.deadline.IsZero() {
		k.mu.Unlock()
		return
	}
	grace := time.Until(t.deadline)
	if t.alarm != nil {
		t.alarm.Stop()
	}
	t.alarm = time.AfterFunc(max(grace, 0), func() { t.force() })
	k.mu.Unlock()
	if polite && grace > 0 {
		t.polite(since)
	}
}

// polite asks a tree to end, once. A container whose first process is not its
// command yet is asked when it is: what it is until then, the engine's own, would
// swallow the signal or die of it.
func (t *task) polite(since time.Time) {
	k := t.supervisor
	k.mu.Lock()
	if t.signalled || t.container != nil && t.pid == 0 { // what runs is the engine, which we let finish
		k.mu.Unlock()
		return
	}
	t.signalled = true
	k.mu.Unlock()
	if t.container == nil || t.isCommand() {
		t.terminate(since)
		return
	}
	go func() {
		for wait := time.Millisecond; !t.isCommand(); wait = min(wait*2, 50*time.Millisecond) {
			if !proc.Alive(t.pid, t.start) {
				return
			}
			time.Sleep(wait)
		}
		t.terminate(time.Now())
	}()
}

// terminate sends the signal. The first process of a container is its init, for
// which the kernel ignores a signal without a handler where any other process
// would die of it; so we do to it what the kernel would have done.
func (t *task) terminate(since time.Time) {
	k := t.supervisor
	k.mu.Lock()
	pid, deadline := t.pid, t.deadline
	t.mild = t.mild || t.container != nil && proc.DiesOf(pid, unix.SIGTERM)
	mild := t.mild
	k.mu.Unlock()
	if mild {
		if err := taskdir.Write(t.dir, taskdir.StopRecord, taskdir.Stopped{Deadline: deadline, Mild: true}); err != nil {
			k.log.Warn("cannot record that a stop is polite", "task", t.id, "err", err)
		}
	}
	t.signalTree(unix.SIGTERM, since)
	if mild {
		proc.Kill(pid, unix.SIGKILL)
	}
}

// force kills until the main process has ended; what else is left is the
// business of finish.
func (t *task) force() {
	k := t.supervisor
	for wait := time.Millisecond; ; wait = min(wait*2, time.Second) {
		k.mu.Lock()
		over := t.exited
		k.mu.Unlock()
		if over {
			return
		}
		t.signalTree(unix.SIGKILL, time.Now())
		time.Sleep(wait)
	}
}

// joinFew keeps an error of thousands of parts readable.
func joinFew(errs []error) error {
	if len(errs) > 3 {
		errs = append(errs[:3:3], fmt.Errorf("and %d more", len(errs)-3))
	}
	return errors.Join(errs...)
}
