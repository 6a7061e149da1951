package session

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/cli/terminal"
)

// Screen is where following writes: output of tasks to one stream, word about
// them to the other, and on a terminal a line that spins while nothing comes.
// It is safe for concurrent use.
type Screen struct {
	s  *Session
	mu sync.Mutex

	waiting string    // what the spinning line says; "": none
	since   time.Time // when the waiting began
	shown   bool      // the line is on the terminal now
	frame   int
	open    bool  // the last output did not end its line
	broken  error // standard output is gone
	stop    chan struct{}
	done    sync.WaitGroup
}

var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// SpinDelay keeps what is over in a moment from flashing.
const SpinDelay = 200 * time.Millisecond

// NewScreen makes a screen on the streams of s.
func NewScreen(s *Session) *Screen {
	p := &Screen{s: s, stop: make(chan struct{})}
	if s.IO.ErrTerminal {
		p.done.Go(p.spin)
	}
	return p
}

// Close takes the spinning line off and ends what draws it.
func (p *Screen) Close() {
	p.Wait("")
	close(p.stop)
	p.done.Wait()
}

func (p *Screen) spin() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		if p.waiting != "" && time.Since(p.since) > SpinDelay {
			p.frame = (p.frame + 1) % len(frames)
			line := fmt.Sprintf("%s %s  %s", frames[p.frame], p.waiting, Age(time.Since(p.since)))
			fmt.Fprintf(terminal.Bare(p.s.IO.Err), "\r\x1b[K%s", Cut(terminal.Plain(line), p.s.IO.Width-1))
			p.shown = true
		}
		p.mu.Unlock()
	}
}

// clear takes the spinning line off. The lock is held.
func (p *Screen) clear() {
	if p.shown {
		io.WriteString(terminal.Bare(p.s.IO.Err), "\r\x1b[K") //nolint:errcheck // a terminal that is gone is noticed elsewhere
		p.shown = false
	}
}

// Wait sets what the spinning line says; "" ends it.
func (p *Screen) Wait(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if what == "" {
		p.clear()
	}
	if p.waiting == "" || what == "" {
		p.since = time.Now()
	}
	p.waiting = what
}

// Say writes a line of word.
func (p *Screen) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	if p.open && p.s.IO.OutTerminal && p.s.IO.ErrTerminal {
		io.WriteString(p.s.IO.Err, "\n") //nolint:errcheck // as above
		p.open = false
	}
	fmt.Fprintln(p.s.IO.Err, line)
}

// Output writes output of a task.
func (p *Screen) Output(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil || len(data) == 0 {
		return p.broken
	}
	p.clear()
	p.open = data[len(data)-1] != '\n'
	_, p.broken = terminal.Bare(p.s.IO.Out).Write(data)
	return p.broken
}

// Failure is why output cannot be written any more; nil while it can.
func (p *Screen) Failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}
