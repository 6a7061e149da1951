//go:build linux

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/protocol"
)

const (
	// startWithin bounds the start of a supervisor, which first takes over all
	// tasks of the former one.
	startWithin = 60 * time.Second
	// maxJournal is the size from which supervisor.log begins anew.
	maxJournal = 4 << 20
)

// errNoSupervisor says that none runs and that none is needed.
var errNoSupervisor = errors.New("no supervisor runs, and there are no tasks")

// connect returns the living connection, makes one, or starts a supervisor. With
// need false it does not start one only to hear that there are no tasks.
func (p *Backend) connect(ctx context.Context, need bool) (*client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("local backend: closed: %w", backend.ErrUnreachable)
	}
	if p.link != nil && p.link.alive() {
		return p.link, nil
	}
	begun := time.Now()
	for wait := time.Millisecond; ; wait = min(wait*2, 100*time.Millisecond) {
		c, err := newClient(ctx, p.paths.Dir)
		if err == nil && c.version != protocol.Version {
			err = p.modernize(ctx, c)
		}
		if err == nil {
			p.link = c
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !need && !p.hasRecords() {
			return nil, errNoSupervisor
		}
		ready, lerr := p.launch(ctx)
		if lerr != nil {
			return nil, fmt.Errorf("%w: %w", backend.ErrUnreachable, lerr)
		}
		if time.Since(begun) > startWithin {
			return nil, fmt.Errorf("%w: a supervisor holds %s but does not answer: %w; see %s", backend.ErrUnreachable, p.paths.Lock(), err, p.paths.Journal())
		}
		if ready {
			continue
		}
		select { // another supervisor is on its way in or out
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// hasRecords reports whether a supervisor, past or present, has tasks here.
func (p *Backend) hasRecords() bool {
	names, err := os.ReadDir(p.paths.Tasks())
	return len(names) > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
}

// modernize has a supervisor of another version become ours, tasks and all.
func (p *Backend) modernize(ctx context.Context, c *client) error {
	self := fmt.Sprintf("/proc/%d/exe", os.Getpid()) // /proc/self would be the supervisor's own
	argv := append([]string{}, p.opts.Exe...)
	if argv[0] == "/proc/self/exe" {
		argv[0] = self
	}
	_, err := c.call(ctx, protocol.Request{Op: protocol.OpReplace, Argv: argv})
	c.close(errBroken)
	var no *refusal
	if errors.As(err, &no) {
		return fmt.Errorf("the supervisor (pid %d, protocol %d) cannot be replaced by this one's (protocol %d): %w", c.supervisor, c.version, protocol.Version, err)
	}
	return errBroken // as it should be: connect again
}

// launch starts a supervisor and waits until it listens. It returns false when
// another one has the directory.
func (p *Backend) launch(ctx context.Context) (ready bool, err error) {
	if err := os.MkdirAll(p.paths.Dir, 0o700); err != nil {
		return false, err
	}
	journal, err := openJournal(p.paths.Journal())
	if err != nil {
		return false, err
	}
	defer func() { _ = journal.Close() }()
	r, w, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }()
	args := append(p.opts.Exe[1:len(p.opts.Exe):len(p.opts.Exe)], "--dir", p.paths.Dir, "--logs", p.paths.Logs,
		"--reserve", strconv.FormatInt(p.opts.LogReserve, 10), "--linger", p.opts.Linger.String())
	cmd := exec.Command(p.opts.Exe[0], args...)
	cmd.Dir = "/" // it must not keep a file system busy
	cmd.Env = append(os.Environ(), protocol.SupervisorEnv+"=1")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = journal, journal, []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return false, fmt.Errorf("start a supervisor: %w", err)
	}
	go func() { _ = cmd.Wait() }() // it outlives us, or we reap it
	_ = r.SetReadDeadline(time.Now().Add(startWithin))
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	word, err := bufio.NewReader(r).ReadString('\n')
	switch word = strings.TrimSpace(word); {
	case word == protocol.Ready, word == protocol.Busy:
		return word == protocol.Ready, nil
	case word != "":
		return false, fmt.Errorf("the supervisor could not start: %s", word)
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	return false, fmt.Errorf("the supervisor %q did not come up (%w); see %s, and that main calls supervisor.Main first", p.opts.Exe, err, p.paths.Journal())
}

func openJournal(path string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if st, err := os.Stat(path); err == nil && st.Size() > maxJournal {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags|unix.O_CLOEXEC, 0o600)
}
