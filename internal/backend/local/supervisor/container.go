//go:build linux

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/rootfs"
)

// launchContainer starts a container. The engine makes it and leaves; its first
// process is then our child like any other, waits for our word before it
// becomes the command, and is on record before it gets that word. So a supervisor
// that dies leaves either nothing that ever ran or a task that is known.
func (t *task) launchContainer(a backend.Assignment, note string) error {
	k := t.supervisor
	dir := filepath.Join(t.dir, containerDir)
	// 1. What it is made of.
	in, err := t.openInputs()
	if err != nil {
		return err
	}
	defer in.closeTaskEnds()
	for _, d := range []string{rootfs.RootDir, rootfs.UpperDir, rootfs.WorkDir, rootfs.EtcDir, rootfs.StateDir} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	// 2. The engine makes it, in a file tree that only it sees.
	pid, terminal, more, err := t.createContainer(a, dir, in)
	_ = os.Remove(filepath.Join(dir, "config.json")) // it has the environment in it
	if err != nil {
		return t.notCreated(err)
	}
	if terminal >= 0 {
		in.keep = terminal
	}
	if more != "" && note != "" {
		more = "; " + more
	}
	// 3. On record, and ours.
	s, err := proc.ReadStat(pid)
	if err != nil {
		return t.notCreated(fmt.Errorf("the container's first process is gone: %w", err))
	}
	if err := k.groups.Adopt(t.group, pid); err != nil {
		return t.notCreated(fmt.Errorf("the container is in no control group of the task: %w", err))
	}
	now := time.Now()
	engine, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err := taskdir.Write(t.dir, taskdir.StateRecord, taskdir.Forked{PID: pid, Start: s.Start, At: now, Note: note + more, Engine: engine}); err != nil {
		return t.notCreated(err) // a later supervisor would take it for one that never ran
	}
	if err := t.hold(in.keep); err != nil {
		return t.notCreated(err)
	}
	k.mu.Lock()
	if !t.deadline.IsZero() { // from here on who asks for its end asks the command
		k.mu.Unlock()
		return t.notCreated(errStopped)
	}
	t.pid, t.start, t.engine = pid, s.Start, engine
	t.begun(now, note+more)
	k.pids[pid] = t
	if !t.exited { // told before the word is given, or a short command would never have been seen to run
		k.publish(t.obs)
	}
	k.mu.Unlock()
	// 4. The word.
	if err := t.release(); err != nil {
		k.log.Warn("a container ended before its command", "task", t.id, "err", err)
	}
	return nil
}

// createContainer has the engine make the container. note says what the user should
// know; terminal is -1 without one.
func (t *task) createContainer(a backend.Assignment, dir string, in inputs) (pid, terminal int, note string, err error) {
	var c *console
	extra := []string{}
	if a.TTY {
		if c, err = openConsole(filepath.Join(dir, consoleDir)); err != nil {
			return 0, -1, "", err
		}
		defer c.close()
		extra = []string{"--console-socket", c.path}
	}
	var ended <-chan unix.WaitStatus
	log := filepath.Join(dir, engineLog)
	err = rootfs.Mounted(lowerLayers(t.container, dir), dir, func(root int) error {
		made, err := t.compose(a, dir, root)
		if err != nil {
			return err
		}
		note = made.note
		data, err := json.Marshal(made.spec)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600); err != nil {
			return err
		}
		argv := append(engineArgs(t.container, dir, log), "create", "--bundle", dir, "--pid-file", filepath.Join(dir, pidFile))
		ended, err = t.forkEngine(append(append(argv, extra...), containerName), dir, in)
		return err
	})
	if err != nil {
		return 0, -1, "", lasting(t.container.Image.Ref, err)
	}
	if status := <-ended; status != 0 {
		failure := engineFailure("the container engine", log, status)
		if status.Signaled() && status.Signal() == unix.SIGKILL && !(t.limited && t.group.OOMKilled()) {
			return 0, -1, "", fmt.Errorf("image %s: %w", t.container.Image.Ref, failure) // by somebody; that says nothing of the next try
		}
		return 0, -1, "", &cannotRun{text: fmt.Sprintf("image %s: %v", t.container.Image.Ref, failure)}
	}
	terminal = -1
	if c != nil {
		if terminal, err = c.read(); err != nil {
			return 0, -1, "", err
		}
	}
	pid, err = readPID(filepath.Join(dir, pidFile))
	return pid, terminal, note, err
}

// lasting makes a failure that a second try would only repeat into one that is
// told; what the machine lacks at the moment is tried again.
func lasting(ref string, err error) error {
	var no *cannotRun
	short := slices.ContainsFunc([]error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ENOSPC, unix.EDQUOT}, func(e error) bool {
		return errors.Is(err, e)
	})
	if short || errors.As(err, &no) {
		return err
	}
	return &cannotRun{text: fmt.Sprintf("this machine cannot make a container of image %s: %v", ref, err)}
}

