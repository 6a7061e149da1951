//go:build linux

package local

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// logTimes reads the index of a log, which says when what was written. A log
// without one was written at an unknown time, which is the zero time.
type logTimes struct {
	path string
	mu   sync.Mutex // a log may be closed while it is read
	file *os.File
	shut bool

	read int64   // records read
	some []byte  // records read and not yet looked at
	now  logTime // the last one looked at
	next *logTime
}

// logTime says that from offset on the log was written at a time or later.
type logTime struct {
	at     time.Time
	offset int64
}

func toLogTime(b []byte) logTime {
	return logTime{time.UnixMilli(int64(binary.LittleEndian.Uint64(b))), int64(binary.LittleEndian.Uint64(b[8:]))}
}

// open returns the index, which may come to be only after its log.
func (x *logTimes) open() (*os.File, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shut {
		return nil, os.ErrClosed
	}
	if x.file == nil {
		f, err := os.Open(x.path)
		if err != nil {
			return nil, err
		}
		x.file = f
	}
	return x.file, nil
}

func (x *logTimes) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shut = true; x.file != nil {
		_ = x.file.Close()
	}
}

// at returns when the byte at offset was written. Offsets must not fall.
func (x *logTimes) at(offset int64) time.Time {
	for {
		if x.next == nil && !x.advance() || x.next.offset > offset {
			return x.now.at
		}
		x.now, x.next = *x.next, nil
	}
}

// advance takes one record more; there may be none yet.
func (x *logTimes) advance() bool {
	if len(x.some) < IndexRecord {
		f, err := x.open()
		if err != nil {
			return false
		}
		buf := make([]byte, 256*IndexRecord)
		n, _ := f.ReadAt(buf, x.read*IndexRecord)
		whole := n / IndexRecord
		x.some, x.read = buf[:whole*IndexRecord], x.read+int64(whole)
		if whole == 0 {
			return false
		}
	}
	t := toLogTime(x.some)
	x.next, x.some = &t, x.some[IndexRecord:]
	return true
}

// since returns where the output written from then on begins. Between two
// records up to indexEvery of output has no time of its own; it counts as new.
func (x *logTimes) since(then time.Time, log *os.File) (int64, error) {
	f, err := x.open()
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil // nobody knows when it was written: better too much than too little
	}
	if err != nil {
		return 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	lo, hi := int64(0), st.Size()/IndexRecord // the first record whose time ends after then
	for lo < hi {
		mid := (lo + hi) / 2
		var b [IndexRecord]byte
		if _, err := f.ReadAt(b[:], mid*IndexRecord); err != nil {
			return 0, err
		}
		if toLogTime(b[:]).at.Add(indexEvery).After(then) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == st.Size()/IndexRecord {
		return log.Seek(0, io.SeekEnd)
	}
	var b [IndexRecord]byte
	_, err = f.ReadAt(b[:], lo*IndexRecord)
	return toLogTime(b[:]).offset, err
}

// timedLog closes a log and its index.
type timedLog struct {
	io.ReadCloser
	times *logTimes
}

// Close implements io.Closer.
func (t timedLog) Close() error {
	t.times.close()
	return t.ReadCloser.Close()
}
