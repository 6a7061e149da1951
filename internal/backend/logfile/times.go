package logfile

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// IndexRecord is the size of one record in a log's index: two little-endian
// 64-bit numbers, Unix milliseconds and the byte offset at which the output
// written from then on begins.
const IndexRecord = 16

// IndexEvery is the least time between two records. What was written later than
// that after a record has a record of its own.
const IndexEvery = 100 * time.Millisecond

// Mark says that from an offset on the log was written at a time or later.
type Mark struct {
	At     time.Time
	Offset int64
}

func toMark(b []byte) Mark {
	return Mark{time.UnixMilli(int64(binary.LittleEndian.Uint64(b))), int64(binary.LittleEndian.Uint64(b[8:]))}
}

// Last is the last mark of an index; the zero Mark where there is none.
func Last(index string) (Mark, error) {
	f, err := os.Open(index)
	if errors.Is(err, os.ErrNotExist) {
		return Mark{}, nil
	}
	if err != nil {
		return Mark{}, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil || st.Size() < IndexRecord {
		return Mark{}, err
	}
	var b [IndexRecord]byte
	if _, err := f.ReadAt(b[:], (st.Size()/IndexRecord-1)*IndexRecord); err != nil {
		return Mark{}, err
	}
	return toMark(b[:]), nil
}

// times reads the index of a log. A log without one was written at an unknown
// time, which is the zero time.
type times struct {
	path string
	mu   sync.Mutex // a log may be closed while it is read
	file *os.File
	shut bool

	read int64  // records read
	some []byte // records read and not yet looked at
	now  Mark   // the last one looked at
	next *Mark
}

// open returns the index, which may come to be only after its log.
func (x *times) open() (*os.File, error) {
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

func (x *times) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shut = true; x.file != nil {
		_ = x.file.Close()
	}
}

// at returns when the byte at offset was written. Offsets must not fall.
func (x *times) at(offset int64) time.Time {
	for {
		if x.next == nil && !x.advance() || x.next.Offset > offset {
			return x.now.At
		}
		x.now, x.next = *x.next, nil
	}
}

// advance takes one record more; there may be none yet.
func (x *times) advance() bool {
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
	m := toMark(x.some)
	x.next, x.some = &m, x.some[IndexRecord:]
	return true
}

// since returns where the output written from then on begins. Between two
// records up to IndexEvery of output has no time of its own; it counts as new.
func (x *times) since(then time.Time, log *os.File) (int64, error) {
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
		if toMark(b[:]).At.Add(IndexEvery).After(then) {
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
	return toMark(b[:]).Offset, err
}
