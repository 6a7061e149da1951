// Package top is a screen that shows what runs, and keeps showing it. The model
// says what is on the screen; keys change it, a look at the server fills it.
package top

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/admin"
	"github.com/musterhq/muster/internal/cli/enter"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/spec"
)

// NewTop makes the command top.
func NewTop(s *session.Session) *cobra.Command {
	var t session.TableFlags
	every := "2s"
	cmd := &cobra.Command{
		Use:   "top",
		Short: "A live view of workloads, GPUs, the queue and logs",
		Long: `Shows what runs, what each GPU does, what waits and why, and the log of what is
selected, and keeps it up to date. In a pipe it is muster util.

  1 2 3 4, tab   workloads, GPUs, queue, log       ↑ ↓ j k g G   select
  w              why it waits or ended             enter         its log
  s              stop it                           e             a shell beside it
  /              show only what contains a text    q             leave`,
		Example: "  muster top\n  muster top --every 5s",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := spec.ParseDuration(every)
			if err != nil || d.Std() < 200*time.Millisecond {
				return session.UsageError(fmt.Sprintf("--every: %q is not a length of time of 200ms or more", every), "like 2s")
			}
			f, ok := s.IO.In.(*os.File)
			if !ok || !s.IO.InTerminal || !s.IO.OutTerminal || s.Format() != "table" {
				return admin.Util(cmd.Context(), s, t, false)
			}
			return top(cmd.Context(), s, f, d.Std())
		},
	}
	t.Register(cmd)
	cmd.Flags().StringVar(&every, "every", every, "how often to look again")
	return cmd
}

// Sequences of the terminal: its other screen, and the cursor.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[2J"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

// topScreen is the terminal while top has it.
type topScreen struct {
	s     *session.Session
	in    *os.File
	raw   *terminal.Raw
	shown []string // the lines that are on it
}

func (t *topScreen) open() error {
	raw, err := t.s.IO.Raw()
	if err != nil {
		return err
	}
	t.raw, t.shown = raw, nil
	_, err = fmt.Fprint(terminal.Bare(t.s.IO.Out), enterScreen)
	return err
}

func (t *topScreen) close() {
	fmt.Fprint(terminal.Bare(t.s.IO.Out), leaveScreen) //nolint:errcheck // the terminal may be gone
	t.raw.Restore()
}

