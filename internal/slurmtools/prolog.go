package slurmtools

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// around are programs that run around those of a step: before and after it where srun
// is, and before and after each task where that runs (srun(1), --prolog, --epilog,
// --task-prolog, --task-epilog; tried with 22.05).
type around struct{ prolog, epilog, taskProlog, taskEpilog string }

// set takes one of these options; false: it is another.
func (a *around) set(name, value string) bool {
	to, is := map[string]*string{"prolog": &a.prolog, "epilog": &a.epilog, "task-prolog": &a.taskProlog, "task-epilog": &a.taskEpilog}[name]
	if is {
		*to = value
	}
	return is
}

// fromEnvironment takes over what no option says.
func (a *around) fromEnvironment() {
	for name, to := range map[string]*string{"SLURM_PROLOG": &a.prolog, "SLURM_EPILOG": &a.epilog, "SLURM_TASK_PROLOG": &a.taskProlog, "SLURM_TASK_EPILOG": &a.taskEpilog} {
		if *to == "" {
			*to = os.Getenv(name)
		}
	}
}

// runBeside runs the program of srun's own side, whose output is srun's. That it cannot be
// run is a line and no end of the step.
func runBeside(path, context string) {
	if path == "" || path == "none" {
		return
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
		reason := "Permission denied"
		if errors.Is(err, os.ErrNotExist) {
			reason = "No such file or directory"
		}
		fmt.Fprintf(os.Stderr, "srun: Access denied for %s: %s\n", path, reason)
		return
	}
	cmd := exec.Command(path)
	cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, append(os.Environ(), "SLURM_SCRIPT_CONTEXT="+context)
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "srun: error: %s: %v\n", path, err)
	}
}

// stepd begins what the daemon of a node says of a step.
func stepd(node string) string { return "slurmstepd-" + node + ": error: " }

// before runs the task's prolog on a node and takes over what that prints: lines with export
// NAME=VALUE and unset NAME are of the task's environment, and those with print of its
// output. Its code is that of the task where it is not 0.
func before(path, node string) int {
	if path == "" {
		return 0
	}
	bad := func(format string, args ...any) int {
		fmt.Fprintf(os.Stderr, stepd(node)+"run_command: user task_prolog "+format+"\n", args...)
		fmt.Fprintln(os.Stderr, stepd(node)+"user task_prolog did not exit normally. reason: Run command failed - configuration error")
		fmt.Fprintln(os.Stderr, stepd(node)+"--task-prolog failed status=1")
		return 1
	}
	if !filepath.IsAbs(path) {
		return bad("is not fully qualified pathname (%s)", path)
	}
	if err := syscall.Access(path, 1); err != nil { // that it may be executed
		reason := err.Error()
		return bad("can not be executed (%s) %s", path, strings.ToUpper(reason[:1])+reason[1:])
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "SLURM_SCRIPT_CONTEXT=prolog_task")
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if text, is := strings.CutPrefix(line, "print "); is {
			fmt.Println(strings.TrimLeft(text, " "))
		} else if text, is := strings.CutPrefix(line, "export "); is {
			if name, value, has := strings.Cut(text, "="); has {
				_ = os.Setenv(strings.TrimSpace(name), value)
			}
		} else if name, is := strings.CutPrefix(line, "unset "); is {
			_ = os.Unsetenv(strings.TrimSpace(name))
		}
	}
	code := 0
	if err != nil {
		code = 1
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = max(exit.ExitCode(), 1)
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, stepd(node)+"--task-prolog failed status=%d\n", code)
	}
	return code
}
