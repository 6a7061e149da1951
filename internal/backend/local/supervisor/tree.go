//go:build linux

package supervisor

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/proc"
)

// members lists the processes of a task: what its v2 group holds; without one
// the session of its main process, whatever carries its directory in the
// environment, and all descendants of these. That misses only a process which
// left the session, lost its parent and cleaned its environment. The look at
// the processes is not older than since.
func (t *task) members(since time.Time) []int {
	k := t.supervisor
	if t.group.V2 != "" {
		return t.group.Processes()
	}
	procs := k.processes.At(since)
	in := map[int]bool{}
	// A pid is not given out again while it names a session. If it was, the
	// session is gone and the newcomer is none of ours.
	reused := slices.ContainsFunc(procs, func(p proc.Process) bool { return p.PID == t.pid && p.Start != t.start })
	for _, p := range procs {
		if t.pid > 0 && p.Session == t.pid && !reused || p.Dir == t.dir {
			in[p.PID] = true
		}
	}
	for grew := len(in) > 0; grew; {
		grew = false
		for _, p := range procs {
			if in[p.Parent] && !in[p.PID] {
				in[p.PID], grew = true, true
			}
		}
	}
	delete(in, k.pid)
	pids := make([]int, 0, len(in))
	for pid := range in {
		pids = append(pids, pid)
	}
	return pids
}

// signalTree sends sig to every process of the task. Stopped processes are
// woken, for they could not act on it otherwise.
func (t *task) signalTree(sig unix.Signal, since time.Time) {
	if sig == unix.SIGKILL && t.group.V2 != "" {
		t.group.Kill()
		return
	}
	for _, pid := range t.members(since) {
		proc.Kill(pid, sig)
		if sig != unix.SIGKILL {
			proc.Kill(pid, unix.SIGCONT)
		}
	}
}

// killTree ends what the main process left behind, and returns when nothing is
// left. A process that the kernel cannot end keeps the task from ending: its
// devices are not free.
func (t *task) killTree() {
	k := t.supervisor
	if t.treeGone() {
		return
	}
	started := time.Now()
	complained := false
	for wait := 200 * time.Microsecond; ; wait = min(wait*2, time.Second) {
		t.signalTree(unix.SIGKILL, time.Now())
		time.Sleep(wait)
		if t.treeGone() {
			return
		}
		if !complained && time.Since(started) > 10*time.Second {
			complained = true
			k.log.Warn("processes do not end after SIGKILL", "task", t.id, "pids", t.members(started))
		}
	}
}

func (t *task) treeGone() bool {
	if t.group.V2 != "" {
		return t.group.Remove()
	}
	return (t.noOrphans() || len(t.members(time.Now())) == 0) && t.group.Remove()
}

// noOrphans is the cheap answer for machines without v2 groups: the kernel
// hands what a dead main process leaves to us, its subreaper. If all our
// children are main processes, nothing was left.
func (t *task) noOrphans() bool {
	k := t.supervisor
	if t.adopted { // its orphans went elsewhere
		return false
	}
	children, ok := proc.Children()
	if !ok {
		return false
	}
	k.forking.Lock() // a child that is being forked is not in the table yet
	defer k.forking.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pid := range children {
		if k.pids[pid] == nil {
			return false
		}
	}
	return true
}
