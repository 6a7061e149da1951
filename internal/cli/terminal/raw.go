package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/musterhq/muster/api"
)

// Raw is the user's terminal while every key goes to a task.
type Raw struct {
	fd     int
	before *term.State
	once   sync.Once
}

// Raw puts the terminal into raw mode. Where standard input is none it returns
// nil, whose methods do nothing.
func (s Streams) Raw() (*Raw, error) {
	f, ok := s.In.(*os.File)
	if !ok || !s.InTerminal || !term.IsTerminal(int(f.Fd())) {
		return nil, nil
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return &Raw{fd: int(f.Fd()), before: before}, nil
}

// Restore gives the terminal back as it was. It may be called often, from any
// goroutine. Callers defer it, since it must run on every return.
func (r *Raw) Restore() {
	if r != nil {
		r.once.Do(func() { _ = term.Restore(r.fd, r.before) })
	}
}

// Deadly returns a context that the signals end which would otherwise end the
// program with the terminal left as it is. Main takes care of the others.
func Deadly(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
}

// Sizes tells the size of the terminal, at first and whenever it changes.
func (r *Raw) Sizes(ctx context.Context) <-chan api.TerminalSize {
	if r == nil {
		return nil
	}
	out := make(chan api.TerminalSize, 1)
	changed := make(chan os.Signal, 1)
	notifyResized(changed)
	go func() {
		defer signal.Stop(changed)
		for {
			if columns, rows, err := term.GetSize(r.fd); err == nil {
				select {
				case out <- api.TerminalSize{Columns: uint16(columns), Rows: uint16(rows)}:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// The keys that leave a task to itself: ctrl-p ctrl-q.
const (
	detachFirst  = 0x10
	detachSecond = 0x11
)

// ErrDetached says that the user has left.
var ErrDetached = errors.New("detached")

// Keys passes on what is typed until the detach keys.
type Keys struct {
	From    io.Reader
	Raw     *Raw
	Leave   func() // called once, at the detach keys
	pending bool   // the first of them has been typed
	over    bool
}

// Read implements io.Reader. It runs in a goroutine of its own: should it ever
// panic, the terminal is given back first.
func (k *Keys) Read(p []byte) (int, error) {
	defer func() {
		if r := recover(); r != nil {
			k.Raw.Restore()
			panic(r)
		}
	}()
	if k.over || len(p) < 2 {
		return 0, io.EOF
	}
	for {
		n, err := k.From.Read(p[1:]) // one byte is kept free for a key that was held back
		out := p[:0]
		for _, b := range p[1 : 1+n] {
			switch {
			case k.pending && b == detachSecond:
				k.over = true
				k.Leave()
				return len(out), io.EOF
			case k.pending && b == detachFirst:
				out = append(out, detachFirst)
				continue
			case k.pending:
				out = append(out, detachFirst)
				k.pending = false
			}
			if k.pending = b == detachFirst; !k.pending {
				out = append(out, b)
			}
		}
		if len(out) > 0 || err != nil {
			return len(out), err
		}
	}
}

// Guarded gives the terminal back before a panic of its goroutine ends the
// program.
type Guarded struct {
	io.Reader
	Raw *Raw
}

// Read implements io.Reader.
func (g Guarded) Read(p []byte) (int, error) {
	defer func() {
		if r := recover(); r != nil {
			g.Raw.Restore()
			panic(r)
		}
	}()
	return g.Reader.Read(p)
}
