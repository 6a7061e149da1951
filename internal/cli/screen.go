package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// screen is where following writes: output of tasks to one stream, word about
// them to the other, and on a terminal a line that spins while nothing comes.
// It is safe for concurrent use.
type screen struct {
	s  *session
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

// spinDelay keeps what is over in a moment from flashing.
const spinDelay = 200 * time.Millisecond

func newScreen(s *session) *screen {
	p := &screen{s: s, stop: make(chan struct{})}
	if s.io.ErrTerminal {
		p.done.Go(p.spin)
	}
	return p
}

func (p *screen) close() {
	p.wait("")
	close(p.stop)
	p.done.Wait()
}

func (p *screen) spin() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		if p.waiting != "" && time.Since(p.since) > spinDelay {
			p.frame = (p.frame + 1) % len(frames)
			line := fmt.Sprintf("%s %s  %s", frames[p.frame], p.waiting, age(time.Since(p.since)))
			fmt.Fprintf(bare(p.s.io.Err), "\r\x1b[K%s", cut(plainText(line), p.s.io.Width-1))
			p.shown = true
		}
		p.mu.Unlock()
	}
}

// clear takes the spinning line off. The lock is held.
func (p *screen) clear() {
	if p.shown {
		io.WriteString(bare(p.s.io.Err), "\r\x1b[K") //nolint:errcheck // a terminal that is gone is noticed elsewhere
		p.shown = false
	}
}

// wait sets what the spinning line says; "" ends it.
func (p *screen) wait(what string) {
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

// say writes a line of word.
func (p *screen) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	if p.open && p.s.io.OutTerminal && p.s.io.ErrTerminal {
		io.WriteString(p.s.io.Err, "\n") //nolint:errcheck // as above
		p.open = false
	}
	fmt.Fprintln(p.s.io.Err, line)
}

// output writes output of a task.
func (p *screen) output(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil || len(data) == 0 {
		return p.broken
	}
	p.clear()
	p.open = data[len(data)-1] != '\n'
	_, p.broken = bare(p.s.io.Out).Write(data)
	return p.broken
}

// failure is why output cannot be written any more; nil while it can.
func (p *screen) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}
