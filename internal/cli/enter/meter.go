package enter

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
)

// meter counts what is copied and, on a terminal, shows how far it is.
type meter struct {
	s     *session.Session
	quiet bool

	mu      sync.Mutex
	files   int
	bytes   int64
	total   int64 // 0: nobody knows
	skipped []string
	began   time.Time
	shown   bool
	stop    chan struct{}
	once    sync.Once
	done    sync.WaitGroup
}

func newMeter(s *session.Session, quiet bool) *meter {
	m := &meter{s: s, quiet: quiet, began: time.Now(), stop: make(chan struct{})}
	if s.IO.ErrTerminal && !quiet {
		m.done.Go(m.show)
	}
	return m
}

// close takes the line away.
func (m *meter) close() {
	m.once.Do(func() { close(m.stop) })
	m.done.Wait()
	if m.shown {
		fmt.Fprint(terminal.Bare(m.s.IO.Err), "\r\x1b[K")
		m.shown = false
	}
}

func (m *meter) show() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
		}
		m.mu.Lock()
		if took := time.Since(m.began); took > session.SpinDelay {
			fmt.Fprintf(terminal.Bare(m.s.IO.Err), "\r\x1b[K%s", session.Cut(m.line(took), m.s.IO.Width-1))
			m.shown = true
		}
		m.mu.Unlock()
	}
}

// line says how far it is; the lock is held.
func (m *meter) line(took time.Duration) string {
	rate := printers.Size(int64(float64(m.bytes)/took.Seconds())) + "/s"
	if m.total == 0 {
		return fmt.Sprintf("%s, %s  %s  %s", session.Plural(m.files, "file"), printers.Size(m.bytes), rate, session.Age(took))
	}
	return fmt.Sprintf("%s %s of %s  %s  %s", terminal.BarAt(float64(m.bytes)/float64(m.total), 20), printers.Size(m.bytes), printers.Size(m.total), rate, session.Age(took))
}

func (m *meter) of(total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total = total
}

func (m *meter) file() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files++
}

func (m *meter) skip(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skipped = append(m.skipped, name)
}

func (m *meter) skippedNames() []string { return slices.Concat([]string{}, m.skipped) }

func (m *meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += int64(n)
}

type countedWriter struct {
	io.Writer
	m *meter
}

// Write implements io.Writer.
func (c countedWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.m.add(n)
	return n, err
}

type countedReader struct {
	io.Reader
	m *meter
}

// Read implements io.Reader.
func (c countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.m.add(n)
	return n, err
}

func (m *meter) counting(w io.Writer) io.Writer       { return countedWriter{w, m} }
func (m *meter) countingReader(r io.Reader) io.Reader { return countedReader{r, m} }
