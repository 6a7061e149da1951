package slurmtools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// StepMain becomes one process of a step.
func StepMain(args []string) int {
	if err := become(args); err != nil {
		fmt.Fprintln(os.Stderr, "srun: error:", err)
		return 127
	}
	return 0
}

func become(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("it is called by srun")
	}
	data, err := base64.StdEncoding.DecodeString(args[0])
	if err != nil {
		return err
	}
	var p program
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	for _, name := range p.Unset {
		_ = os.Unsetenv(name)
	}
	if p.Bare {
		undress()
	}
	setSoftLimits(p.Soft)
	for name, text := range p.Env {
		if err := os.Setenv(name, text); err != nil {
			return err
		}
	}
	if p.Path != "" {
		_ = os.Setenv("PATH", p.Path)
	}
	if p.Box != nil {
		if err := p.Box.environment(); err != nil {
			return err
		}
	}
	_ = os.Setenv("SLURM_TASK_PID", strconv.Itoa(os.Getpid()))
	if err := p.devices(); err != nil {
		return err
	}
	if p.Box != nil {
		if err := p.Box.enter(); err != nil {
			return err
		}
	}
	if p.Dir != "" {
		if err := os.Chdir(p.Dir); err != nil {
			return err
		}
	}
	if code := before(p.Prolog, p.Env["SLURMD_NODENAME"]); code != 0 {
		os.Exit(code)
	}
	path, err := exec.LookPath(p.Argv[0])
	if st, serr := os.Stat(p.Argv[0]); err != nil && p.Bare && serr == nil && st.Mode()&0o111 != 0 && st.Mode().IsRegular() {
		path, err = p.Argv[0], nil // srun looks here, too
	}
	if err == nil {
		argv := slices.Clone(p.Argv)
		if dir, err := os.Getwd(); err == nil && !filepath.IsAbs(path) {
			path = dir + "/" + path
		}
		argv[0] = path // as srun, which looks for it, calls it
		err = syscall.Exec(path, argv, os.Environ())
	}
	os.Exit(p.notStarted(err))
	return nil
}

// notStarted says why a program does not start as Slurm does, and is the code with
// which the task then ends: the error's number.
func (p program) notStarted(err error) int {
	number := syscall.ENOENT
	if errors.Is(err, fs.ErrPermission) {
		number = syscall.EACCES
	} else {
		errors.As(err, &number)
	}
	name := p.Argv[0]
	if dir, err := os.Getwd(); err == nil && strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = dir + "/" + name
	}
	reason := number.Error()
	fmt.Fprintf(os.Stderr, "slurmstepd-%s: error: execve(): %s: %s\n", p.Env["SLURMD_NODENAME"], name, strings.ToUpper(reason[:1])+reason[1:])
	return int(number)
}

// devices leaves a process its step's part of the node's GPUs, or its own part of
// those.
func (p program) devices() error {
	if p.GPUs == 0 && p.Of == nil {
		return nil
	}
	for _, name := range []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} {
		text, set := os.LookupEnv(name)
		if !set {
			continue
		}
		all := strings.Split(text, ",")
		if p.Of != nil {
			var of []string
			for _, i := range p.Of {
				if i < len(all) {
					of = append(of, all[i])
				}
			}
			all = of
		}
		if p.GPUs == 0 {
			if err := os.Setenv(name, strings.Join(all, ",")); err != nil {
				return err
			}
			continue
		}
		from, to := p.Local*p.GPUs, (p.Local+1)*p.GPUs
		if to > len(all) {
			return fmt.Errorf("the task asks for %d GPUs of its own, and the node has %d", p.GPUs, len(all))
		}
		if err := os.Setenv(name, strings.Join(all[from:to], ",")); err != nil {
			return err
		}
	}
	return nil
}

// SignalMain sends a signal to the processes of a step on this node.
func SignalMain(args []string) int {
	if len(args) != 2 {
		return 2
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return 2
	}
	signalAll(args[0], syscall.Signal(n))
	return 0
}

// signalAll finds the processes of a step by their environment.
func signalAll(key string, sig syscall.Signal) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	mark := []byte(keyVar + "=" + key)
	for _, f := range files {
		pid, err := strconv.Atoi(strings.Split(f, "/")[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		data, err := os.ReadFile(f)
		if err == nil && slices.ContainsFunc(bytes.Split(data, []byte{0}), func(kv []byte) bool { return bytes.Equal(kv, mark) }) {
			_ = syscall.Kill(pid, sig)
		}
	}
}
