//go:build linux

package local

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

// procStat is the part of /proc/PID/stat that we use.
type procStat struct {
	pid     int
	state   byte // Z: a zombie
	parent  int
	session int
	start   uint64 // clock ticks after boot; with the pid it names a process for ever
	exit    int    // wait status of a zombie
	leaving bool   // it has ended, or is about to have: it may have let go of its files
}

func readStat(pid int) (procStat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	// The name is in parentheses and may hold anything, spaces and ")" too.
	end := bytes.LastIndexByte(data, ')')
	f := strings.Fields(string(data[end+1:]))
	if end < 0 || len(f) < 50 {
		return procStat{}, fmt.Errorf("/proc/%d/stat: not understood: %q", pid, data)
	}
	s := procStat{pid: pid, state: f[0][0]}
	s.parent, _ = strconv.Atoi(f[1])
	s.session, _ = strconv.Atoi(f[3])
	s.start, _ = strconv.ParseUint(f[19], 10, 64)
	s.exit, _ = strconv.Atoi(f[49])
	const exiting = 0x4 // PF_EXITING
	flags, _ := strconv.ParseUint(f[6], 10, 64)
	s.leaving = s.state == 'Z' || s.state == 'X' || flags&exiting != 0
	return s, nil
}

// alive reports whether pid is still the process that started at start.
func alive(pid int, start uint64) bool {
	s, err := readStat(pid)
	return err == nil && s.start == start && s.state != 'Z' && s.state != 'X'
}

// process is a procStat with the task directory that its environment names.
type process struct {
	procStat
	dir string
}

// census is one look at all processes, shared by all who ask for one at about
// the same time: a look costs a few microseconds per process of the machine.
type census struct {
	mu    sync.Mutex
	taken time.Time // when the look began
	procs []process
}

// at returns a look that began at since or later.
func (c *census) at(since time.Time) []process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken.Before(since) {
		c.taken = time.Now()
		c.procs = allProcesses()
	}
	return c.procs
}

// allProcesses returns what /proc shows now, without zombies.
func allProcesses() []process {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close()
	var all []process
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil && s.state != 'Z' && s.state != 'X' {
			all = append(all, process{s, taskDirOf(pid)})
		}
	}
	return all
}

// taskDirOf returns the marker that pid was started with; "": none, or a
// process that is not ours to look into.
func taskDirOf(pid int) string {
	dir, _ := taskDir(pid)
	return dir
}

// taskDir is taskDirOf, and whether the process has an environment to look into.
func taskDir(pid int) (of string, whole bool) {
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
		if dir, ok := bytes.CutPrefix(entry, []byte(markerEnv+"=")); ok {
			return string(dir), true
		}
	}
	return "", true
}

// ownChildren returns the supervisor's children, or false where the kernel does
// not list them.
func ownChildren() ([]int, bool) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, false
	}
	var pids []int
	for _, th := range threads {
		data, err := os.ReadFile("/proc/self/task/" + th.Name() + "/children")
		if err != nil {
			if exists("/proc/self/task/" + th.Name()) {
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

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}

func killProcess(pid int, sig unix.Signal) {
	if pid > 1 {
		_ = unix.Kill(pid, sig) // it may be gone already, which is what we want
	}
}
