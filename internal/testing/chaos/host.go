//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/client"
)

// within bounds whatever must come to an end by itself. It says nothing of
// speed: a machine that is very busy keeps to it.
const within = 60 * time.Second

// host is a data directory with the server and the supervisor that live in it.
type host struct {
	program string
	data    string
	log     string // what servers say, outside of data
	boot    string // file with the boot id that they see; empty: the machine's own
	conn    *client.Client

	mu  sync.Mutex
	cmd *exec.Cmd // the server; nil: there is none
}

// start starts a server and waits for its first answer. It returns how long
// that took.
func (h *host) start(ctx context.Context) (time.Duration, error) {
	log, err := os.OpenFile(h.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	argv := []string{h.program, "server", "--data-dir", h.data, "--fake-gpus", strconv.Itoa(devices)}
	if h.boot != "" {
		// A file system of its own is not needed, only its own view of one file.
		argv = append([]string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"`, h.boot}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	h.mu.Lock()
	h.cmd = cmd
	h.mu.Unlock()
	for {
		if err = h.conn.Ready(ctx); err == nil {
			return time.Since(begun), nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if ended(cmd.Process.Pid) {
			return 0, fmt.Errorf("the server ended while it started: %w", err)
		}
		if time.Since(begun) > within {
			return time.Since(begun), fmt.Errorf("the server does not answer %v after its start: %w", within, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// devices is how many GPUs there are.
const devices = 8

// signal sends a signal to the server.
func (h *host) signal(sig syscall.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd != nil {
		_ = h.cmd.Process.Signal(sig)
	}
}

// server is the process of the server; 0: there is none.
func (h *host) server() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return 0
	}
	return h.cmd.Process.Pid
}

// gone waits until the server has ended.
func (h *host) gone() error {
	h.mu.Lock()
	cmd := h.cmd
	h.cmd = nil
	h.mu.Unlock()
	if cmd == nil {
		return nil
	}
	timer := time.AfterFunc(within, func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // it says in its log where it stands
		time.AfterFunc(within, func() { _ = cmd.Process.Kill() })
	})
	err := cmd.Wait()
	if !timer.Stop() {
		return fmt.Errorf("the server did not end within %v of SIGTERM", within)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return fmt.Errorf("the server ended by itself: %w", err)
	}
	return nil
}

// supervisor is the process that was started to be the supervisor of the data directory;
// 0: there is none. Its lock would tell too, but not without the disk.
func (h *host) supervisor() int {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	own := filepath.Join(h.data, "local")
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/cmdline")
		argv := strings.Split(string(text), "\x00")
		if err == nil && slices.Contains(argv, "__supervisor") && slices.Contains(argv, own) && !ended(pid) && !onItsWay(pid) {
			return pid
		}
	}
	return 0
}

// onItsWay says whether a process was forked and has not come to a program of its
// own: until then it goes by the name of who forked it, which has many threads.
func onItsWay(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) == 1
}

// killSupervisor ends the supervisor by force and waits until it is gone; false: there
// was none.
func (h *host) killSupervisor() bool {
	pid := h.supervisor()
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return false
	}
	return waitFor(within, func() bool { return ended(pid) })
}

// waitFor waits until cond holds.
func waitFor(long time.Duration, cond func() bool) bool {
	for begun := time.Now(); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > long {
			return false
		}
	}
	return true
}
