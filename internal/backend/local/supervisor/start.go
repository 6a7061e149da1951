//go:build linux

package supervisor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/gpu"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/spare"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

var (
	errGone = os.ErrNotExist
	errLeft = errors.New("who asked for it had left when another server came")
)

// entry is a task that was asked for, on its way into the table.
type entry struct {
	protocol.Job
	task *task // nil: it is there already, or is not in the table yet
	from *peer // who asked
	err  error
	late bool // it cannot be in the table before what had its name is taken away
}

// enter puts tasks into the table, all at once and before anything else is read
// from whoever asked: from here on they are seen, and can be told to end. Who had
// left when another came gets nothing any more: that one was told what there is.
func (k *supervisor) enter(jobs []protocol.Job, from *peer) []*entry {
	all := make([]*entry, len(jobs))
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, j := range jobs {
		all[i] = &entry{Job: j, from: from}
		k.enterOne(all[i])
	}
	k.checkIdle()
	return all
}

// enterOne is enter of one; mu is held.
func (k *supervisor) enterOne(e *entry) {
	a := e.Assignment
	old := k.tasks[a.ID]
	e.late = old != nil && old.undone != nil
	if e.err = taskdir.CheckTask(a.ID); e.err != nil || e.late {
		return
	}
	switch {
	case e.from.left:
		e.err = errLeft
	case k.leaving:
		e.err = protocol.ErrLeaving
	case old == nil:
		t := &task{supervisor: k, id: a.ID, dir: k.paths.Task(a.ID), a: public(a), container: e.Container, as: e.As, input: -1, limited: a.Memory > 0}
		t.private = t.dir
		t.obs = starting(t, time.Now())
		k.tasks[a.ID], e.task = t, t
		k.starts.Add(1)
	}
}

// startOne brings one task up. An error means that nothing was started and
// nothing is kept: the caller may ask again.
func (k *supervisor) startOne(e *entry) error {
	for e.late { // to say that it is there would be wrong in a moment
		k.mu.Lock()
		old := k.tasks[e.Assignment.ID]
		if old == nil || old.undone == nil {
			k.enterOne(e)
		}
		k.mu.Unlock()
		if e.late {
			<-old.undone
		}
	}
	if e.err != nil || e.task == nil {
		return e.err
	}
	defer k.starts.Done()
	t, a := e.task, e.Assignment

	if e.Refused != "" {
		if err := taskdir.MakeDir(t.dir); err != nil && t.undo() {
			return fmt.Errorf("start task %s: %w", a.ID, err)
		}
		t.refuse(&cannotRun{text: e.Refused})
		return nil
	}
	// 1. Everything that the process needs, and the record that it may exist.
	a, part := gpu.Limit(a)
	private, err := t.privatePlace(a)
	note := ""
	if err == nil {
		t.private = private
		a = withSteps(a, stagePath(t))
		note, err = t.prepare(a)
	}
	if note != "" && part != "" {
		note += "; "
	}
	note += part
	// 2. The process, and the record that it does.
	switch {
	case err != nil:
	case t.container != nil:
		err = t.launchContainer(a, note)
	default:
		err = t.launch(a, note)
	}
	var no *cannotRun
	if errors.As(err, &no) {
		t.refuse(no)
		return nil
	}
	if err != nil && !t.undo() {
		t.refuse(errStopped)
		return nil
	}
	if err != nil {
		return fmt.Errorf("start task %s: %w", a.ID, err)
	}
	// 3. Who asked for its end meanwhile gets it.
	t.enforceStop(true, time.Now())
	return nil
}

