package oci

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// ahead reads in its own goroutine, so that the network is not idle while
// files are written.
type ahead struct {
	full, free chan []byte
	stop       chan struct{}
	once       sync.Once
	ended      chan struct{}
	err        error // valid when full is closed
	cur, buf   []byte
	failed     atomic.Pointer[error] // what Read returned, other than the end
}

func readAhead(r io.Reader) *ahead {
	const buffers, size = 4, 256 << 10
	a := &ahead{full: make(chan []byte, buffers), free: make(chan []byte, buffers), stop: make(chan struct{}), ended: make(chan struct{})}
	for range buffers {
		a.free <- make([]byte, size)
	}
	go func() {
		defer close(a.ended)
		defer close(a.full)
		for {
			select {
			case <-a.stop:
				return
			case buf := <-a.free:
				n, err := io.ReadFull(r, buf)
				if n > 0 {
					a.full <- buf[:n]
				}
				if err == io.ErrUnexpectedEOF {
					err = io.EOF
				}
				if err != nil {
					a.err = err
					return
				}
			}
		}
	}()
	return a
}

func (a *ahead) Read(p []byte) (int, error) {
	if len(a.cur) == 0 {
		if a.buf != nil {
			a.free <- a.buf[:cap(a.buf)]
			a.buf = nil
		}
		buf, ok := <-a.full
		if !ok {
			if a.err == nil {
				return 0, fs.ErrClosed
			}
			if a.err != io.EOF {
				a.failed.Store(&a.err)
			}
			return 0, a.err
		}
		a.buf, a.cur = buf, buf
	}
	n := copy(p, a.cur)
	a.cur = a.cur[n:]
	return n, nil
}

// Close returns when the goroutine no longer reads. The reader below must end
// by its context.
func (a *ahead) Close() error {
	a.once.Do(func() { close(a.stop) })
	<-a.ended
	return nil
}

// part is a download that outlives its connection and its process: what came
// is on disk, and only the rest is asked for.
type part struct {
	store *Store
	base  string
	stop  context.CancelFunc // ends a read that waits for the network
	file  *os.File
	kept  int64 // bytes that were there from before
	read  int64 // of them, already read
	rest  *blobReader
}

func (s *Store) openPart(w want, from *session, ctx context.Context) (*part, error) {
	// The diff ID is a part of the name: two images that lie about the same blob
	// do not write to the same file.
	base := fmt.Sprintf("%s-%s.part", hexOf(w.digest), hexOf(w.diffID)[:16])
	p := &part{store: s, base: base}
	f, err := os.OpenFile(s.path("downloads", base), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	p.file = f
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	p.kept = info.Size()
	if p.kept > w.size {
		p.kept = 0
		if err := f.Truncate(0); err != nil {
			f.Close()
			return nil, err
		}
	}
	s.mu.Lock()
	s.parts[base] = true
	s.mu.Unlock()
	ctx, p.stop = context.WithCancel(ctx)
	p.rest = &blobReader{ctx: ctx, from: from, digest: w.digest, size: w.size, at: p.kept}
	return p, nil
}

func (p *part) Read(b []byte) (int, error) {
	if p.read < p.kept {
		n, err := p.file.ReadAt(b[:min(int64(len(b)), p.kept-p.read)], p.read)
		p.read += int64(n)
		if n > 0 {
			return n, nil
		}
		return 0, err
	}
	at := p.rest.at
	n, err := p.rest.Read(b)
	if n > 0 {
		if _, werr := p.file.WriteAt(b[:n], at); werr != nil {
			return 0, werr
		}
	}
	return n, err
}

// close keeps the bytes for the next attempt, unless there is nothing to gain.
func (p *part) close(drop bool) {
	p.stop()
	p.rest.Close()
	p.file.Close()
	if drop {
		os.Remove(p.file.Name())
	}
	p.store.mu.Lock()
	delete(p.store.parts, p.base)
	p.store.mu.Unlock()
}
