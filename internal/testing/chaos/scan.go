package chaos

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

const (
	// worldEnv marks every process of every task of a world.
	worldEnv = "CHAOS_WORLD"
	// milliEnv says what part of each of its devices a task asked for.
	milliEnv = "CHAOS_MILLI"
)

// proc is a living process of a task.
type proc struct {
	pid     int
	start   string // with the pid it names a process for ever
	run     Run
	devices []string
	milli   int
}

// stat is the state of a process and when it was started; false: there is none.
func stat(pid int) (state byte, start string, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, "", false
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 20 {
		return 0, "", false
	}
	return f[0][0], f[19], true
}

func ended(pid int) bool {
	state, _, ok := stat(pid)
	return !ok || state == 'Z' || state == 'X'
}

// lives says whether it still is what was seen.
func (p proc) lives() bool {
	state, start, ok := stat(p.pid)
	return ok && start == p.start && state != 'Z' && state != 'X'
}

// scan looks for the living processes of the tasks of a world.
func scan(world string) []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	mark := []byte(worldEnv + "=" + world + "\x00")
	var all []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		state, start, ok := stat(pid)
		if !ok || state == 'Z' || state == 'X' {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ")
		if err != nil || !bytes.Contains(env, mark) {
			continue
		}
		if p := procOf(env); p.run.Workload != "" {
			p.pid, p.start = pid, start
			all = append(all, p)
		}
	}
	return all
}

// procOf reads what an environment says.
func procOf(env []byte) proc {
	var p proc
	for entry := range strings.SplitSeq(string(env), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "MUSTER_WORKLOAD_ID":
			p.run.Workload = value
		case "MUSTER_ATTEMPT":
			p.run.Attempt = n
		case "MUSTER_TASK_INDEX":
			p.run.Index = n
		case "MUSTER_TASK_RUN":
			p.run.Run = n
		case "CUDA_VISIBLE_DEVICES":
			if value != "" {
				p.devices = strings.Split(value, ",")
			}
		case milliEnv:
			p.milli = n
		}
	}
	return p
}

// overbooked are the devices of which the living have more than there is. All
// whom it names lived at the same moment.
func overbooked(all []proc) map[string][]Run {
	one := map[Run]proc{}
	for _, p := range all {
		one[p.run] = p
	}
	sum, who := map[string]int{}, map[string][]Run{}
	add := func(p proc) {
		for _, d := range p.devices {
			sum[d] += p.milli
			who[d] = append(who[d], p.run)
		}
	}
	for _, p := range one {
		add(p)
	}
	if !exceeded(sum) {
		return nil
	}
	// Some may have ended before others began: who is alive now was alive then too.
	clear(sum)
	clear(who)
	for _, p := range one {
		if p.lives() {
			add(p)
		}
	}
	for d := range who {
		if sum[d] <= 1000 {
			delete(who, d)
		}
	}
	return who
}

func exceeded(sum map[string]int) bool {
	for _, n := range sum {
		if n > 1000 {
			return true
		}
	}
	return false
}
