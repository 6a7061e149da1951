//go:build linux

package local

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

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
	return s, nil
}

// alive reports whether pid is still the process that started at start.
func alive(pid int, start uint64) bool {
	s, err := readStat(pid)
	return err == nil && s.start == start && s.state != 'Z' && s.state != 'X'
}

// allProcesses returns what /proc shows now, without zombies.
func allProcesses() []procStat {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close()
	var all []procStat
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil && s.state != 'Z' && s.state != 'X' {
			all = append(all, s)
		}
	}
	return all
}

// hasEnv reports whether pid was started with the entry KEY=value.
func hasEnv(pid int, entry string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(data) == 0 {
		return false
	}
	return bytes.Contains(append([]byte{0}, append(data, 0)...), []byte("\x00"+entry+"\x00"))
}

// ownChildren returns the keeper's children, or false where the kernel does
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
