// Package slurmtools is what a batch script of Slurm finds in its tasks: the
// commands srun and scontrol, by which it starts programs on all nodes of the
// workload and learns their names, and links to those that are the same in a job.
// It runs beside tasks; the nodes are reached by the agents that internal/mpi has
// on them.
package slurmtools

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/spec"
)

// The arguments under which this program is called in a task.
const (
	SrunArg     = "__slurm-srun"
	ScontrolArg = "__slurm-scontrol"
	SbcastArg   = "__slurm-sbcast"
	StepArg     = "__slurm-step"
	SignalArg   = "__slurm-signal"
	HoldArg     = "__slurm-hold"
	CancelArg   = spec.SlurmCancelArg
)

// dirVar is where what belongs to a script and its steps is kept, commandsVar where its
// commands are; envFile is the environment that it began with.
const (
	dirVar      = "MUSTER_SLURM_DIR"
	commandsVar = "MUSTER_SLURM_COMMANDS"
	envFile     = "environment"
	scriptFile  = "script" // the script's pid
	// slurmScript is what the batch script itself is called, as under Slurm.
	slurmScript = "slurm_script"
)

// BatchMain runs a batch script, whose command args is, and exits as it does.
func BatchMain(args []string) int {
	code, err := batch(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster: the script cannot be run:", err)
		return 127
	}
	return code
}

func batch(args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("it has no command")
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "slurm-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := commands(dir, self)
	if err != nil {
		return 0, err
	}
	before := append(os.Environ(), dirVar+"="+dir, commandsVar+"="+path)
	if err := os.WriteFile(filepath.Join(dir, envFile), []byte(strings.Join(before, "\x00")), 0o600); err != nil {
		return 0, err
	}
	if err := submitters(); err != nil {
		return 0, err
	}
	findServer()
	jobEnvironment()
	if _, err := os.Stat("/tmp"); err == nil && os.Getenv("TMPDIR") == "" { // as slurmd does
		if err := os.Setenv("TMPDIR", "/tmp"); err != nil {
			return 0, err
		}
	}
	if args, err = asFile(args, dir, path); err != nil {
		return 0, err
	}
	// #!/usr/bin/srun /bin/bash: Slurm's programs are elsewhere here.
	if ours := filepath.Join(path, filepath.Base(args[0])); !isFile(args[0]) && isFile(ours) {
		args[0] = ours
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), dirVar+"="+dir, commandsVar+"="+path, "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	closeInput, err := inputFile(cmd)
	if err != nil {
		fmt.Fprintf(os.Stderr, "muster: the script cannot be run: its input cannot be read: %v; make the file, or write another --input\n", err)
		return notLaunched, nil
	}
	defer closeInput()
	closeFiles, err := logFiles(cmd)
	defer closeFiles()
	if err != nil {
		fmt.Fprintf(os.Stderr, "muster: the script cannot be run: its output has no place: %v; make the directory, or write another --output\n", err)
		return notLaunched, nil
	}
	cmd.WaitDelay = time.Second // for pipes that something in the background keeps open
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return notStarted(cmd, err)
	}
	if err := os.WriteFile(filepath.Join(dir, scriptFile), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "muster: scancel --signal will not find the script:", err)
	}
	early(cmd.Process, signals)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { pass(cmd.Process, signals, done) })
	wg.Go(func() { warn(cmd.Process, dir, done) })
	err = cmd.Wait()
	_ = os.Remove(filepath.Join(dir, scriptFile)) // its pid may soon be another program's
	close(done)
	wg.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, err
	}
	return exitCode(cmd.ProcessState), nil
}

// notLaunched is the code of a script whose input or output cannot be opened: Slurm says
// then that the signal 53 has ended it, which is none.
const notLaunched = 128 + 53

// notStarted says of a script that the system does not start what Slurm says, where
// its output is looked for, and is the code with which such a job fails: the error's
// number.
func notStarted(cmd *exec.Cmd, err error) (int, error) {
	var number syscall.Errno
	switch {
	case errors.Is(err, exec.ErrNotFound):
		number = syscall.ENOENT
	case !errors.As(err, &number):
		return 0, err
	}
	reason := number.Error()
	_, werr := fmt.Fprintf(cmd.Stderr, "slurmstepd-%s: error: execve(): bad interpreter(%s): %s\n", os.Getenv("SLURMD_NODENAME"), interpreter(cmd), strings.ToUpper(reason[:1])+reason[1:])
	return int(number), werr
}