// prepare makes the task's directory, output, group and private files.
func (t *task) prepare(a backend.Assignment) (note string, err error) {
	k := t.supervisor
	if !k.spares.Take(spare.Dir, t.dir) {
		if err := taskdir.MakeDir(t.dir); err != nil {
			return "", err
		}
	}
	if err := taskdir.MakeDir(k.paths.LogsOf(t.id.Workload)); err != nil {
		return "", err
	}
	if t.group, note, err = k.groups.Make(taskdir.Name(t.id), a.Memory, a.CPU); err != nil {
		return "", err
	}
	owner := a
	if t.container != nil {
		err := k.groups.PrepareContainer(&t.group, taskdir.Name(t.id))
		if errors.Is(err, cgroup.ErrNoV2) {
			err = &cannotRun{text: err.Error()}
		}
		if err != nil {
			return "", err
		}
		owner.UID, owner.GID = nil, nil // the image says who that is
	}
	if err := makeFiles(k.spares, t.private, owner); err != nil {
		return "", err
	}
	if err := writePrelude(t.private, owner); err != nil {
		return "", err
	}
	if err := writeStage(t.private, owner); err != nil {
		return "", err
	}
	if err := makeFIFO(k.spares, filepath.Join(t.dir, taskdir.FifoFile), a.UID, a.GID); err != nil {
		return "", err
	}
	if !a.TTY { // a terminal has its own way to the log
		if t.out, err = t.openOutput(); err != nil {
			return "", err
		}
	}
	rec := taskdir.Assigned{Assignment: t.a, Container: t.container, As: t.as, Boot: k.boot, Group: t.group, Private: t.elsewhere(), At: t.obs.At}
	if t.out != nil {
		rec.Log = t.out.begun
	}
	k.spares.Take(spare.File, filepath.Join(t.dir, taskdir.RecordFile))
	return note, taskdir.WriteSynced(t.dir, taskdir.AssignmentRecord, rec)
}

func makeFiles(spares *spare.Pool, dir string, a backend.Assignment) error {
	if len(a.Files) == 0 {
		return nil
	}
	private := filepath.Join(dir, taskdir.FilesDir)
	if !spares.Take(spare.Dir, private) {
		if err := os.MkdirAll(private, 0o700); err != nil {
			return err
		}
	}
	for _, f := range a.Files {
		if f.Name == "" || f.Name != filepath.Base(f.Name) || f.Name == "." || f.Name == ".." {
			return &cannotRun{text: fmt.Sprintf("private file %q: the name must be a plain file name", f.Name)}
		}
		spares.Take(spare.File, filepath.Join(private, f.Name))
		if err := os.WriteFile(filepath.Join(private, f.Name), f.Data, 0o600); err != nil {
			return err
		}
		if err := giveTo(filepath.Join(private, f.Name), a.UID, a.GID); err != nil {
			return err
		}
	}
	return giveTo(private, a.UID, a.GID)
}

