//go:build linux

package local

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/supervisor"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
)

// TestMain lets the test binary be a supervisor, and a server that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case SupervisorArg:
			os.Exit(supervisor.Main(os.Args[2:]))
		case serverArg:
			os.Exit(serverMain(os.Args[2:]))
		}
	}
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0") // else every supervisor of a race build takes a second to leave
	os.Exit(m.Run())
}

const noGroups = "--no-groups"

// open opens a backend and, when the test is over, ends its tasks and supervisor.
func open(t testing.TB, o Options) *Backend {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Linger = 10 * time.Millisecond
	p, err := Open(o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { shut(t, p) })
	return p
}

func reopen(t testing.TB, p *Backend) *Backend {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	again, err := Open(p.opts)
	if err != nil {
		t.Fatalf("Open again: %v", err)
	}
	t.Cleanup(func() { shut(t, again) })
	return again
}

// shut ends everything below the backend's directory and waits until the supervisor
// is gone, so that the directory can be removed.
func shut(t testing.TB, p *Backend) {
	t.Helper()
	_ = p.Close()
	q, err := Open(p.opts)
	if err != nil {
		t.Errorf("Open to shut: %v", err)
		return
	}
	defer func() { _ = q.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), backendtest.Within) // the test's own is done by now
	defer cancel()
	until(t, "all tasks have ended", func() bool {
		seen, err := q.Observe(ctx)
		if err != nil {
			t.Fatalf("Observe to shut: %v", err)
		}
		var ids []core.TaskID
		over := true
		for _, o := range seen {
			ids = append(ids, o.ID)
			over = over && o.State.Ended()
		}
		_ = q.Stop(ctx, ids, 0)
		if over {
			_ = q.Forget(ctx, ids)
		}
		return over
	})
	if err := q.Retire(ctx); err != nil { // of one that a test has killed, it takes the control groups away
		t.Errorf("Retire to shut: %v", err)
	}
	_ = q.Close()
	until(t, "the supervisor is gone", func() bool { return !locked(p.paths) })
}

// locked reports whether a supervisor has the directory.
func locked(p taskdir.Paths) bool {
	f, err := os.Open(p.Lock())
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

func supervisorPID(t testing.TB, p *Backend) int {
	t.Helper()
	data, err := os.ReadFile(p.paths.Lock())
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// killSupervisor ends the supervisor as a crash would, and waits until it is dead.
func killSupervisor(t testing.TB, p *Backend) {
	t.Helper()
	pid := supervisorPID(t, p)
	s, err := proc.ReadStat(pid)
	if err == nil {
		err = unix.Kill(pid, unix.SIGKILL)
	}
	if err != nil {
		t.Fatalf("kill the supervisor: %v", err)
	}
	// Not the lock: a backend that is preparing tasks brings the next supervisor at once.
	until(t, "the supervisor is dead", func() bool { return !proc.Alive(pid, s.Start) })
}

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for begun := time.Now(); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > backendtest.Within {
			t.Fatalf("after %s still not: %s", backendtest.Within, what)
		}
	}
}

func shellTask(workload string, index int, script string) backend.Assignment {
	return backend.Assignment{
		ID: core.TaskID{Workload: core.WorkloadID(workload), Index: index}, Argv: []string{"/bin/sh", "-c", script},
	}
}

func contract(t *testing.T, o Options) {
	probe := findGroupsForTest(o)
	backendtest.Run(t, func(t *testing.T) backend.Backend { return open(t, o) }, backendtest.Options{
		Assign: func(_ *testing.T, id core.TaskID, s backendtest.Script) backend.Assignment {
			return backend.Assignment{ID: id, Argv: backendtest.Command(s)}
		},
		Shell:   true,
		Reopen:  func(t *testing.T, p backend.Backend) backend.Backend { return reopen(t, p.(*Backend)) },
		Devices: []core.Share{{Device: "fake-1", Index: 1, Milli: 1000}, {Device: "GPU-uuid", Index: 3, Milli: 500}},
		Visible: "1,GPU-uuid",
		Memory:  probe, Unlimited: len(o.Exe) > 2 && o.Exe[2] == noGroups,
	})
}

func TestContract(t *testing.T) { contract(t, Options{FakeGPUs: 2}) }

func TestContractWithoutGroups(t *testing.T) {
	contract(t, Options{FakeGPUs: 2, Exe: []string{"/proc/self/exe", SupervisorArg, noGroups}})
}

// findGroupsForTest reports whether memory limits can be enforced here,
// by the file permissions alone: the supervisor itself must not decide whether
// its own test runs.
func findGroupsForTest(o Options) bool {
	if len(o.Exe) > 2 && o.Exe[2] == noGroups {
		return false
	}
	mounts, err := cgroup.Mounts()
	if err != nil {
		return false
	}
	for _, m := range mounts {
		home, ok := cgroup.Below(m, cgroup.Own()["memory"])
		if strings.Contains(","+m.V1+",", ",memory,") && ok && unix.Access(home, unix.W_OK) == nil {
			return true
		}
		data, err := os.ReadFile(m.Point + "/cgroup.subtree_control")
		if m.V1 == "" && err == nil && strings.Contains(string(data), "memory") && unix.Access(m.Point, unix.W_OK) == nil {
			return true
		}
	}
	return false
}
