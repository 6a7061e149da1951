//go:build linux

// Package proc reads what the kernel says of processes and of the machine.
//
// It is given pids and gives what /proc has on them: who is whose child, which
// task a process belongs to (by its environment), what it uses and may do. It
// starts nothing, and ends only the processes that the caller names.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Stat is the part of /proc/PID/stat that we use.
type Stat struct {
	PID     int
	State   byte // Z: a zombie
	Parent  int
	Session int
	Start   uint64 // clock ticks after boot; with the pid it names a process for ever
	exit    int    // wait status of a zombie
	Leaving bool   // it has ended, or is about to have: it may have let go of its files
}

// ReadStat reads /proc/PID/stat.
func ReadStat(pid int) (Stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	// The name is in parentheses and may hold anything, spaces and ")" too.
	end := bytes.LastIndexByte(data, ')')
	f := strings.Fields(string(data[end+1:]))
	if end < 0 || len(f) < 50 {
		return Stat{}, fmt.Errorf("/proc/%d/stat: not understood: %q", pid, data)
	}
	s := Stat{PID: pid, State: f[0][0]}
	s.Parent, _ = strconv.Atoi(f[1])
	s.Session, _ = strconv.Atoi(f[3])
	s.Start, _ = strconv.ParseUint(f[19], 10, 64)
	s.exit, _ = strconv.Atoi(f[49])
	const exiting = 0x4 // PF_EXITING
	flags, _ := strconv.ParseUint(f[6], 10, 64)
	s.Leaving = s.State == 'Z' || s.State == 'X' || flags&exiting != 0
	return s, nil
}

// Alive reports whether pid is still the process that started at start.
func Alive(pid int, start uint64) bool {
	s, err := ReadStat(pid)
	return err == nil && s.Start == start && s.State != 'Z' && s.State != 'X'
}

// Process is a Stat with the task directory that its environment names.
type Process struct {
	Stat
	Dir string
}

// Table is one look at all processes, shared by all who ask for one at about
// the same time: a look costs a few microseconds per process of the machine.
type Table struct {
	mu    sync.Mutex
	taken time.Time // when the look began
	procs []Process
}

// At returns a look that began at since or later.
func (c *Table) At(since time.Time) []Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken.Before(since) {
		c.taken = time.Now()
		c.procs = All()
	}
	return c.procs
}

// All returns what /proc shows now, without zombies.
func All() []Process {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close()
	var all []Process
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if s, err := ReadStat(pid); err == nil && s.State != 'Z' && s.State != 'X' {
			all = append(all, Process{s, taskDirOf(pid)})
		}
	}
	return all
}

// taskDirOf returns the marker that pid was started with; "": none, or a
// process that is not ours to look into.
func taskDirOf(pid int) string {
	dir, _ := TaskDir(pid)
	return dir
}

// TaskDir is taskDirOf, and whether the process has an environment to look into.
func TaskDir(pid int) (of string, whole bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	data, err := os.ReadFile(dir + "/environ")
	// In the middle of becoming another program a process has no environment for
	// a moment; a thread of the kernel, which has no program, never has one.
	for try := 0; err == nil && len(data) == 0 && try < 10; try++ {
		if _, err := os.Readlink(dir + "/exe"); err != nil {
			return "", false
		}
		time.Sleep(time.Millisecond)
		data, err = os.ReadFile(dir + "/environ")
	}
	if err != nil || len(data) == 0 {
		return "", false
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if dir, ok := bytes.CutPrefix(entry, []byte(TaskDirEnv+"=")); ok {
			return string(dir), true
		}
	}
	return "", true
}

// Children returns the supervisor's children, or false where the kernel does
// not list them.
func Children() ([]int, bool) { return ChildrenOf("self") }

// ChildrenOf returns the children of a process, by its number, or false where the
// kernel does not list them.
func ChildrenOf(process string) ([]int, bool) {
	dir := "/proc/" + process + "/task/"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	var pids []int
	for _, th := range threads {
		data, err := os.ReadFile(dir + th.Name() + "/children")
		if err != nil {
			if _, err := os.Lstat(dir + th.Name()); err == nil {
				return nil, false
			}
			continue
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, true
}

// BootID names this run of the machine.
func BootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}

// Kill sends a signal. A process that has ended already is no error.
func Kill(pid int, sig unix.Signal) {
	if pid > 1 {
		_ = unix.Kill(pid, sig) // it may be gone already, which is what we want
	}
}

// TaskDirEnv holds the task's private directory; it tells its processes from
// all others, also after the supervisor that started them is gone.
const TaskDirEnv = "MUSTER_TASK_DIR"
