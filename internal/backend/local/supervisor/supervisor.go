//go:build linux

// Package supervisor starts the tasks of one data directory, keeps them and reaps
// them: as processes of the machine or in containers.
//
// It is a process of its own, so that tasks outlive the server. It is given jobs
// over the socket of package protocol, and gives observations; what it must know
// after its own death lies in the records of package taskdir, from which the next
// supervisor takes the tasks over. It pulls no images and knows no workloads.
package supervisor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/spare"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
)

// Main is the main function of a supervisor; args are the arguments after
// SupervisorArg, written by Backend. It returns the exit status. It does not return
// while there are tasks that nobody has told it to forget.
func Main(args []string) int {
	_ = os.Unsetenv(protocol.SupervisorEnv)
	if len(args) == 1 && args[0] == watchArg {
		return watchForks(os.Stdin)
	}
	// Small and quiet: it may be there for months with nothing to do.
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(256 << 20)
	ready := readyPipe()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pid", os.Getpid())
	k, err := newSupervisor(args, log)
	if err != nil {
		word := err.Error()
		if errors.Is(err, errBusy) {
			word = protocol.Busy
		} else {
			log.Error("cannot start", "err", err)
		}
		say(ready, word)
		return 1
	}
	if err := k.open(); err != nil {
		k.groups.Leave()
		log.Error("cannot start", "err", err)
		say(ready, err.Error())
		return 1
	}
	say(ready, protocol.Ready)
	k.run()
	return 0
}

// readyPipe returns the pipe on which our starter waits, if there is one.
func readyPipe() *os.File {
	var st unix.Stat_t
	if err := unix.Fstat(3, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	unix.CloseOnExec(3)
	return os.NewFile(3, "ready")
}

func say(ready *os.File, word string) {
	if ready != nil {
		_, _ = fmt.Fprintln(ready, word) // the starter may have given up
		_ = ready.Close()
	}
}

var errBusy = errors.New("another supervisor has this directory")

func newSupervisor(args []string, log *slog.Logger) (*supervisor, error) {
	k := &supervisor{
		log: log, pid: os.Getpid(), exit: make(chan struct{}), args: args,
		tasks: map[core.TaskID]*task{}, pids: map[int]*task{}, helpers: map[int]chan unix.WaitStatus{}, strays: map[int]unix.WaitStatus{}, watchers: map[*protocol.Backlog]struct{}{}, peers: map[*peer]struct{}{},
	}
	fs := flag.NewFlagSet("supervisor", flag.ContinueOnError)
	fs.StringVar(&k.paths.Dir, "dir", "", "directory of the records")
	fs.StringVar(&k.paths.Logs, "logs", "", "directory of the output")
	fs.Int64Var(&k.reserve, "reserve", 0, "bytes that logs leave free")
	fs.DurationVar(&k.linger, "linger", 5*time.Second, "how long to stay without work")
	fs.StringVar(&k.boot, "boot", proc.BootID(), "name of this run of the machine")
	fs.BoolVar(&k.noGroup, "no-groups", false, "do without control groups")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(k.paths.Dir) || !filepath.IsAbs(k.paths.Logs) || fs.NArg() > 0 {
		return nil, fmt.Errorf("--dir %q and --logs %q must be absolute paths, and nothing else follow", k.paths.Dir, k.paths.Logs)
	}
	if err := os.MkdirAll(k.paths.Tasks(), 0o700); err != nil {
		return nil, err
	}
	lock, err := takeLock(k.paths.Lock())
	if err != nil {
		return nil, err
	}
	_ = lock.Truncate(0)
	_, _ = lock.WriteAt([]byte(strconv.Itoa(k.pid)+"\n"), 0)
	k.lock = lock
	return k, nil
}

// lockEnv hands the lock over exec: its descriptor. Between letting go and
// taking it again another supervisor could come in.
const lockEnv = "MUSTER_SUPERVISOR_LOCK"

func takeLock(path string) (*os.File, error) {
	inherited, err := strconv.Atoi(os.Getenv(lockEnv))
	_ = os.Unsetenv(lockEnv)
	if err == nil {
		unix.CloseOnExec(inherited)
		return os.NewFile(uintptr(inherited), path), nil
	}
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, errBusy
	}
	return lock, nil
}

