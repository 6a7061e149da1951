package backend

import (
	"bytes"
	"io"
	"time"
)

// TimeLayout is the form of the times that LogOptions.Times asks for: in UTC,
// to the millisecond, with a space behind. It is always as long as itself.
const TimeLayout = "2006-01-02T15:04:05.000Z "

// Positioned is a log that knows where it began; what Logs returns may be one.
type Positioned interface {
	io.ReadCloser
	// Offset is the byte of the log with which the reader began.
	Offset() int64
}

// Opened is r as a log that began at offset.
func Opened(r io.ReadCloser, offset int64) Positioned { return opened{r, offset} }

type opened struct {
	io.ReadCloser
	offset int64
}

func (o opened) Offset() int64 { return o.offset }

// Timed puts the time before each line of r, whose first byte is that at
// offset of the log. when says when a byte was written; it is asked in the
// order of offsets.
func Timed(r io.ReadCloser, offset int64, when func(offset int64) time.Time) io.ReadCloser {
	return &timed{ReadCloser: r, offset: offset, when: when, begin: true}
}

type timed struct {
	io.ReadCloser
	offset int64
	when   func(int64) time.Time
	begin  bool   // the next byte begins a line
	ready  []byte // not yet read by the caller
	err    error
	buf    [16 << 10]byte
}

// Read implements io.Reader.
func (t *timed) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(t.ready) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		var n int
		n, t.err = t.ReadCloser.Read(t.buf[:])
		t.ready = t.ready[:0]
		for rest := t.buf[:n]; len(rest) > 0; {
			if t.begin {
				t.ready = t.when(t.offset).UTC().AppendFormat(t.ready, TimeLayout)
			}
			end := bytes.IndexByte(rest, '\n') + 1
			if t.begin = end > 0; !t.begin {
				end = len(rest)
			}
			t.ready = append(t.ready, rest[:end]...)
			t.offset += int64(end)
			rest = rest[end:]
		}
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}
