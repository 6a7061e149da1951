package slurmtools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// feed is an input that several read, each all of it. Nothing is read of it
// before somebody wants to.
type feed struct {
	from io.Reader
	once sync.Once
	mu   sync.Mutex
	more sync.Cond
	data []byte
	over bool
}

func newFeed(from io.Reader) *feed {
	f := &feed{from: from}
	f.more.L = &f.mu
	return f
}

func (f *feed) fill() {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.from.Read(buf)
		f.mu.Lock()
		f.data = append(f.data, buf[:n]...)
		f.over = err != nil
		f.more.Broadcast()
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// reader is one who reads it, from its beginning.
func (f *feed) reader() io.Reader { return &feedReader{feed: f} }

type feedReader struct {
	feed *feed
	at   int
}

// Read implements io.Reader.
func (r *feedReader) Read(p []byte) (int, error) {
	f := r.feed
	f.once.Do(func() { go f.fill() })
	f.mu.Lock()
	defer f.mu.Unlock()
	for r.at == len(f.data) {
		if f.over {
			return 0, io.EOF
		}
		f.more.Wait()
	}
	n := copy(p, f.data[r.at:])
	r.at += n
	return n, nil
}

// stdin is what a rank reads (slurm.schedmd.com/srun.html, --input): all of
// them what srun reads, one of them, none, or a file. A single rank has srun's own
// input, of which it leaves to the script what it does not read.
func (s *step) stdin(r rank) (in io.Reader, closeIt func(), err error) {
	closeIt = func() {}
	switch one, err := strconv.Atoi(s.o.input); {
	case s.o.input == "none", err == nil && one != r.proc:
		return bytes.NewReader(nil), closeIt, nil
	case err == nil, s.o.input == "" && len(s.ranks) == 1:
		return os.Stdin, closeIt, nil
	case s.o.input == "", s.o.input == "all":
		return s.input.reader(), closeIt, nil
	}
	f, err := os.Open(expandPattern(s.o.input, s.own(r)))
	if err != nil {
		return nil, closeIt, err
	}
	return f, func() { _ = f.Close() }, nil
}

// fileOf is an input as a process has it. It is a file, so that nobody waits for
// what a process that has ended did not read.
func fileOf(in io.Reader) (io.Reader, error) {
	switch x := in.(type) {
	case *os.File:
		return x, nil
	case *bytes.Reader: // empty
		return nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(w, in) // until it has ended
		_ = w.Close()
	}()
	return r, nil
}

// inputFile has a script read the file of sbatch --input, if there is one.
func inputFile(cmd *exec.Cmd) (closeIt func(), err error) {
	name := expandPattern(os.Getenv("MUSTER_SLURM_INPUT"), nil)
	if name == "" {
		return func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			reason := p.Err.Error()
			err = fmt.Errorf("%s: %s", name, strings.ToUpper(reason[:1])+reason[1:])
		}
		return nil, err
	}
	cmd.Stdin = f
	return func() { _ = f.Close() }, nil
}