// launch forks. Between the fork and its record only the marker in the
// environment tells of the process, and recovery looks for it.
func (t *task) launch(a backend.Assignment, note string) error {
	k := t.supervisor
	env := taskEnv(a.Env, t.dir, a, func(f backend.File) string { return filepath.Join(t.private, taskdir.FilesDir, f.Name) })
	argv := a.Argv
	if len(a.Prelude) > 0 && len(argv) > 0 {
		argv = withPrelude(filepath.Join(t.private, preludeFile), argv)
	}
	path, err := "", error(nil)
	err = withRights(t.as, func() error {
		if err := checkWorkdir(a.Workdir); err != nil {
			return err
		}
		if err := checkMounts(a); err != nil {
			return err
		}
		path, err = lookPath(argv, a.Workdir, env)
		return err
	})
	if err != nil {
		return err
	}
	if path, argv, err = limited(t.as, path, argv); err != nil {
		return err
	}
	in, err := t.openInputs()
	if err != nil {
		return err
	}
	defer in.closeTaskEnds()
	attr, release, err := t.attributes(a, env, in)
	if err != nil {
		protocol.CloseAll([]int{in.keep})
		return err
	}
	defer release()
	if t.asked() {
		protocol.CloseAll([]int{in.keep})
		return errStopped
	}
	k.forking.RLock()
	defer k.forking.RUnlock()
	pid, err := forkIn(t.group.Memory, k.groups.V1Home, t.as, path, argv, attr)
	if err != nil {
		protocol.CloseAll([]int{in.keep})
		return explainExec(err, path, a)
	}
	level(t.as, pid)
	s, err := proc.ReadStat(pid) // a zombie at worst: it is not reaped before we let go of forking
	if err != nil {
		k.log.Warn("cannot read the start time", "task", t.id, "pid", pid, "err", err)
	}
	now := time.Now()
	if err := taskdir.Write(t.dir, taskdir.StateRecord, taskdir.Forked{PID: pid, Start: s.Start, At: now, Note: note}); err != nil {
		k.log.Warn("cannot record the process", "task", t.id, "pid", pid, "err", err)
	}
	if err := t.hold(in.keep); err != nil { // before its end can be noticed
		k.log.Error("the task's terminal or input is out of reach", "task", t.id, "err", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t.pid, t.start = pid, s.Start
	t.begun(now, note)
	k.pids[pid] = t
	k.publish(t.obs)
	return nil
}

// attributes opens what the child inherits; release closes our side of it.
// The descriptors are raw: package os would make the FIFO non-blocking, for
// the child too.
func (t *task) attributes(a backend.Assignment, env []string, in inputs) (*syscall.ProcAttr, func(), error) {
	k := t.supervisor
	out, err := unix.Open(filepath.Join(t.dir, taskdir.FifoFile), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open the FIFO: %w", err)
	}
	release := func() { _ = unix.Close(out) }
	sys := &syscall.SysProcAttr{Setsid: true, Credential: t.credential()}
	if t.group.V2 != "" {
		dir, err := unix.Open(t.group.V2, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("open %s: %w", t.group.V2, err)
		}
		release = func() { _ = unix.Close(out); _ = unix.Close(dir) }
		sys.UseCgroupFD, sys.CgroupFD = true, dir
	}
	files := []uintptr{k.null.Fd(), uintptr(out), uintptr(out)}
	switch {
	case in.slave >= 0:
		files = []uintptr{uintptr(in.slave), uintptr(in.slave), uintptr(in.slave)}
		sys.Setctty = true // descriptor 0
	case in.stdin >= 0:
		files[0] = uintptr(in.stdin)
	}
	return &syscall.ProcAttr{Dir: a.Workdir, Env: env, Sys: sys, Files: files}, release, nil
}

// refuse makes an observation of what can never run.
func (t *task) refuse(why *cannotRun) {
	k := t.supervisor
	obs := backend.Observation{
		ID: t.id, State: core.TaskFailed, Message: why.text, At: time.Now(),
		Reason: string(cmp.Or(why.reason, lifecycle.ReasonContainerCannot)),
	}
	if err := taskdir.Write(t.dir, taskdir.ExitRecord, obs); err != nil {
		k.log.Error("cannot record the end", "task", t.id, "err", err)
	}
	k.mu.Lock()
	t.exited = true
	k.mu.Unlock()
	t.finish(obs)
	removeEmpty(k.paths.Log(t.id)) // it never began to write
}

// undo removes all traces of a task that was not started. It returns false where
// somebody has told it to end, who is to see that it did.
func (t *task) undo() bool {
	k := t.supervisor
	k.mu.Lock()
	asked := !t.deadline.IsZero()
	if !asked {
		t.exited, t.undone = true, make(chan struct{})
	}
	k.mu.Unlock()
	if asked {
		return false
	}
	if t.out != nil {
		t.out.finish("")
	}
	t.group.Remove()
	t.clearPrivate()
	removeEmpty(k.paths.Log(t.id))
	if err := taskdir.Remove(t.dir); err != nil {
		k.log.Error("cannot remove the records of a task that was not started", "task", t.id, "err", err)
	}
	k.mu.Lock()
	delete(k.tasks, t.id)
	close(t.undone)
	k.checkIdle()
	k.mu.Unlock()
	return true
}

func removeEmpty(path string) {
	if st, err := os.Stat(path); err == nil && st.Size() == 0 {
		_ = os.Remove(path)
	}
}

// public is what may be kept of an assignment: the rest may be secrets.
func public(a backend.Assignment) backend.Assignment {
	a.Env, a.Files, a.Prelude, a.Credentials = nil, nil, nil, nil
	return a
}
