//go:build linux

package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
)

var _ backend.Enterer = (*Backend)(nil)

// drainExec is how long the end of a command waits for output from what it has
// left behind.
const drainExec = time.Second

// Exec implements backend.Enterer. The command belongs to the task: what it
// leaves behind ends with the task at the latest. After it returns, one Read of
// Stdin may still be under way.
func (p *Backend) Exec(ctx context.Context, id core.TaskID, o backend.ExecOptions) (int, error) {
	e := &protocol.Exec{Argv: o.Argv, Env: o.Env, TTY: o.TTY, Stdin: o.Stdin != nil, Stderr: o.Stderr != nil && !o.TTY}
	loan, err := p.borrow(ctx, id, protocol.Request{Op: protocol.OpExec, IDs: []core.TaskID{id}, Exec: e})
	if err != nil {
		return 0, fmt.Errorf("exec in task %s: %w", id, err)
	}
	defer loan.close()
	var output sync.WaitGroup
	read := func(f *os.File, w io.Writer) {
		if w == nil {
			w = io.Discard
		}
		output.Go(func() { drain(f, w) })
	}
	files := loan.files
	stop := make(chan struct{})
	defer close(stop)
	switch {
	case o.TTY:
		read(files[0], o.Stdout)
		go feed(files[0], o.Stdin)
		go resizeAll(files[0], o.Resize, stop)
	default:
		if e.Stdin {
			in := files[0]
			files = files[1:]
			go func() {
				feed(in, o.Stdin)
				_ = in.Close()
			}()
		}
		read(files[0], o.Stdout)
		if e.Stderr {
			read(files[1], o.Stderr)
		}
	}
	code, err := loan.exit(ctx)
	for _, f := range files {
		_ = f.SetReadDeadline(time.Now()) // see drain
	}
	output.Wait()
	if err != nil {
		return 0, fmt.Errorf("exec in task %s: %w", id, err)
	}
	return code, nil
}

// Attach implements backend.Enterer. Output is that of the log from the beginning
// of its unfinished line, which is where a prompt stands; it survives the death
// of the supervisor.
func (p *Backend) Attach(ctx context.Context, id core.TaskID, s backend.Streams) error {
	loan, err := p.borrow(ctx, id, protocol.Request{Op: protocol.OpInput, IDs: []core.TaskID{id}})
	if err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	defer loan.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The output first: what follows from our input must not be missed.
	log, err := p.fromLine(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	fed := make(chan struct{})
	if len(loan.files) == 1 {
		stop := make(chan struct{})
		defer close(stop)
		if loan.tty {
			go resizeAll(loan.files[0], s.Resize, stop)
		}
		go func() {
			feed(loan.files[0], s.Stdin)
			if s.Stdin != nil && !loan.tty && ctx.Err() == nil {
				_ = loan.files[0].Close()
				_ = p.about(ctx, protocol.Request{Op: protocol.OpEOF, IDs: []core.TaskID{id}})
				close(fed)
			}
		}()
	}
	wanted := s.Stdout != nil || s.Stderr != nil
	out := s.Stdout
	if out == nil {
		out = s.Stderr // both are one in the log
	}
	if out == nil {
		out = io.Discard
	}
	over := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, log)
		over <- err
	}()
	for {
		select {
		case err := <-over:
			return err
		case <-fed:
			if !wanted {
				return nil
			}
			fed = nil
		}
	}
}

// fromLine follows the log from the beginning of its last line until the task
// ends.
func (p *Backend) fromLine(ctx context.Context, id core.TaskID) (io.ReadCloser, error) {
	offset, err := p.paths.Out().Line(id)
	if err != nil {
		return nil, err
	}
	return p.Logs(ctx, id, backend.LogOptions{Follow: true, Tail: -1, Offset: offset})
}

// Dial implements backend.Enterer: tasks have the machine's network.
func (p *Backend) Dial(ctx context.Context, id core.TaskID, port int) (net.Conn, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("dial task %s: port %d; allowed are 1 to 65535", id, port)
	}
	r, err := p.call(ctx, protocol.Request{Op: protocol.OpObserve, IDs: []core.TaskID{id}}, false)
	if err != nil && !errors.Is(err, errNoSupervisor) {
		return nil, err
	}
	if len(r.Seen) == 0 || r.Seen[0].State != core.TaskRunning {
		return nil, fmt.Errorf("dial task %s: %w", id, backend.ErrNotRunning)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("dial task %s: nothing answers on its port %d: %w", id, port, err)
	}
	return conn, nil
}

