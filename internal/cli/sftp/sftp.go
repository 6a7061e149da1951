// Package sftp serves version 3 of the SSH file transfer protocol, as the sftp
// and scp programs speak it, over files that Files reaches.
package sftp

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// The kinds of packets.
const (
	fxInit, fxVersion                        = 1, 2
	fxOpen, fxClose, fxRead, fxWrite         = 3, 4, 5, 6
	fxLstat, fxFstat, fxSetstat, fxFsetstat  = 7, 8, 9, 10
	fxOpendir, fxReaddir, fxRemove, fxMkdir  = 11, 12, 13, 14
	fxRmdir, fxRealpath, fxStat, fxRename    = 15, 16, 17, 18
	fxReadlink, fxSymlink                    = 19, 20
	fxStatus, fxHandle, fxData, fxName       = 101, 102, 103, 104
	fxAttrs, fxExtended                      = 105, 200
	version                                  = 3
	packetMost                               = 256 << 10 // bytes of one packet, as OpenSSH has it
	handlesMost                              = 200
	okay, eof, noFile, denied, failure, badM = 0, 1, 2, 3, 4, 5
	unsupported                              = 8
)

// The errors of Files that clients tell apart.
var (
	ErrNotFound    = errors.New("no such file")
	ErrDenied      = errors.New("permission denied")
	ErrUnsupported = errors.New("not supported")
)

// Attr is what is known of a file.
type Attr struct {
	Size         int64
	UID, GID     uint32
	Mode         uint32 // permissions and type, as stat(2) has them
	Atime, Mtime time.Time
}

// Change holds the attributes of a file to set; those that are nil stay.
type Change struct {
	Size  *int64
	Mode  *uint32 // permissions alone
	Owner *[2]uint32
	Times *[2]time.Time // of access, of change
}

// Entry is a file in a directory.
type Entry struct {
	Name string
	Attr
}

// Flags say how a file is opened.
type Flags struct {
	Read, Write, Append, Create, Truncate, Exclusive bool
}

// File is an open file. Offsets that follow each other are what it is made for.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Files is where the files are. Paths are absolute, or begin where commands do.
type Files interface {
	Stat(ctx context.Context, path string, follow bool) (Attr, error)
	List(ctx context.Context, path string) ([]Entry, error)
	Open(ctx context.Context, path string, f Flags, mode uint32) (File, error)
	Change(ctx context.Context, path string, c Change) error
	Remove(ctx context.Context, path string) error
	Mkdir(ctx context.Context, path string, mode uint32) error
	Rmdir(ctx context.Context, path string) error
	Rename(ctx context.Context, from, to string, replace bool) error
	Symlink(ctx context.Context, target, path string) error
	Readlink(ctx context.Context, path string) (string, error)
	Realpath(ctx context.Context, path string) (string, error)
}

type handle struct {
	path string
	file File // nil: a directory
	list []Entry
	done int
}

type server struct {
	ctx     context.Context
	files   Files
	out     *bufio.Writer
	handles map[string]*handle
	next    uint64
}

// Serve answers requests until in ends, and closes what is left open.
func Serve(ctx context.Context, in io.Reader, out io.Writer, files Files) error {
	s := &server{ctx: ctx, files: files, out: bufio.NewWriterSize(out, 64<<10), handles: map[string]*handle{}}
	defer func() {
		for _, h := range s.handles {
			if h.file != nil {
				_ = h.file.Close()
			}
		}
	}()
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		p, err := readPacket(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.answer(p); err != nil {
			return err
		}
		if r.Buffered() == 0 { // the answers of a burst go together
			if err := s.out.Flush(); err != nil {
				return err
			}
		}
	}
}

// answer does what one packet asks. An error of the connection ends it; what a
// request comes to goes back as a status.
func (s *server) answer(p *packet) error {
	kind := p.byte()
	if kind == fxInit {
		return s.send(new(message).byte(fxVersion).uint32(version).string("posix-rename@openssh.com").string("1").string("fsync@openssh.com").string("1"))
	}
	id := p.uint32()
	if p.bad {
		return fmt.Errorf("sftp: a packet of kind %d is cut short", kind)
	}
	m, err := s.do(kind, id, p)
	switch {
	case p.bad:
		m = status(id, badM, "the request is cut short")
	case err != nil:
		m = statusOf(id, err)
	case m == nil:
		m = status(id, okay, "")
	}
	return s.send(m)
}

func (s *server) send(m *message) error {
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(m.data)))
	if _, err := s.out.Write(head[:]); err != nil {
		return err
	}
	_, err := s.out.Write(m.data)
	return err
}

