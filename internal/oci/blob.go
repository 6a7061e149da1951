package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// maxTries is how often in a row a blob is asked for without one new byte.
const maxTries = 4

// blobReader reads a blob from a given byte to its end, over as many
// connections as it takes.
type blobReader struct {
	ctx    context.Context
	from   *session
	digest string
	size   int64
	at     int64 // the next byte that Read returns

	body  io.ReadCloser
	whole bool // the registry does not serve parts
	tries int
}

func (b *blobReader) Read(p []byte) (int, error) {
	for {
		if b.at >= b.size {
			return 0, io.EOF
		}
		n, err := b.readOnce(p)
		if n > 0 {
			b.tries = 0
			return n, nil
		}
		if b.ctx.Err() != nil {
			return 0, b.ctx.Err()
		}
		b.tries++
		if !resumable(err) {
			return 0, classify(missingBlob(err))
		}
		if b.tries >= maxTries {
			return 0, b.stalled(err)
		}
		if err := pause(b.ctx, 100*time.Millisecond<<b.tries); err != nil {
			return 0, err
		}
	}
}

// readOnce reads from the connection there is, or makes one.
func (b *blobReader) readOnce(p []byte) (int, error) {
	if b.body == nil {
		if err := b.connect(); err != nil {
			return 0, err
		}
	}
	if left := b.size - b.at; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := b.body.Read(p)
	b.at += int64(n)
	if err != nil || b.at == b.size {
		b.Close()
	}
	if n > 0 {
		err = nil
	}
	if err != nil {
		err = &cutError{err}
	}
	return n, err
}

// cutError marks a failure in the middle of a body: whatever it was (HTTP/2
// has its own errors), asking for the rest may help.
type cutError struct{ err error }

func (e *cutError) Error() string {
	if errors.Is(e.err, io.EOF) {
		return "the connection was closed too early"
	}
	return e.err.Error()
}

func (e *cutError) Unwrap() error { return e.err }

func (b *blobReader) connect() error {
	req, err := http.NewRequestWithContext(b.ctx, http.MethodGet, b.from.url("blobs/"+b.digest), nil)
	if err != nil {
		return err
	}
	partial := b.at > 0 && !b.whole
	if partial {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", b.at, b.size-1))
	}
	resp, err := b.from.client.Do(req)
	if err != nil {
		return err
	}
	switch {
	case partial && resp.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", b.at)):
		b.body = resp.Body
		return nil
	case partial && resp.StatusCode != http.StatusOK && resp.StatusCode >= 206 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
		err := transport.CheckError(resp, http.StatusOK)
		resp.Body.Close()
		if k := classify(err).Kind; k == Denied || k == NotFound {
			return err
		}
		b.whole = true
		return b.connect()
	}
	if err := transport.CheckError(resp, http.StatusOK); err != nil {
		resp.Body.Close()
		return err
	}
	// All of it comes: what is here already is read and thrown away.
	if _, err := io.CopyN(io.Discard, resp.Body, b.at); err != nil {
		resp.Body.Close()
		return err
	}
	b.body = resp.Body
	return nil
}

// Close ends the connection; Read would make a new one.
func (b *blobReader) Close() error {
	if b.body == nil {
		return nil
	}
	err := b.body.Close()
	b.body = nil
	return err
}

func (b *blobReader) stalled(err error) error {
	if e := classify(err); e.Kind == Busy {
		return e
	}
	return failf(Stalled, err, "the transfer stopped at byte %d of %d of %s and did not go on in %d attempts (%v); try again: what has come is kept",
		b.at, b.size, short(b.digest), b.tries, err)
}

// resumable says whether asking for the rest may help.
func resumable(err error) bool {
	var cut *cutError
	if errors.Is(err, errIdle) || errors.As(err, &cut) {
		return true
	}
	e := classify(err)
	return e.Kind == Busy || e.Kind == Unreachable && !errors.Is(err, errPlainHTTP)
}

// broken says whether a connection ended before its time.
func broken(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// short is a digest for people.
func short(digest string) string {
	if h := hexOf(digest); len(h) > 12 {
		return "sha256:" + h[:12]
	}
	return digest
}
