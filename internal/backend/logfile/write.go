package logfile

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Writer appends to a log. It never fails: where the log cannot be written the
// bytes are counted, and the log tells how many are missing. It is for one
// goroutine, and the only one that writes to its file.
type Writer struct {
	File    *os.File
	Size    int64 // of the log
	Missing int64 // bytes dropped since the last notice

	index   string
	space   *Space
	stamped time.Time
}

// Append opens a log and its index to write at the end. A nil space knows no
// reserve.
func Append(log, index string, space *Space) (*Writer, error) {
	f, err := os.OpenFile(log, os.O_RDWR|os.O_CREATE, 0o600) // not O_APPEND: splice refuses that
	if err != nil {
		return nil, err
	}
	w := &Writer{File: f, index: index, space: space}
	if w.Size, err = f.Seek(0, 2); err != nil {
		_ = f.Close()
		return nil, err
	}
	if last, err := Last(index); err == nil {
		w.stamped = last.At
	}
	return w, nil
}

// Room reports whether n more bytes may be written.
func (w *Writer) Room(n int) bool { return w.space.room(n, w.Missing > 0) }

// Write appends b, which was written at a time, or drops it. Where that is not
// known, or what came before was written at that time too, it is zero.
func (w *Writer) Write(b []byte, at time.Time) {
	if !w.Room(len(b)) || w.Missing > 0 && !w.Notice() {
		w.Missing += int64(len(b))
		return
	}
	w.Stamp(at)
	n, _ := w.File.WriteAt(b, w.Size)
	n = max(n, 0)
	w.Size += int64(n)
	w.Missing += int64(len(b) - n)
}

// Due reports whether the index has to say that the next byte is written at a
// time. After a remark of ours it always has to.
func (w *Writer) Due(at time.Time) bool {
	d := at.Sub(w.stamped)
	return !at.IsZero() && (d < 0 || d >= IndexEvery)
}

// Stamp notes in the index when the next byte is written, where that is due.
func (w *Writer) Stamp(at time.Time) {
	if !w.Due(at) {
		return
	}
	w.stamped = at
	f, err := os.OpenFile(w.index, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return // the log matters, its index is a comfort
	}
	rec := binary.LittleEndian.AppendUint64(nil, uint64(at.UnixMilli()))
	_, _ = f.Write(binary.LittleEndian.AppendUint64(rec, uint64(w.Size)))
	_ = f.Close()
}

// Notice says in the log how much is missing at this place.
func (w *Writer) Notice() bool {
	ok := w.Say(fmt.Sprintf("%s bytes of output are missing here: no space left on device", thousands(w.Missing)))
	if ok {
		w.Missing = 0
	}
	return ok
}

// Say puts a remark of ours into the log, on a line of its own, or nothing.
func (w *Writer) Say(remark string) bool {
	last := []byte{'\n'}
	if w.Size > 0 {
		_, _ = w.File.ReadAt(last, w.Size-1)
	}
	line := "[muster] " + remark + "\n"
	if last[0] != '\n' {
		line = "\n" + line
	}
	n, err := w.File.WriteAt([]byte(line), w.Size)
	if err != nil {
		if n > 0 {
			_ = w.File.Truncate(w.Size)
		}
		return false
	}
	w.Size += int64(n)
	w.stamped = time.Time{}
	return true
}

// Close adds what there is to say about what is missing, and remark if there is
// one. The last notice may use the reserve: it is short and must not be missed.
func (w *Writer) Close(remark string) {
	if w.Missing > 0 {
		w.Notice()
	}
	if remark != "" {
		w.Say(remark)
	}
	_ = w.File.Close()
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