// interpreter is what stands in the script's first line.
func interpreter(cmd *exec.Cmd) string {
	words := cmd.Args
	if i := slices.IndexFunc(words, func(w string) bool { return filepath.Base(w) == slurmScript }); i > 0 {
		words = words[:i]
	}
	return strings.Join(words, " ")
}

// isFile reports whether something is there.
func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func exitCode(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// early hands on what came before the script was there to be told: whoever sent
// it does not send it again, and waits until the grace period is over.
func early(p *os.Process, signals <-chan os.Signal) {
	for {
		select {
		case s := <-signals:
			_ = p.Signal(s)
		default:
			return
		}
	}
}

// pass hands signals on to the script. Whoever ends a task tells all its
// processes; in a container of its own only the first is told.
func pass(p *os.Process, signals <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if os.Getpid() == 1 {
				_ = p.Signal(s)
			}
		case <-done:
			return
		}
	}
}

// warn sends the signal of sbatch --signal before the limit ends the script.
func warn(p *os.Process, dir string, done <-chan struct{}) {
	limit, err := strconv.Atoi(os.Getenv("MUSTER_SLURM_LIMIT"))
	script, name, before, perr := spec.ParseSignal(os.Getenv("MUSTER_SLURM_SIGNAL"))
	if err != nil || perr != nil {
		return
	}
	sig, ok := signalOf(name)
	if !ok {
		return
	}
	timer := time.NewTimer(max(0, time.Duration(limit-before)*time.Second))
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	if script {
		_ = p.Signal(sig)
		return
	}
	for _, pid := range steps(dir) { // of each srun, which hands it on to what it started
		_ = syscall.Kill(pid, sig)
	}
}

var signalNames = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
	"TERM": syscall.SIGTERM, "CONT": syscall.SIGCONT, "STOP": syscall.SIGSTOP, "ALRM": syscall.SIGALRM,
}

func signalOf(name string) (syscall.Signal, bool) {
	if s, ok := signalNames[name]; ok {
		return s, true
	}
	n, err := strconv.Atoi(name)
	return syscall.Signal(n), err == nil && n > 0 && n < 65
}

// logFiles makes what the script writes go to its files too. Where one cannot
// be opened, the script does not run: what it writes would be looked for there.
func logFiles(cmd *exec.Cmd) (closeAll func(), err error) {
	out, errs := expandPattern(os.Getenv("MUSTER_SLURM_OUTPUT"), nil), expandPattern(os.Getenv("MUSTER_SLURM_ERROR"), nil)
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	file := func(name string) (io.Writer, error) {
		f, err := openLog(name, os.Getenv("MUSTER_SLURM_OPEN_MODE"))
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	if out != "" && out != "/dev/null" {
		f, err := file(out)
		if err != nil {
			return closeAll, err
		}
		cmd.Stdout = io.MultiWriter(os.Stdout, f)
		if errs == "" || errs == out {
			cmd.Stderr = cmd.Stdout // one pipe: lines stay in the order in which they were written
		}
	}
	if errs != "" && errs != "/dev/null" && errs != out {
		f, err := file(errs)
		if err != nil {
			return closeAll, err
		}
		cmd.Stderr = io.MultiWriter(os.Stderr, f)
	}
	return closeAll, nil
}

// openLog opens a file of a script or step, which is emptied unless mode says
// append. Either way what is written goes behind what others write.
func openLog(name, mode string) (*os.File, error) {
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if mode != "append" && mode != "a" {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(name, flags, 0o666)
}

// expandPattern is a file name of sbatch or srun with its patterns filled in
// (slurm.schedmd.com/sbatch.html, "filename pattern"). The job's own may be
// given over, such as t, the rank.
func expandPattern(pattern string, own map[byte]string) string {
	env := map[byte]string{
		'j': os.Getenv("SLURM_JOB_ID"), 'A': os.Getenv("SLURM_ARRAY_JOB_ID"), 'a': os.Getenv("SLURM_ARRAY_TASK_ID"), 'x': os.Getenv("SLURM_JOB_NAME"),
		'N': os.Getenv("SLURMD_NODENAME"), 'n': os.Getenv("SLURM_NODEID"), 'u': os.Getenv("SLURM_JOB_USER"), 't': os.Getenv("SLURM_PROCID"), 's': "batch", 'J': os.Getenv("SLURM_JOB_ID"), '%': "%",
	}
	if env['A'] == "" {
		env['A'], env['a'] = env['j'], "4294967294" // as Slurm has it outside of arrays
	}
	for c, text := range own {
		env[c] = text
	}
	return slurm.FileName(pattern, env)
}
