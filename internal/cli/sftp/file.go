package sftp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Open implements Files. A file is a command with a pipe: it is read and written
// from one end to the other, and a read elsewhere begins another command.
func (s *Shell) Open(ctx context.Context, path string, f Flags, mode uint32) (File, error) {
	path = dashless(path)
	if !f.Write {
		if _, err := s.ask(ctx, `there "$1"; if [ -d "$1" ]; then echo it is a directory; exit 1; fi; [ -r "$1" ] || exit 45`, path); err != nil {
			return nil, err
		}
		return readOnly{&reader{s: s, ctx: ctx, path: path}}, nil
	}
	script := `if [ -d "$1" ]; then echo it is a directory; exit 1; fi; `
	switch {
	case f.Exclusive:
		script += `if [ -e "$1" ] || [ -L "$1" ]; then echo it is there already; exit 1; fi; `
	case !f.Create:
		script += `there "$1"; `
	}
	if f.Create {
		script += fmt.Sprintf(`if [ ! -e "$1" ]; then : >"$1" && chmod %o "$1" || exit 1; fi; `, mode&0o777)
	}
	script += `[ -w "$1" ] || exit 45`
	if f.Truncate {
		script += `; : >"$1"`
	}
	if _, err := s.ask(ctx, script, path); err != nil {
		return nil, err
	}
	w := &writer{s: s, ctx: ctx, path: path}
	if f.Append {
		w.append = true
	}
	return &both{reader: &reader{s: s, ctx: ctx, path: path}, writer: w}, nil
}

// stream is a command that reads or writes a file.
type stream struct {
	cancel context.CancelFunc
	ended  chan struct{}
	code   int
	err    error
	stderr bytes.Buffer
}

func (s *Shell) stream(ctx context.Context, script string, in io.Reader, out io.Writer, done func(error), words ...string) *stream {
	st := &stream{ended: make(chan struct{})}
	ctx, st.cancel = context.WithCancel(ctx)
	go func() {
		defer close(st.ended)
		st.code, st.err = s.run(ctx, append([]string{"sh", "-c", "LC_ALL=C; export LC_ALL; " + script, "sh"}, words...), in, out, &st.stderr)
		done(st.failed())
	}()
	return st
}

func (s *stream) failed() error {
	if s.err != nil {
		return s.err
	}
	return statusError(s.code, s.stderr.String())
}

// reader reads a file from one end to the other.
type reader struct {
	s    *Shell
	ctx  context.Context
	path string

	mu   sync.Mutex
	at   int64
	pipe *io.PipeReader
	st   *stream
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe == nil || off != r.at {
		r.end()
		pr, pw := io.Pipe()
		script := `exec cat <"$1"`
		if off > 0 {
			script = fmt.Sprintf(`exec tail -c +%d <"$1"`, off+1)
		}
		r.at, r.pipe = off, pr
		r.st = r.s.stream(r.ctx, script, nil, pw, func(err error) { _ = pw.CloseWithError(err) }, r.path)
	}
	n, err := io.ReadFull(r.pipe, p)
	r.at += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// readOnly is a file that is open for reading.
type readOnly struct{ *reader }

// WriteAt implements io.WriterAt.
func (readOnly) WriteAt([]byte, int64) (int, error) { return 0, ErrDenied }

// end ends the command that reads; the lock is held.
func (r *reader) end() {
	if r.st == nil {
		return
	}
	r.st.cancel()
	_ = r.pipe.Close()
	<-r.st.ended
	r.st, r.pipe = nil, nil
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	return nil
}

// writer writes a file from one end to the other.
type writer struct {
	s      *Shell
	ctx    context.Context
	path   string
	append bool

	mu   sync.Mutex
	at   int64
	pipe *io.PipeWriter
	st   *stream
}

// WriteAt implements io.WriterAt. A write begins at the beginning or at the end
// of what is there, and the next goes on after it.
func (w *writer) WriteAt(p []byte, off int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.st == nil || off != w.at && !w.append {
		if err := w.begin(off); err != nil {
			return 0, err
		}
	}
	n, err := w.pipe.Write(p)
	w.at += int64(n)
	return n, err
}

// begin begins a command that writes at off; the lock is held.
func (w *writer) begin(off int64) error {
	if err := w.end(); err != nil {
		return err
	}
	script := `exec cat 1<>"$1"`
	if off > 0 || w.append {
		a, err := w.s.Stat(w.ctx, w.path, true)
		if err != nil {
			return err
		}
		if a.Size != off && !w.append {
			return fmt.Errorf("a write at byte %d of a file of %d: %w; files are written from the beginning or on from the end", off, a.Size, ErrUnsupported)
		}
		script = `exec cat >>"$1"`
	}
	pr, pw := io.Pipe()
	w.at, w.pipe = off, pw
	w.st = w.s.stream(w.ctx, script, pr, io.Discard, func(err error) {
		if err == nil {
			err = io.ErrClosedPipe
		}
		_ = pr.CloseWithError(err)
	}, w.path)
	return nil
}

// end waits until all that was written is there; the lock is held.
func (w *writer) end() error {
	if w.st == nil {
		return nil
	}
	_ = w.pipe.Close()
	<-w.st.ended
	err := w.st.failed()
	w.st, w.pipe = nil, nil
	return err
}

// Sync waits until all that was written is there.
func (w *writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.st == nil {
		return nil
	}
	return w.end()
}

// both is a file that is open for writing, and may be read.
type both struct {
	*reader
	*writer
}

// ReadAt implements io.ReaderAt.
func (b *both) ReadAt(p []byte, off int64) (int, error) {
	if err := b.writer.Sync(); err != nil {
		return 0, err
	}
	return b.reader.ReadAt(p, off)
}

// WriteAt implements io.WriterAt.
func (b *both) WriteAt(p []byte, off int64) (int, error) {
	if err := b.reader.Close(); err != nil { // what it has read ahead would be old
		return 0, err
	}
	return b.writer.WriteAt(p, off)
}

// Sync waits until all that was written is there.
func (b *both) Sync() error { return b.writer.Sync() }

// Close implements io.Closer.
func (b *both) Close() error { return errors.Join(b.reader.Close(), b.writer.Sync()) }