// lowerLayers is never empty: an overlay needs one.
func lowerLayers(b *protocol.Container, dir string) []string {
	if len(b.Image.Layers) > 0 {
		return b.Image.Layers
	}
	return []string{filepath.Join(dir, rootfs.EtcDir)} // an image of nothing
}

func (t *task) forkEngine(argv []string, dir string, in inputs) (<-chan unix.WaitStatus, error) {
	k := t.supervisor
	out, err := unix.Open(filepath.Join(t.dir, taskdir.FifoFile), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the FIFO: %w", err)
	}
	defer func() { _ = unix.Close(out) }()
	stdin := in.stdin
	if stdin < 0 {
		stdin = int(k.null.Fd())
	}
	files := [3]int{stdin, out, out}
	if t.a.TTY {
		files = [3]int{stdin, int(k.null.Fd()), int(k.null.Fd())}
	}
	group, err := t.group.EngineDir()
	if err != nil {
		return nil, err
	}
	attr, release, err := k.engineAttr(dir, group, files)
	if err != nil {
		return nil, err
	}
	defer release()
	_, ended, err := k.fork(argv[0], argv, attr)
	if err != nil {
		return nil, fmt.Errorf("run the container engine %s: %w", argv[0], err)
	}
	return ended, nil
}

// notCreated ends what there may be of a container that never ran its command,
// and tells a stop from a failure.
func (t *task) notCreated(err error) error {
	k := t.supervisor
	k.mu.Lock()
	asked := !t.deadline.IsZero()
	t.exited = true // nothing will be signalled any more
	k.mu.Unlock()
	t.killTree()
	t.closeInput()
	t.discardOutput() // it is in the message
	_ = os.RemoveAll(filepath.Join(t.dir, containerDir))
	if asked {
		return errStopped
	}
	return err
}

// discardOutput takes out of the log what the engine wrote for a container whose command
// never ran.
func (t *task) discardOutput() {
	k := t.supervisor
	if t.container != nil && t.out != nil {
		t.out.finish("")
		t.out.discard(k.paths.Log(t.id))
		t.out = nil
	}
}

// release lets a container that was created become its command: it waits in
// the opening of a FIFO, as OCI runtimes have it. Another process reads from it:
// a reader that died with its supervisor would break the pipe and the container. An
// engine without that FIFO is asked to start it.
func (t *task) release() error {
	k := t.supervisor
	dir := filepath.Join(t.dir, containerDir)
	fifo := execFIFO(t)
	cat, err := exec.LookPath("cat")
	if !taskdir.Exists(fifo) || err != nil {
		return t.startByEngine(dir)
	}
	group, err := t.group.EngineDir()
	if err != nil {
		return err
	}
	null := int(k.null.Fd())
	attr, done, err := k.engineAttr(dir, group, [3]int{null, null, null})
	if err != nil {
		return err
	}
	defer done()
	pid, ended, err := k.fork(cat, []string{"cat", fifo}, attr)
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return os.Remove(fifo)
		case <-tick.C:
		}
		if !proc.Alive(t.pid, t.start) || t.isCommand() { // a former supervisor's reader was first
			proc.Kill(pid, unix.SIGKILL)
		}
	}
}

func (t *task) startByEngine(dir string) error {
	k := t.supervisor
	group, err := t.group.EngineDir()
	if err != nil {
		return err
	}
	null := int(k.null.Fd())
	attr, release, err := k.engineAttr(dir, group, [3]int{null, null, null})
	if err != nil {
		return err
	}
	defer release()
	log := filepath.Join(dir, engineLog)
	argv := append(engineArgs(t.container, dir, log), "start", containerName)
	_, ended, err := k.fork(argv[0], argv, attr)
	if err != nil {
		return err
	}
	if status := <-ended; status != 0 {
		return engineFailure("the start of the container", log, status)
	}
	return nil
}

// adoptContainer takes over a container whose supervisor died before it was on record:
// its command never ran, so it is as if it had never been asked for; unless
// somebody has told it to end, or does before it is gone, who hears that it did.
func (t *task) adoptContainer() {
	t.killTree()
	t.discardOutput()
	if !t.undo() {
		t.neverBegan()
	}
}

// neverBegan ends what was told to end before a former supervisor had begun it, or
// had given it the word if it is a container.
func (t *task) neverBegan() {
	k := t.supervisor
	k.mu.Lock()
	t.exited = true
	k.mu.Unlock()
	t.killTree()
	t.recordExit(backend.Observation{ID: t.id, State: core.TaskFailed, Reason: string(errStopped.reason), Message: errStopped.text, At: time.Now()})
}

// releaseAdopted gives a container its word where a former supervisor died between
// the record and the word.
func (t *task) releaseAdopted() {
	k := t.supervisor
	if t.isCommand() || !proc.Alive(t.pid, t.start) {
		return
	}
	if err := t.release(); err != nil {
		k.log.Warn("a container ended before its command", "task", t.id, "err", err)
	}
}
