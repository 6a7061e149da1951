//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/rootfs"
)

// The parts of a container in its task's directory:
//
//	box/config.json  the configuration for the engine; exists only while it starts
//	box/root         where the file tree is mounted, in its own namespace
//	box/upper, work  what the task has changed in it
//	box/etc          resolv.conf, hosts and hostname of its own
//	box/state        the engine's own record
const (
	containerDir  = "box"
	engineLog     = "engine.log"
	pidFile       = "pid"
	containerName = "task" // each container has an engine state of its own, so that one name does
	consoleDir    = "console"
)

// engineArgs are the arguments that every call of the engine begins with.
func engineArgs(b *protocol.Container, dir, log string) []string {
	return []string{b.Engine, "--root", filepath.Join(dir, rootfs.StateDir), "--log", log, "--log-format", "json"}
}

// engineAttr has the engine run in the task's group, so that what it makes is
// in there from the beginning.
func (k *supervisor) engineAttr(dir, group string, files [3]int) (*syscall.ProcAttr, func(), error) {
	fd, err := unix.Open(group, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", group, err)
	}
	attr := &syscall.ProcAttr{
		Dir: dir, Env: []string{protocol.DefaultPath},
		Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])},
		Sys:   &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd, Setpgid: true},
	}
	return attr, func() { _ = unix.Close(fd) }, nil
}

// engineFailure is what the engine says about why it failed.
func engineFailure(what, log string, status unix.WaitStatus) error {
	text, _ := os.ReadFile(log)
	if explained := container.Explain(string(text)); explained != "" {
		return errors.New(explained)
	}
	if status.Signaled() {
		return fmt.Errorf("%s was ended by signal %d", what, status.Signal())
	}
	return fmt.Errorf("%s failed with code %d and does not say why", what, status.ExitStatus())
}

// readPID reads the file in which an engine leaves the pid of what it began.
func readPID(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s: %q is not a pid", path, data)
	}
	return pid, nil
}

// handOverWithin bounds the wait for the terminal that an engine has made.
const handOverWithin = 60 * time.Second

// console is where an engine hands over the terminal that it made.
type console struct {
	listen *net.UnixListener
	path   string // by which others can reach it, however long our directory's name is
	close  func()
}

func openConsole(dir string) (*console, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	// The engine changes its directory and its namespaces; this name stays right.
	path := fmt.Sprintf("/proc/%d/fd/%d/tty", os.Getpid(), d.Fd())
	_ = os.Remove(filepath.Join(dir, "tty"))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return &console{listen: l, path: path, close: func() {
		_ = l.Close()
		_ = d.Close()
		_ = os.RemoveAll(dir)
	}}, nil
}

// read returns the terminal that the engine has sent.
func (c *console) read() (int, error) {
	_ = c.listen.SetDeadline(time.Now().Add(handOverWithin))
	conn, err := c.listen.AcceptUnix()
	if err != nil {
		return -1, fmt.Errorf("the container engine hands over no terminal: %w", err)
	}
	defer func() { _ = conn.Close() }()
	fds, _, err := protocol.Receive(conn, make([]byte, 4096))
	if err != nil {
		return -1, fmt.Errorf("the container engine hands over no terminal: %w", err)
	}
	if len(fds) != 1 {
		protocol.CloseAll(fds)
		return -1, fmt.Errorf("the container engine hands over %d descriptors instead of a terminal", len(fds))
	}
	return fds[0], nil
}