// drain copies f to w to its end, which of a terminal is EIO. A deadline ends it
// only when nothing has come for a while: w may be slow.
func drain(f *os.File, w io.Writer) {
	for {
		_, err := io.Copy(w, f)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		_ = f.SetReadDeadline(time.Now().Add(drainExec))
		b := make([]byte, 4096)
		n, err := f.Read(b)
		if n > 0 {
			_, werr := w.Write(b[:n])
			err = errors.Join(err, werr)
		}
		if err != nil {
			return
		}
	}
}

// loan is a connection to the supervisor with what it has lent over it. The supervisor
// takes its end for the end of the caller.
type loan struct {
	conn  *net.UnixConn
	dec   *json.Decoder
	files []*os.File
	tty   bool
}

// borrow asks for descriptors on a connection of its own.
func (p *Backend) borrow(ctx context.Context, id core.TaskID, q protocol.Request) (*loan, error) {
	if err := taskdir.CheckTask(id); err != nil {
		return nil, err
	}
	if _, err := p.connect(ctx, false); errors.Is(err, errNoSupervisor) {
		return nil, backend.ErrNotRunning
	} else if err != nil {
		return nil, err
	}
	conn, err := protocol.Dial(p.paths.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnreachable, err)
	}
	l := &loan{conn: conn.(*net.UnixConn)}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	r, err := l.ask(q)
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = fmt.Errorf("%w: %w; see %s", backend.ErrUnreachable, err, filepath.Base(p.paths.Journal()))
	case r.Gone:
		err = backend.ErrNotRunning
	case r.NotRun:
		err = fmt.Errorf("%w: %s", backend.ErrCannotRun, r.Err)
	case r.Err != "":
		err = errors.New(r.Err)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	l.tty = r.TTY
	return l, nil
}

// ask sends q and takes the answer with its descriptors.
func (l *loan) ask(q protocol.Request) (r protocol.Reply, err error) {
	if err := json.NewEncoder(l.conn).Encode(q); err != nil {
		return r, err
	}
	b := make([]byte, 64<<10)
	fds, n, err := protocol.Receive(l.conn, b)
	for i, fd := range fds {
		if unix.SetNonblock(fd, true) != nil { // so that a Read can be ended
			protocol.CloseAll(fds[i:])
			return r, fmt.Errorf("descriptor %d cannot be used", fd)
		}
		l.files = append(l.files, os.NewFile(uintptr(fd), "stream of a task"))
	}
	if err != nil {
		return r, err
	}
	l.dec = json.NewDecoder(io.MultiReader(bytes.NewReader(b[:n]), l.conn))
	return r, l.dec.Decode(&r)
}

// exit waits for the exit code of a command. When ctx is done it hangs up,
// which ends the command.
func (l *loan) exit(ctx context.Context) (int, error) {
	stop := context.AfterFunc(ctx, func() { _ = l.conn.Close() })
	defer stop()
	var r protocol.Reply
	err := l.dec.Decode(&r)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, fmt.Errorf("%w: the supervisor is gone, and the command with its streams: %w", backend.ErrUnreachable, err)
	case r.Exit == nil:
		return 0, fmt.Errorf("%w: %s", backend.ErrUnreachable, r.Err)
	}
	return *r.Exit, nil
}

func (l *loan) close() {
	_ = l.conn.Close()
	for _, f := range l.files {
		_ = f.Close()
	}
}

// feed copies what a caller types; it ends with either side.
func feed(w io.Writer, from io.Reader) {
	if from != nil {
		_, _ = io.Copy(w, from)
	}
}

func resizeAll(f *os.File, sizes <-chan backend.Size, stop <-chan struct{}) {
	for {
		select {
		case s, ok := <-sizes:
			if !ok {
				return
			}
			rc, err := f.SyscallConn()
			if err == nil {
				err = rc.Control(func(fd uintptr) { protocol.Resize(int(fd), s) })
			}
			if err != nil {
				return
			}
		case <-stop:
			return
		}
	}
}