// draw writes the lines that are not as they were.
func (t *topScreen) draw(lines []string) error {
	var b strings.Builder
	for i, line := range lines {
		if i < len(t.shown) && t.shown[i] == line {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m%s\x1b[0m\x1b[K", i+1, line)
	}
	if len(t.shown) > len(lines) {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[J", len(lines)+1)
	}
	t.shown = lines
	if b.Len() == 0 {
		return nil
	}
	_, err := fmt.Fprint(terminal.Bare(t.s.IO.Out), b.String())
	return err
}

// keyWait is for how long a look for keys lasts: so long may pass until the
// keyboard is another program's.
const keyWait = 50 * time.Millisecond

// keys reads what is typed until ctx is done.
func (t *topScreen) keys(ctx context.Context, to chan<- string) {
	defer func() {
		if r := recover(); r != nil {
			t.close()
			panic(r)
		}
	}()
	buf := make([]byte, 256)
	for from := (&patient{ctx: ctx, f: t.in}); ; {
		n, err := from.Read(buf)
		if err != nil { // the terminal is gone, or not ours any more
			select {
			case to <- "eof":
			case <-ctx.Done():
			}
			return
		}
		for _, k := range KeysOf(buf[:n]) {
			select {
			case to <- k:
			case <-ctx.Done():
				return
			}
		}
	}
}

// patient reads a terminal only when there is something to read, so that nothing
// is taken from who reads it next. Once ctx is done it is at its end.
type patient struct {
	ctx context.Context
	mu  sync.Mutex // held while it reads
	f   *os.File
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.ctx.Err() == nil {
		ready, err := terminal.Readable(p.f, keyWait)
		if err != nil {
			return 0, err
		}
		if ready {
			return p.f.Read(b)
		}
	}
	return 0, io.EOF
}

// shell runs a shell beside a workload, on the terminal that top has left.
func (t *topScreen) shell(ctx context.Context, c *client.Client, w *api.Workload) error {
	raw, err := t.s.IO.Raw()
	if err != nil {
		return err
	}
	defer raw.Restore()
	ctx, cancel := context.WithCancel(ctx)
	from := &patient{ctx: ctx, f: t.in}
	defer func() { cancel(); from.mu.Lock() }() //nolint:staticcheck // from then on nobody reads
	e := client.EnterOptions{Task: -1, Command: enter.AnyShell, TTY: true, Stdin: terminal.Guarded{Reader: from, Raw: raw}, Resize: raw.Sizes(ctx), Stdout: terminal.Bare(t.s.IO.Out), Stderr: terminal.Bare(t.s.IO.Err)}
	if kind := t.s.Env("TERM"); kind != "" {
		e.Env = []string{"TERM=" + kind}
	}
	_, err = c.Exec(ctx, w.Project, w.ID, e)
	return err
}

// named keys by what terminals send for them.
var namedKeys = map[string]string{
	"\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down", "\x1b[5~": "pageup", "\x1b[6~": "pagedown",
	"\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end", "\x1b[Z": "backtab", "\x1b[C": "right", "\x1b[D": "left",
	"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace", "\x03": "ctrl-c", "\x1b": "esc", "\x0c": "ctrl-l", "\x04": "ctrl-d",
}

// KeysOf takes apart what was read at once.
func KeysOf(data []byte) []string {
	var out []string
	for text := string(data); text != ""; {
		n := 1
		if strings.HasPrefix(text, "\x1b[") || strings.HasPrefix(text, "\x1bO") {
			for n = 2; n < len(text) && (text[n] < '@' || text[n] > '~'); n++ {
			}
			n = min(n+1, len(text))
		} else {
			_, n = utf8.DecodeRuneInString(text)
		}
		k := text[:n]
		if name, ok := namedKeys[k]; ok {
			out = append(out, name)
		} else if k[0] >= 0x20 && utf8.ValidString(k) {
			out = append(out, k)
		}
		text = text[n:]
	}
	return out
}

// top runs the live view until it is left.
func top(ctx context.Context, s *session.Session, in *os.File, every time.Duration) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	ctx, stop := terminal.Deadly(ctx)
	defer stop()
	screen := &topScreen{s: s, in: in}
	m := &topModel{pane: paneWorkloads, width: s.IO.Width, height: 24, now: s.Clock}
	for {
		act, err := topScreenful(ctx, s, c, screen, m, every)
		if err != nil || act.kind != actExec {
			return err
		}
		// The other screen is left for as long as the shell has the terminal.
		s.Say("muster exec %s", act.w.Name)
		if err := screen.shell(ctx, c, act.w); err != nil {
			if ctx.Err() != nil {
				return err
			}
			m.note = "exec: " + err.Error()
		}
	}
}

// topScreenful has the terminal until the user leaves, or wants something that
// needs the terminal for itself.
func topScreenful(ctx context.Context, s *session.Session, c *client.Client, screen *topScreen, m *topModel, every time.Duration) (topAct, error) {
	if err := screen.open(); err != nil {
		return topAct{}, err
	}
	defer screen.close()
	ctx, cancel := context.WithCancel(ctx)
	typed, updates := make(chan string), make(chan func(*topModel))
	reading := make(chan struct{})
	go func() { defer close(reading); screen.keys(ctx, typed) }()
	defer func() { cancel(); <-reading }() // nobody else may read what is typed next
	look := &topLook{c: c, every: every, ask: make(chan topWant, 1), updates: updates}
	go look.run(ctx)
	sizes := screen.raw.Sizes(ctx)
	for {
		look.want(m.want())
		if err := screen.draw(m.lines(s)); err != nil {
			return topAct{}, err
		}
		select {
		case <-ctx.Done():
			return topAct{}, ctx.Err()
		case size := <-sizes:
			if size.Columns > 0 && size.Rows > 0 {
				m.width, m.height, screen.shown = int(size.Columns), int(size.Rows), nil
				fmt.Fprint(terminal.Bare(s.IO.Out), "\x1b[2J") //nolint:errcheck // what follows notices
			}
		case change := <-updates:
			change(m)
		case k := <-typed:
			act := m.key(k)
			switch act.kind {
			case actLeave, actExec:
				return act, nil
			case actRedraw:
				screen.shown = nil
			case actStop:
				go look.do(ctx, func(m *topModel, err error) { m.stopped(act.w, err) }, func() error {
					_, err := c.Stop(ctx, act.w.Project, act.w.ID, api.StopOptions{Message: "muster top"})
					return err
				})
			case actWhy:
				go look.why(ctx, act.w)
			}
		}
	}
}
