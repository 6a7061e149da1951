//go:build linux

package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pipeSize   = 1 << 20
	copySize   = 64 << 10
	indexEvery = 100 * time.Millisecond
	// drainFor is how long the end of a task waits for output from someone
	// outside its tree who still holds the pipe.
	drainFor = time.Second
)

// IndexRecord is the size of one record in a log's index: two little-endian
// 64-bit numbers, Unix milliseconds and the byte offset at which the output
// written from then on begins. At least 100 ms lie between two records.
const IndexRecord = 16

var buffers = sync.Pool{New: func() any { b := make([]byte, copySize); return &b }}

// output moves what comes out of a task's FIFO to its log. It never makes the
// task fail: where the log cannot be written the bytes are counted and dropped.
type output struct {
	pipe  *os.File
	log   *os.File
	index string
	space *space

	size    int64 // of the log; only we write to it
	stamped time.Time
	begun   int64 // size of the log at first
	missing int64 // bytes dropped since the last notice
	copying bool  // this file system, or a terminal, cannot splice
	ended   atomic.Bool
	done    chan struct{}
}

// openOutput opens FIFO and log and begins to copy. The FIFO may hold what was
// written while no keeper was there.
func (k *keeper) openOutput(t *task) (*output, error) {
	pipe, err := os.OpenFile(filepath.Join(t.dir, fifoFile), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return k.startOutput(t, pipe)
}

// startOutput copies from pipe, or from a terminal, to the log. It closes pipe
// at the end, and when it fails.
func (k *keeper) startOutput(t *task, pipe *os.File) (*output, error) {
	log, err := os.OpenFile(k.paths.log(t.id), os.O_RDWR|os.O_CREATE, 0o600) // not O_APPEND: splice refuses that
	if err != nil {
		_ = pipe.Close()
		return nil, err
	}
	o := &output{pipe: pipe, log: log, index: k.index(t.id), space: k.space, copying: t.a.TTY, done: make(chan struct{})}
	rc, err := pipe.SyscallConn()
	if err == nil {
		o.size, err = log.Seek(0, 2)
	}
	if err != nil {
		_ = pipe.Close()
		_ = log.Close()
		return nil, err
	}
	o.begun = o.size
	_ = rc.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	go o.moveAll(rc)
	return o, nil
}

// moveAll runs until finish, then until the pipe is empty.
func (o *output) moveAll(rc syscall.RawConn) {
	defer close(o.done)
	closed := false // nobody has the pipe open for writing
	read := func(fd uintptr) bool {
		for {
			n := o.move(int(fd))
			closed = n == 0
			if n <= 0 {
				return closed && o.ended.Load()
			}
		}
	}
	// finish sets a deadline, to wake us.
	if rc.Read(read) == nil || o.drained(rc) {
		return
	}
	_ = o.pipe.SetReadDeadline(time.Now().Add(drainFor))
	if rc.Read(read) != nil {
		o.drained(rc)
	}
}

// drained takes what is in the pipe now, a pipe full at most, and reports
// whether it is closed.
func (o *output) drained(rc syscall.RawConn) (closed bool) {
	_ = rc.Control(func(fd uintptr) {
		for left := pipeSize; left > 0; {
			n := o.move(int(fd))
			if n <= 0 {
				closed = n == 0
				return
			}
			left -= n
		}
	})
	return closed
}

// move takes one piece from the pipe. It returns 0 when the pipe is closed and
// -1 when it is empty. In the kernel, writing the log and emptying the pipe are
// one step: no keeper can die between them, so no byte is lost or written twice.
func (o *output) move(pipe int) int {
	if o.copying || !o.space.room(copySize, o.missing > 0) {
		return o.take(pipe)
	}
	if o.missing > 0 && !o.waiting(pipe) {
		return o.take(pipe) // empty or closed: nothing to put behind a notice
	}
	if o.missing > 0 && !o.notice() {
		return o.take(pipe)
	}
	for {
		at := o.size
		n, err := unix.Splice(pipe, nil, int(o.log.Fd()), &at, copySize, unix.SPLICE_F_NONBLOCK)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return -1
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			o.copying = true
			return o.take(pipe)
		case err != nil:
			return o.drop(pipe)
		}
		if n > 0 {
			o.stamp()
			o.size += n
		}
		return int(n)
	}
}

// waiting reports whether there is something to read.
func (o *output) waiting(pipe int) bool {
	n, err := unix.IoctlGetInt(pipe, unix.TIOCINQ)
	return err == nil && n > 0
}

// take reads one piece and writes it, if there is room.
func (o *output) take(pipe int) int {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	n := readPipe(pipe, *buf)
	if n <= 0 {
		return n
	}
	b := (*buf)[:n]
	if !o.space.room(n, o.missing > 0) || o.missing > 0 && !o.notice() {
		o.missing += int64(n)
		return n
	}
	o.stamp()
	o.missing += int64(n) - o.append(b)
	return n
}

// drop takes one piece that could not be written.
func (o *output) drop(pipe int) int {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	n := readPipe(pipe, *buf)
	o.missing += int64(max(n, 0))
	return n
}

func readPipe(pipe int, b []byte) int {
	for {
		n, err := unix.Read(pipe, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EIO) {
			return 0 // of a terminal: nobody has it open
		}
		if err != nil {
			return -1
		}
		return n
	}
}

func (o *output) append(b []byte) int64 {
	n, _ := o.log.WriteAt(b, o.size)
	o.size += int64(max(n, 0))
	return int64(max(n, 0))
}

// stamp notes in the index when the next byte was written.
func (o *output) stamp() {
	now := time.Now()
	if now.Sub(o.stamped) < indexEvery {
		return
	}
	o.stamped = now
	f, err := os.OpenFile(o.index, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return // the log matters, its index is a comfort
	}
	rec := binary.LittleEndian.AppendUint64(nil, uint64(now.UnixMilli()))
	_, _ = f.Write(binary.LittleEndian.AppendUint64(rec, uint64(o.size)))
	_ = f.Close()
}

// notice says in the log how much is missing at this place.
func (o *output) notice() bool {
	ok := o.say(fmt.Sprintf("[muster] %s bytes of output are missing here: no space left on device", thousands(o.missing)))
	if ok {
		o.missing = 0
	}
	return ok
}

// say puts a line of ours into the log, on a line of its own, or nothing.
func (o *output) say(line string) bool {
	last := []byte{'\n'}
	if o.size > 0 {
		_, _ = o.log.ReadAt(last, o.size-1)
	}
	if line += "\n"; last[0] != '\n' {
		line = "\n" + line
	}
	n, err := o.log.WriteAt([]byte(line), o.size)
	if err != nil {
		if n > 0 {
			_ = o.log.Truncate(o.size)
		}
		return false
	}
	o.size += int64(n)
	return true
}

// finish waits for what is still in the pipe, adds remark if there is one, and
// closes everything. The last notice may use the reserve: it is short and must
// not be missed.
func (o *output) finish(remark string) {
	o.ended.Store(true)
	_ = o.pipe.SetReadDeadline(time.Unix(1, 0))
	<-o.done
	if o.missing > 0 {
		o.notice()
	}
	if remark != "" {
		o.say("[muster] " + remark)
	}
	_ = o.pipe.Close()
	_ = o.log.Close()
}

// discard forgets what was written since openOutput; only after finish.
func (o *output) discard(path string) {
	_ = os.Truncate(path, o.begun)
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
