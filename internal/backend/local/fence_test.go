//go:build linux

package local

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

// TestWhoIsGoneStartsNothingUnseen: a server asks for tasks and dies before the
// supervisor has read that. The next one is told of each of them, or it never begins:
// else it would take it for one that never arrived, and what it was told of its
// end would be undone.
func TestWhoIsGoneStartsNothingUnseen(t *testing.T) {
	p := open(t, Options{})
	start(t, p, shellTask("first", 0, "sleep 1000")) // the supervisor stays
	dir := t.TempDir()
	began := func(a backend.Assignment) bool {
		return taskdir.Exists(filepath.Join(dir, a.ID.String()[len("gone/0/"):]))
	}
	var unseen []backend.Assignment
	for r := range 10 {
		old, err := newClient(t.Context(), p.paths.Dir)
		if err != nil {
			t.Fatal(err)
		}
		pid := supervisorPID(t, p)
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		var tasks []backend.Assignment
		var jobs []protocol.Job
		var ids []core.TaskID
		for i := range 30 {
			a := shellTask("gone", r*30+i, fmt.Sprintf(": >%s/%d; sleep 1000", dir, r*30+i))
			tasks, jobs, ids = append(tasks, a), append(jobs, protocol.Job{Assignment: a}), append(ids, a.ID)
		}
		if _, _, err := old.open(protocol.Request{Op: protocol.OpStart, Tasks: jobs}); err != nil {
			t.Fatal(err)
		}
		old.close(errBroken)
		came := make(chan *client, 1)
		go func() {
			c, err := newClient(t.Context(), p.paths.Dir)
			if err != nil {
				t.Error(err)
			}
			came <- c
		}()
		if err := unix.Kill(pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		c := <-came
		if c == nil {
			return
		}
		seen, err := c.call(t.Context(), protocol.Request{Op: protocol.OpObserve})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.call(t.Context(), protocol.Request{Op: protocol.OpStop, IDs: ids, Grace: backendtest.Within}); err != nil {
			t.Fatal(err)
		}
		for _, a := range tasks {
			if slices.ContainsFunc(seen.Seen, func(o backend.Observation) bool { return o.ID == a.ID }) {
				end(t, p, a.ID)
			} else {
				unseen = append(unseen, a)
			}
		}
		c.close(errBroken)
	}
	last := shellTask("last", 0, "true")
	start(t, p, last)
	end(t, p, last.ID)
	for _, a := range unseen {
		if began(a) {
			t.Errorf("%s began, of which the next server was not told", a.ID)
		}
	}
	t.Logf("%d tasks were not begun", len(unseen))
}

// TestAKilledSupervisorIsSweptUp: who ends a server after its supervisor was killed, and
// has no task for another, leaves no control group behind.
func TestAKilledSupervisorIsSweptUp(t *testing.T) {
	p, err := Open(Options{Dir: t.TempDir(), Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	a := shellTask("short", 0, "true")
	start(t, p, a)
	end(t, p, a.ID)
	if err := p.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	killSupervisor(t, p)
	if err := p.Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, p)
}