// open makes the process fit, takes over what a former supervisor left, and listens.
func (k *supervisor) open() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		k.log.Warn("not a subreaper: daemons of tasks may escape", "err", err)
	}
	if err := os.MkdirAll(k.paths.Logs, 0o700); err != nil {
		return err
	}
	var err error
	if k.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	k.space = logfile.NewSpace(k.paths.Logs, k.reserve)
	if k.spares, err = spare.Open(k.paths.Spare()); err != nil {
		return err
	}
	if !k.noGroup {
		k.groups = cgroup.Find(taskdir.ShortName(k.paths.Dir), k.log)
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	if err := k.noteBoot(); err != nil {
		return err
	}
	if err := k.recover(); err != nil {
		return err
	}
	go k.reapLoop(children)
	_ = os.Remove(k.paths.Socket())
	if k.listen, err = protocol.Listen(k.paths.Dir); err != nil {
		return fmt.Errorf("listen on %s: %w", k.paths.Socket(), err)
	}
	return os.Chmod(k.paths.Socket(), 0o600)
}

// run serves until there has been nothing to do for a while.
func (k *supervisor) run() {
	k.emptyTrash()
	go k.acceptLoop()
	go k.guard()
	<-k.exit
	_ = k.listen.Close()
	_ = os.Remove(k.paths.Socket())
	forks.end()
	_ = k.spares.Close() // the next one looks, too
	k.groups.Leave()
}

// guard notices that somebody deleted our directory.
func (k *supervisor) guard() {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(k.paths.Lock())
	}
	if err != nil {
		k.log.Warn("cannot watch the lock: a deleted directory goes unnoticed", "err", err)
		return
	}
	for e := range w.Events {
		// Removal is told as a change of attributes while we hold the file open.
		if e.Has(fsnotify.Write) || taskdir.Exists(k.paths.Lock()) {
			continue
		}
		k.mu.Lock()
		k.orphaned = true
		k.checkIdle()
		k.mu.Unlock()
	}
}

func (k *supervisor) forget(ids []core.TaskID) error {
	var errs []error
	for _, id := range ids {
		k.mu.Lock()
		t := k.tasks[id]
		if t != nil && !t.ended {
			t = nil
		}
		k.mu.Unlock()
		if t == nil {
			continue
		}
		// The records go first: a task must not be forgotten and come back.
		if err := t.discard(); err != nil {
			errs = append(errs, err)
			continue
		}
		k.mu.Lock()
		delete(k.tasks, id)
		k.checkIdle()
		k.mu.Unlock()
	}
	return errors.Join(errs...)
}

// replace turns this process into another program without losing a child:
// the children stay ours over exec, the records tell the new program of them.
func (k *supervisor) replace(_ context.Context, argv []string) error {
	if len(argv) == 0 || !filepath.IsAbs(argv[0]) {
		return fmt.Errorf("replace: %q is not an absolute path of a program", argv)
	}
	k.mu.Lock()
	if k.leaving {
		k.mu.Unlock()
		return protocol.ErrLeaving
	}
	k.leaving = true
	k.mu.Unlock()
	k.starts.Wait()
	k.forking.Lock() // the reaper holds it no more, and no child is in between
	defer k.forking.Unlock()
	k.log.Info("replacing this supervisor", "argv", argv)
	lock := k.lock.Fd()
	_, _ = unix.FcntlInt(lock, unix.F_SETFD, 0)
	env := append(os.Environ(), protocol.SupervisorEnv+"=1", lockEnv+"="+strconv.Itoa(int(lock)))
	err := unix.Exec(argv[0], append(slices.Clone(argv), k.args...), env)
	unix.CloseOnExec(int(lock))
	k.mu.Lock()
	k.leaving = false
	k.mu.Unlock()
	return fmt.Errorf("replace this supervisor by %s: %w", argv[0], err)
}
