//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// Logs implements plane.Plane. It needs no keeper: logs are files.
func (p *Plane) Logs(ctx context.Context, id core.TaskID, opts plane.LogOptions) (io.ReadCloser, error) {
	if err := checkTask(id); err != nil {
		return nil, err
	}
	if opts.Offset < 0 {
		return nil, fmt.Errorf("logs of %s: offset is %d; allowed are 0 and more", id, opts.Offset)
	}
	f, err := os.Open(p.paths.log(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("logs of %s: %w", id, plane.ErrNoLogs)
	}
	if err != nil {
		return nil, fmt.Errorf("logs of %s: %w", id, err)
	}
	offset := opts.Offset
	if opts.Tail >= 0 {
		offset, err = tailOffset(f, opts.Tail)
	}
	times := &logTimes{path: p.paths.index(id)}
	if err == nil && !opts.Since.IsZero() {
		var from int64
		from, err = times.since(opts.Since, f)
		offset = max(offset, from)
	}
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		times.close()
		_ = f.Close()
		return nil, fmt.Errorf("logs of %s: %w", id, err)
	}
	var r io.ReadCloser = f
	if opts.Follow {
		// The FIFO is removed when the log is complete, so its directory tells the end.
		wake, done := p.bell.listen(f.Name(), p.task(id))
		r = &follower{
			ctx: ctx, file: f, fifo: filepath.Join(p.task(id), fifoFile), wake: wake, done: done, quit: make(chan struct{}),
		}
	}
	if !opts.Times {
		times.close()
		return plane.Opened(r, offset), nil
	}
	return plane.Opened(plane.Timed(timedLog{r, times}, offset, times.at), offset), nil
}

// DeleteLogs implements plane.Plane.
func (p *Plane) DeleteLogs(_ context.Context, id core.WorkloadID) error {
	if err := checkWorkload(id); err != nil {
		return err
	}
	return os.RemoveAll(p.logsOf(id))
}

// tailOffset returns where the last n lines begin, reading from the end.
func tailOffset(f *os.File, n int) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || n == 0 || end == 0 {
		return end, err
	}
	buf := make([]byte, copySize)
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

// follower reads a log to its end, and the end comes when the task's has.
type follower struct {
	ctx  context.Context //nolint:containedctx // the caller's, for the life of the reader
	file *os.File
	fifo string
	wake <-chan struct{}
	done func()
	once sync.Once
	quit chan struct{}
}

// Read blocks until there is output, the task has ended, ctx is done or Close.
func (f *follower) Read(b []byte) (int, error) {
	for {
		if err := f.ctx.Err(); err != nil {
			return 0, err
		}
		complete := !exists(f.fifo) // asked before reading, so that nothing is missed
		n, err := f.file.Read(b)
		if n > 0 || len(b) == 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if complete {
			return 0, io.EOF
		}
		select {
		case <-f.wake:
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
		f.done()
		err = f.file.Close()
	})
	return err
}
