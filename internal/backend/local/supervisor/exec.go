//go:build linux

package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/protocol"
)

// lend answers a request with a message that carries file descriptors.
func (k *supervisor) lend(ctx context.Context, p *peer, q protocol.Request) error {
	if len(q.IDs) != 1 {
		return p.send(protocol.Reply{Serial: q.Serial, Err: "one task is needed"})
	}
	t := k.running(q.IDs[0])
	if t == nil {
		return p.send(protocol.Reply{Serial: q.Serial, Gone: true, Err: "it does not run"})
	}
	if q.Op == protocol.OpExec && q.Exec != nil {
		return k.exec(ctx, p, q, t)
	}
	fd, err := t.lendInput()
	if err != nil {
		return p.send(protocol.Reply{Serial: q.Serial, Err: err.Error()})
	}
	if fd < 0 {
		return p.send(protocol.Reply{Serial: q.Serial})
	}
	defer protocol.CloseAll([]int{fd})
	return p.sendWith(protocol.Reply{Serial: q.Serial, TTY: t.a.TTY}, []int{fd})
}

// exec runs a command beside a task for as long as the caller is there.
func (k *supervisor) exec(ctx context.Context, p *peer, q protocol.Request, t *task) error {
	fail := func(err error) error {
		var no *cannotRun
		return p.send(protocol.Reply{Serial: q.Serial, Err: err.Error(), NotRun: errors.As(err, &no)})
	}
	k.mu.Lock()
	t.execs++
	name := "exec-" + strconv.Itoa(k.pid) + "-" + strconv.Itoa(t.execs)
	k.mu.Unlock()
	c := &command{t: t, e: q.Exec}
	if t.group.V2 != "" {
		c.group.V2 = filepath.Join(t.group.V2, name)
		if err := os.Mkdir(c.group.V2, 0o755); err != nil {
			return p.send(protocol.Reply{Serial: q.Serial, Gone: true, Err: "it does not run any more"})
		}
		defer c.group.Remove()
	}
	var err error
	if t.container != nil {
		err = k.execInContainer(c, filepath.Join(t.dir, containerDir, name))
	} else {
		err = k.execBeside(c)
	}
	if err != nil {
		return fail(err)
	}
	if q.Exec.Size != nil && q.Exec.TTY {
		protocol.Resize(c.ours[0], *q.Exec.Size)
	}
	err = p.sendWith(protocol.Reply{Serial: q.Serial}, c.ours)
	protocol.CloseAll(c.ours)
	if err != nil {
		k.killCommand(c)
		return err
	}
	var status unix.WaitStatus
	select {
	case status = <-c.done:
	case <-ctx.Done():
		k.killCommand(c)
		return ctx.Err()
	}
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return p.send(protocol.Reply{Serial: q.Serial, Exit: &code})
}

// command is one that runs beside a task.
type command struct {
	t     *task
	e     *protocol.Exec
	group cgroup.Group
	pid   int
	done  <-chan unix.WaitStatus
	ours  []int
}

// killCommand ends a command with everything that it began, and waits for it.
func (k *supervisor) killCommand(c *command) {
	for wait := time.Millisecond; ; wait = min(wait*2, time.Second) {
		if c.group.V2 != "" {
			c.group.Kill()
		}
		for _, pid := range descendants(k.processes.At(time.Now()), c.pid) {
			proc.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-c.done:
			return
		case <-time.After(wait):
		}
	}
}

// descendants are a process, its session and all their children.
func descendants(procs []proc.Process, pid int) []int {
	in := map[int]bool{pid: true}
	for grew := true; grew; {
		grew = false
		for _, p := range procs {
			if !in[p.PID] && (in[p.Parent] || p.Session == pid) {
				in[p.PID], grew = true, true
			}
		}
	}
	pids := make([]int, 0, len(in))
	for pid := range in {
		pids = append(pids, pid)
	}
	return pids
}

// nowEnv is the environment that the task's command was started with, after
// any prelude, with more on top. In the middle of becoming another program a
// process has none, or the engine's; some programs write over theirs.
func nowEnv(t *task, e *protocol.Exec) ([]string, error) {
	env := []string{protocol.DefaultPath}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", t.pid))
		if err != nil {
			return nil, fmt.Errorf("the environment of the task cannot be read: %w", err)
		}
		if bytes.Contains(data, []byte(proc.TaskDirEnv+"="+t.dir+"\x00")) || time.Since(begun) > 2*time.Second {
			for entry := range bytes.SplitSeq(data, []byte{0}) {
				env = append(env, string(entry))
			}
			break
		}
	}
	env = append(env, proc.TaskDirEnv+"="+t.dir)
	if e.TTY {
		env = append(env, "TERM=xterm")
	}
	return lastOf(append(env, e.Env...)), nil
}

