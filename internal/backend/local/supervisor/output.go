//go:build linux

package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/backend/logfile"
)

const (
	pipeSize = 1 << 20
	copySize = 64 << 10
	// drainFor is how long the end of a task waits for output from someone
	// outside its tree who still holds the pipe.
	drainFor = time.Second
)

var buffers = sync.Pool{New: func() any { b := make([]byte, copySize); return &b }}

// output moves what comes out of a task's FIFO to its log. It never makes the
// task fail: where the log cannot be written the bytes are counted and dropped.
type output struct {
	*logfile.Writer
	pipe    *os.File
	begun   int64 // size of the log at first
	copying bool  // this file system, or a terminal, cannot splice
	fresh   bool  // nobody had the FIFO open: what was in its pipe before is gone
	ended   atomic.Bool
	done    chan struct{}
}

// openOutput opens FIFO and log and begins to copy. The FIFO may hold what was
// written while no supervisor was there.
func (t *task) openOutput() (*output, error) {
	pipe, err := os.OpenFile(filepath.Join(t.dir, taskdir.FifoFile), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return t.startOutput(pipe)
}

// startOutput copies from pipe, or from a terminal, to the log. It closes pipe
// at the end, and when it fails.
func (t *task) startOutput(pipe *os.File) (*output, error) {
	k := t.supervisor
	log, err := logfile.Append(k.paths.Log(t.id), k.paths.Out().Index(t.id), k.space)
	if err != nil {
		_ = pipe.Close()
		return nil, err
	}
	if t.as != nil { // it counts as theirs, where quotas are; who reads it is the server's to say
		_ = log.File.Chown(int(t.as.UID), int(t.as.GID))
		_ = os.Lchown(k.paths.Out().Index(t.id), int(t.as.UID), int(t.as.GID))
	}
	rc, err := pipe.SyscallConn()
	if err != nil {
		_ = pipe.Close()
		log.Close("")
		return nil, err
	}
	o := &output{Writer: log, pipe: pipe, begun: log.Size, copying: t.a.TTY, done: make(chan struct{})}
	_ = rc.Control(func(fd uintptr) {
		// A pipe goes with the last who has it open, and a new one is smaller than
		// what every supervisor makes of it.
		size, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		o.fresh = err == nil && size < pipeSize
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize)
	})
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
// one step: no supervisor can die between them, so no byte is lost or written twice.
func (o *output) move(pipe int) int {
	if o.copying || !o.Room(copySize) {
		return o.read(pipe)
	}
	if o.Missing > 0 && (!o.waiting(pipe) || !o.Notice()) {
		return o.read(pipe) // of an empty or closed pipe, nothing: there is nothing to put behind a notice
	}
	for {
		at := o.Size
		n, err := unix.Splice(pipe, nil, int(o.File.Fd()), &at, copySize, unix.SPLICE_F_NONBLOCK)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return -1
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			o.copying = true
			return o.read(pipe)
		case err != nil:
			return o.drop(pipe)
		}
		if n > 0 {
			o.Stamp(time.Now())
			o.Size += n
		}
		return int(n)
	}
}

// waiting reports whether there is something to read.
func (o *output) waiting(pipe int) bool {
	n, err := unix.IoctlGetInt(pipe, unix.TIOCINQ)
	return err == nil && n > 0
}

// read copies one piece of a pipe to the log, if there is room.
func (o *output) read(pipe int) int {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	n := readPipe(pipe, *buf)
	if n <= 0 {
		return n
	}
	o.Write((*buf)[:n], time.Now())
	return n
}

// drop takes one piece that could not be written.
func (o *output) drop(pipe int) int {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	n := readPipe(pipe, *buf)
	o.Missing += int64(max(n, 0))
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

// finish waits for what is still in the pipe, adds remark if there is one, and
// closes everything.
func (o *output) finish(remark string) {
	o.ended.Store(true)
	_ = o.pipe.SetReadDeadline(time.Unix(1, 0))
	<-o.done
	_ = o.pipe.Close()
	o.Close(remark)
}

// discard forgets what was written since openOutput; only after finish.
func (o *output) discard(path string) {
	_ = os.Truncate(path, o.begun)
}