func (s *server) do(kind byte, id uint32, p *packet) (*message, error) {
	switch kind {
	case fxOpen, fxClose, fxRead, fxWrite, fxFstat, fxFsetstat, fxOpendir, fxReaddir:
		return s.doHandle(kind, id, p)
	case fxExtended:
		return s.extended(p)
	}
	path := p.string()
	switch kind {
	case fxStat, fxLstat:
		a, err := s.files.Stat(s.ctx, path, kind == fxStat)
		return new(message).byte(fxAttrs).uint32(id).attr(a), err
	case fxSetstat:
		return nil, s.files.Change(s.ctx, path, p.change())
	case fxRemove:
		return nil, s.files.Remove(s.ctx, path)
	case fxMkdir:
		mode := uint32(0o777)
		if c := p.change(); c.Mode != nil {
			mode = *c.Mode
		}
		return nil, s.files.Mkdir(s.ctx, path, mode)
	case fxRmdir:
		return nil, s.files.Rmdir(s.ctx, path)
	case fxRename:
		return nil, s.files.Rename(s.ctx, path, p.string(), false)
	case fxSymlink: // OpenSSH sends the target first, and everyone follows it
		return nil, s.files.Symlink(s.ctx, path, p.string())
	case fxRealpath:
		name, err := s.files.Realpath(s.ctx, path)
		return names(id, name), err
	case fxReadlink:
		name, err := s.files.Readlink(s.ctx, path)
		return names(id, name), err
	}
	return nil, ErrUnsupported
}

func names(id uint32, name string) *message {
	return new(message).byte(fxName).uint32(id).uint32(1).string(name).string(name).uint32(0)
}

func (s *server) extended(p *packet) (*message, error) {
	switch p.string() {
	case "posix-rename@openssh.com":
		from := p.string()
		return nil, s.files.Rename(s.ctx, from, p.string(), true)
	case "fsync@openssh.com":
		return nil, nil // what is closed is there
	}
	return nil, ErrUnsupported
}

// doHandle does what is about open files and directories.
func (s *server) doHandle(kind byte, id uint32, p *packet) (*message, error) {
	name := p.string()
	switch kind {
	case fxOpen:
		bits := p.uint32()
		c := p.change()
		mode := uint32(0o666)
		if c.Mode != nil {
			mode = *c.Mode
		}
		f := Flags{Read: bits&1 != 0, Write: bits&2 != 0, Append: bits&4 != 0, Create: bits&8 != 0, Truncate: bits&16 != 0, Exclusive: bits&32 != 0}
		if len(s.handles) >= handlesMost {
			return nil, errors.New("too many open files")
		}
		file, err := s.files.Open(s.ctx, name, f, mode)
		if err != nil {
			return nil, err
		}
		return s.opened(id, &handle{path: name, file: file}), nil
	case fxOpendir:
		if len(s.handles) >= handlesMost {
			return nil, errors.New("too many open files")
		}
		list, err := s.files.List(s.ctx, name)
		if err != nil {
			return nil, err
		}
		return s.opened(id, &handle{path: name, list: list}), nil
	}
	h := s.handles[name]
	if h == nil {
		return nil, errors.New("no such handle")
	}
	switch kind {
	case fxClose:
		delete(s.handles, name)
		if h.file != nil {
			return nil, h.file.Close()
		}
		return nil, nil
	case fxFstat:
		a, err := s.files.Stat(s.ctx, h.path, true)
		return new(message).byte(fxAttrs).uint32(id).attr(a), err
	case fxFsetstat:
		return nil, s.changeOpen(h, p.change())
	case fxReaddir:
		return h.more(id)
	}
	if h.file == nil {
		return nil, errors.New("it is a directory")
	}
	offset := int64(p.uint64())
	if offset < 0 {
		return nil, errors.New("the offset is too large")
	}
	if kind == fxWrite {
		_, err := h.file.WriteAt(p.bytes(), offset)
		return nil, err
	}
	buf := make([]byte, min(p.uint32(), packetMost-1024))
	n, err := h.file.ReadAt(buf, offset)
	if n > 0 {
		return new(message).byte(fxData).uint32(id).string(string(buf[:n])), nil
	}
	if err == nil {
		err = io.EOF
	}
	return nil, err
}

// syncer is a file that may have writes in progress.
type syncer interface{ Sync() error }

// changeOpen changes a file that is open: first all that was written must be
// there, or its times would be those of the last write.
func (s *server) changeOpen(h *handle, c Change) error {
	if f, ok := h.file.(syncer); ok {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return s.files.Change(s.ctx, h.path, c)
}

func (s *server) opened(id uint32, h *handle) *message {
	s.next++
	name := fmt.Sprintf("%d", s.next)
	s.handles[name] = h
	return new(message).byte(fxHandle).uint32(id).string(name)
}

// entriesAtOnce is how many entries of a directory go into one packet.
const entriesAtOnce = 100

func (h *handle) more(id uint32) (*message, error) {
	if h.file != nil {
		return nil, errors.New("it is no directory")
	}
	part := h.list[h.done:min(h.done+entriesAtOnce, len(h.list))]
	if len(part) == 0 {
		return nil, io.EOF
	}
	h.done += len(part)
	m := new(message).byte(fxName).uint32(id).uint32(uint32(len(part)))
	for _, e := range part {
		m.string(e.Name).string(longName(e)).attr(e.Attr)
	}
	return m, nil
}
