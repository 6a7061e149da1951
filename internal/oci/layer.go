package oci

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxTrailer is how much may follow the end of a layer's archive; tools pad
// with some kilobytes.
const maxTrailer = 64 << 20

// want is a layer of an image that is being pulled.
type want struct {
	digest string // of the compressed bytes
	diffID string // of the archive
	size   int64  // compressed, in bytes
}

// job makes one layer, for everyone who waits for it.
type job struct {
	done    chan struct{}
	err     error        // valid after done
	got     atomic.Int64 // compressed bytes that are here
	waiting int          // guarded by Store.mu
	cancel  context.CancelFunc
}

// ensure returns when the layer is whole in the cache. progress is told how many
// compressed bytes are here.
func (s *Store) ensure(ctx context.Context, from *session, w want, got *atomic.Pointer[atomic.Int64]) error {
	for {
		s.mu.Lock()
		if s.layers[w.diffID] != nil {
			s.mu.Unlock()
			return nil
		}
		key := w.diffID + w.digest
		j, mine := s.jobs[key], false
		if j == nil {
			mine = true
			j = s.startJob(ctx, from, w, key)
		}
		j.waiting++
		s.mu.Unlock()

		got.Store(&j.got)
		err := s.await(ctx, j)
		if err == nil || mine || ctx.Err() != nil {
			return err
		}
		// It was the failure of another pull, whose credential or patience may
		// be worse than ours.
	}
}

// startJob is called with the lock.
func (s *Store) startJob(ctx context.Context, from *session, w want, key string) *job {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j := &job{done: make(chan struct{}), cancel: cancel}
	s.jobs[key] = j
	go func() {
		defer cancel()
		err := s.makeLayer(ctx, from, w, &j.got)
		s.mu.Lock()
		delete(s.jobs, key)
		s.mu.Unlock()
		j.err = err
		close(j.done)
	}()
	return j
}

// await waits for a job; the last one to lose patience stops it.
func (s *Store) await(ctx context.Context, j *job) error {
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	j.waiting--
	last := j.waiting == 0
	s.mu.Unlock()
	if last {
		j.cancel()
		<-j.done // nothing of it touches the disk any more
	}
	return ctx.Err()
}

// makeLayer downloads and unpacks in one stream. A full disk, and bytes left
// over from before that turn out wrong, are each worth a second try.
func (s *Store) makeLayer(ctx context.Context, from *session, w want, got *atomic.Int64) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for try := 0; ; try++ {
		old, err := s.tryLayer(ctx, from, w, got)
		switch k := KindOf(err); {
		case try > 0 || err == nil || ctx.Err() != nil:
			return err
		case k == Damaged && old:
			s.opt.Log.Info("a former download was damaged and starts again", "layer", w.digest)
		case k == NoSpace && s.evictAll():
			s.opt.Log.Info("the disk was full; what nobody uses was removed", "layer", w.digest)
		default:
			return err
		}
	}
}

// tryLayer says with old whether bytes of a former attempt were used.
func (s *Store) tryLayer(ctx context.Context, from *session, w want, got *atomic.Int64) (old bool, err error) {
	got.Store(0)
	p, err := s.openPart(w, from, ctx)
	if err != nil {
		return false, classify(err)
	}
	old = p.kept > 0
	defer func() { p.close(err == nil || KindOf(err) == Damaged || KindOf(err) == NoSpace) }()
	dir, err := os.MkdirTemp(s.path("tmp"), "layer-")
	if err != nil {
		return old, classify(err)
	}
	defer os.RemoveAll(dir)
	size, err := s.fill(ctx, p, w, dir, got)
	if err != nil {
		if ctx.Err() != nil {
			return old, ctx.Err()
		}
		return old, classify(err)
	}
	return old, classifyNil(s.addLayer(w.diffID, dir, size))
}

func classifyNil(err error) error {
	if err == nil {
		return nil
	}
	return classify(err)
}

// fill unpacks what comes and checks both digests.
func (s *Store) fill(ctx context.Context, p *part, w want, dir string, got *atomic.Int64) (int64, error) {
	packed := sha256.New()
	stream := readAhead(io.TeeReader(&counter{p, got}, packed))
	defer func() { p.stop(); stream.Close() }()
	plain, err := decompress(stream)
	if err != nil {
		return 0, blame(stream, err)
	}
	defer plain.Close()
	unpacked := sha256.New()
	archive := io.TeeReader(plain, unpacked)
	size, err := unpack(ctx, archive, dir, s.opt.MaxBytes)
	if err != nil {
		return 0, blame(stream, err)
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(archive, maxTrailer)); err != nil {
		return 0, blame(stream, err)
	} else if n == maxTrailer {
		return 0, failf(Damaged, nil, "a layer's archive is followed by more than %d MiB that belong to nothing", maxTrailer>>20)
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return 0, blame(stream, err)
	}
	if sum := hex.EncodeToString(packed.Sum(nil)); sum != hexOf(w.digest) {
		return 0, failf(Damaged, nil, "a layer that came is not the one that was asked for (sha256:%s instead of %s); try again, and if it stays so push the image again", sum, w.digest)
	}
	if sum := hex.EncodeToString(unpacked.Sum(nil)); sum != hexOf(w.diffID) {
		return 0, failf(Damaged, nil, "a layer unpacks to something else than the image's configuration says (sha256:%s instead of %s); build the image again", sum, w.diffID)
	}
	return size, nil
}

// blame finds out whether the archive is damaged or its source failed: what
// broke first counts, whatever the decompressor made of it.
func blame(stream *ahead, err error) error {
	var e *Error
	var errno syscall.Errno
	if source := stream.failed.Load(); source != nil {
		err = *source
	}
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.As(err, &errno), isPathError(err):
		return err
	}
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt) {
		return failf(Damaged, err, "a layer's archive is damaged (%v); push the image again", err)
	}
	return failf(Damaged, err, "a layer cannot be unpacked (%v); build the image again", err)
}

func isPathError(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

// decompress looks at the first bytes, since what manifests say of the
// compression is not always true.
func decompress(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(b)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}

// counter counts compressed bytes as they come.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
