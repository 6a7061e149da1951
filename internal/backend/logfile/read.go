package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

const pieceSize = 64 << 10

// News is how one who follows a log learns that there is more of it.
type News struct {
	// Complete says that nothing is added any more. It is asked before the log
	// is read, so that nothing is missed.
	Complete func() bool
	// Wake holds an element when there may be more, or the log is complete.
	Wake <-chan struct{}
	// Done is called once, when nobody waits any more.
	Done func()
}

// Open opens what o chooses of a task's log, as backend.Backend.Logs promises it.
// news is asked only where o says to follow.
func (d Dir) Open(ctx context.Context, id core.TaskID, o backend.LogOptions, news func() News) (io.ReadCloser, error) {
	if err := CheckTask(id); err != nil {
		return nil, err
	}
	if o.Offset < 0 {
		return nil, fmt.Errorf("logs of %s: offset is %d; allowed are 0 and more", id, o.Offset)
	}
	f, err := os.Open(d.Log(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("logs of %s: %w", id, backend.ErrNoLogs)
	}
	if err != nil {
		return nil, fmt.Errorf("logs of %s: %w", id, err)
	}
	offset := o.Offset
	if o.Tail >= 0 {
		offset, err = tailOffset(f, o.Tail)
	}
	when := &times{path: d.Index(id)}
	if err == nil && !o.Since.IsZero() {
		var from int64
		from, err = when.since(o.Since, f)
		offset = max(offset, from)
	}
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		when.close()
		_ = f.Close()
		return nil, fmt.Errorf("logs of %s: %w", id, err)
	}
	var r io.ReadCloser = f
	if o.Follow {
		r = &follower{ctx: ctx, file: f, news: news(), quit: make(chan struct{})}
	}
	if !o.Times {
		when.close()
		return backend.Opened(r, offset), nil
	}
	return backend.Opened(backend.Timed(timed{r, when}, offset, when.at), offset), nil
}

// Line is where the unfinished last line of a task's log begins; its end, if
// that is finished, or there is no log.
func (d Dir) Line(id core.TaskID) (int64, error) {
	f, err := os.Open(d.Log(id))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return 0, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, end-1); err != nil || last[0] == '\n' {
		return end, err
	}
	return tailOffset(f, 1)
}

// tailOffset returns where the last n lines begin, reading from the end.
func tailOffset(f *os.File, n int) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || n == 0 || end == 0 {
		return end, err
	}
	buf := make([]byte, pieceSize)
	breaks := 0
	for at := end; at > 0; {
		size := min(at, int64(len(buf)))
		at -= size
		b := buf[:size]
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := len(b); ; {
			if i = bytes.LastIndexByte(b[:i], '\n'); i < 0 {
				break
			}
			if at+int64(i)+1 == end {
				continue // the break that ends the last line begins no other
			}
			if breaks++; breaks == n {
				return at + int64(i) + 1, nil
			}
		}
	}
	return 0, nil
}

// timed closes a log and its index.
type timed struct {
	io.ReadCloser
	times *times
}

// Close implements io.Closer.
func (t timed) Close() error {
	t.times.close()
	return t.ReadCloser.Close()
}

// follower reads a log until it is complete.
type follower struct {
	ctx  context.Context //nolint:containedctx // the caller's, for the life of the reader
	file *os.File
	news News
	once sync.Once
	quit chan struct{}
}

// Read blocks until there is output, the log is complete, ctx is done or Close.
func (f *follower) Read(b []byte) (int, error) {
	for {
		if err := f.ctx.Err(); err != nil {
			return 0, err
		}
		complete := f.news.Complete()
		n, err := f.file.Read(b)
		if n > 0 || len(b) == 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if complete {
			return 0, io.EOF
		}
		select {
		case <-f.news.Wake:
		case <-f.ctx.Done():
		case <-f.quit:
			return 0, os.ErrClosed
		}
	}
}

// Close ends a Read that waits.
func (f *follower) Close() error {
	err := os.ErrClosed
	f.once.Do(func() {
		close(f.quit)
		f.news.Done()
		err = f.file.Close()
	})
	return err
}
