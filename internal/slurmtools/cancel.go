package slurmtools

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/musterhq/muster/internal/core/spec"
)

// CancelMain sends a signal to the script beside which it is run, or to what that
// has started, as scancel --signal says it: batch is the script alone, full all of
// its processes, steps what srun has started, and a number one step.
func CancelMain(args []string) int {
	if len(args) != 2 {
		return 2
	}
	sig, ok := signalOf(args[1])
	if !ok {
		fmt.Fprintf(os.Stderr, "%s is no signal\n", args[1])
		return 2
	}
	all := beside()
	dir := ""
	for _, p := range all {
		if dir = p.env[dirVar]; dir != "" {
			break
		}
	}
	script := pidIn(filepath.Join(dir, scriptFile))
	if dir == "" || script == 0 {
		return spec.SlurmNoScript
	}
	switch args[0] {
	case "batch":
		_ = syscall.Kill(script, sig)
		return 0
	case "full":
		running := steps(dir)
		for _, p := range all {
			// What srun has started hears it from srun.
			if p.env[dirVar] == dir && p.env[keyVar] == "" && !slices.Contains(running, p.pid) {
				_ = syscall.Kill(p.pid, sig)
			}
		}
		return toSteps(running, sig)
	case "steps":
		return toSteps(steps(dir), sig)
	}
	id, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	pid := pidIn(stepFile(dir, id))
	if pid == 0 {
		return spec.SlurmNoStep
	}
	return toSteps([]int{pid}, sig)
}

// toSteps has each srun hand a signal on. It ends its step at once when it is told
// twice to end.
func toSteps(pids []int, sig syscall.Signal) int {
	if sig == syscall.SIGSTOP {
		sig = stopStep
	}
	for _, pid := range pids {
		if sig != syscall.SIGKILL {
			_ = syscall.Kill(pid, sig)
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGTERM)
		_ = syscall.Kill(pid, syscall.SIGINT)
	}
	return 0
}

// pidIn is the pid in a file; 0: there is none.
func pidIn(file string) int {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil || pid < 2 {
		return 0
	}
	return pid
}

// process is one of a task, with the variables that say whose it is.
type process struct {
	pid int
	env map[string]string
}

// beside are the processes of this task: on a machine of its own all that there
// are, else those that have its variables.
func beside() []process {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	same := []string{"MUSTER_WORKLOAD_ID", "MUSTER_ATTEMPT", "MUSTER_TASK_INDEX", "MUSTER_TASK_RUN"}
	var out []process
	for _, f := range files {
		pid, err := strconv.Atoi(strings.Split(f, "/")[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		p := process{pid, map[string]string{}}
		for kv := range bytes.SplitSeq(data, []byte{0}) {
			if name, value, ok := strings.Cut(string(kv), "="); ok && (name == dirVar || name == keyVar || slices.Contains(same, name)) {
				p.env[name] = value
			}
		}
		if !slices.ContainsFunc(same, func(name string) bool { return p.env[name] != os.Getenv(name) }) {
			out = append(out, p)
		}
	}
	return out
}