// execBeside runs a command of the machine as the task's would be.
func (k *supervisor) execBeside(c *command) error {
	env, err := nowEnv(c.t, c.e)
	if err != nil {
		return err
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", c.t.pid))
	if err != nil {
		return fmt.Errorf("the directory of the task cannot be found: %w", err)
	}
	path := ""
	err = withRights(c.t.as, func() error {
		path, err = lookPath(c.e.Argv, dir, env)
		return err
	})
	if err != nil {
		return err
	}
	argv := c.e.Argv
	if path, argv, err = limited(c.t.as, path, argv); err != nil {
		return err
	}
	s, err := openStreams(c.e)
	if err != nil {
		return err
	}
	a := c.t.a
	sys := &syscall.SysProcAttr{Setsid: true, Setctty: c.e.TTY, Credential: c.t.credential()}
	if c.e.TTY && sys.Credential != nil {
		_ = unix.Fchown(s.child[0], int(sys.Credential.Uid), int(sys.Credential.Gid))
	}
	if c.group.V2 != "" {
		fd, err := unix.Open(c.group.V2, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			s.close()
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		sys.UseCgroupFD, sys.CgroupFD = true, fd
	}
	attr := &syscall.ProcAttr{Dir: dir, Env: env, Sys: sys, Files: []uintptr{uintptr(s.child[0]), uintptr(s.child[1]), uintptr(s.child[2])}}
	c.pid, c.done, err = k.forkAs(func() (int, error) { return forkIn(c.t.group.Memory, k.groups.V1Home, c.t.as, path, argv, attr) })
	protocol.CloseAll(s.child[:])
	if err != nil {
		protocol.CloseAll(s.ours)
		return explainExec(err, path, a)
	}
	level(c.t.as, c.pid)
	c.ours = s.ours
	return nil
}

// execInContainer has the engine run a command in the task's container. dir is for
// what the engine needs meanwhile.
func (k *supervisor) execInContainer(c *command, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeProcess(c, filepath.Join(dir, "process.json")); err != nil {
		return err
	}
	log := filepath.Join(dir, engineLog)
	argv := append(engineArgs(c.t.container, filepath.Join(c.t.dir, containerDir), log), "exec", "--detach",
		"--process", filepath.Join(dir, "process.json"), "--pid-file", filepath.Join(dir, pidFile))
	var s streams
	files := [3]int{int(k.null.Fd()), int(k.null.Fd()), int(k.null.Fd())}
	var con *console
	var err error
	if c.e.TTY {
		if con, err = openConsole(filepath.Join(dir, consoleDir)); err != nil {
			return err
		}
		defer con.close()
		argv = append(argv, "--console-socket", con.path)
		s.child = [3]int{-1, -1, -1}
	} else if s, err = openStreams(c.e); err != nil {
		return err
	} else {
		files = s.child
	}
	attr, release, err := k.engineAttr(dir, c.group.V2, files)
	if err != nil {
		s.close()
		return err
	}
	defer release()
	k.claim()
	_, ended, err := k.fork(argv[0], append(argv, containerName), attr)
	protocol.CloseAll(s.child[:])
	if err == nil {
		if status := <-ended; status != 0 {
			if err = engineFailure("the command", log, status); k.running(c.t.id) != nil { // the container is there, so it is the command
				err = &cannotRun{text: err.Error()}
			}
		}
	}
	if err == nil && con != nil {
		var master int
		if master, err = con.read(); err == nil {
			s.ours = []int{master}
		}
	}
	if err == nil {
		c.pid, err = readPID(filepath.Join(dir, pidFile))
	}
	c.done = k.claimed(c.pid)
	if err != nil {
		protocol.CloseAll(s.ours)
		return err
	}
	c.ours = s.ours
	return nil
}

// writeProcess tells the engine of a command: as the task's own, where it is now.
func writeProcess(c *command, path string) error {
	env, err := nowEnv(c.t, c.e)
	if err != nil {
		return err
	}
	in := container.Input{Argv: c.e.Argv, Env: env, Terminal: c.e.TTY, Capabilities: proc.Capabilities(), OpenFiles: proc.OpenFilesLimit()}
	if in.User, err = c.t.userInside(); err != nil {
		return err
	}
	if unprivileged(c.t.as) {
		in.Capabilities = nil
	}
	if in.Dir, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", c.t.pid)); err != nil {
		return err
	}
	if c.t.as != nil {
		limitInside(c.t.as, &in)
		beginInside(c.t.pid, &in)
	}
	data, err := json.Marshal(container.Process(in))
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// userOf is who a process runs as.
func userOf(pid int) (u container.User, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	numbers := func(key string) (ids []uint32) {
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, key); ok {
				for _, f := range strings.Fields(rest) {
					n, _ := strconv.ParseUint(f, 10, 32)
					ids = append(ids, uint32(n))
				}
			}
		}
		return ids
	}
	uids, gids := numbers("Uid:"), numbers("Gid:")
	if len(uids) == 0 || len(gids) == 0 {
		return u, fmt.Errorf("/proc/%d/status has no ids", pid)
	}
	u.UID, u.GID = uids[0], gids[0]
	u.Groups = slices.DeleteFunc(numbers("Groups:"), func(g uint32) bool { return g == u.GID })
	return u, nil
}
