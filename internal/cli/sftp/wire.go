package sftp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// packet is a request that is read from its beginning; bad says that it ended
// too early.
type packet struct {
	data []byte
	bad  bool
}

func readPacket(r *bufio.Reader) (*packet, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > packetMost {
		return nil, fmt.Errorf("sftp: a packet of %d bytes; 1 to %d are taken", n, packetMost)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("sftp: a packet broke off: %w", err)
	}
	return &packet{data: data}, nil
}

func (p *packet) take(n int) []byte {
	if n < 0 || n > len(p.data) {
		p.bad, p.data = true, nil
		return make([]byte, min(max(n, 0), 8))
	}
	b := p.data[:n]
	p.data = p.data[n:]
	return b
}

func (p *packet) byte() byte     { return p.take(1)[0] }
func (p *packet) uint32() uint32 { return binary.BigEndian.Uint32(p.take(4)) }
func (p *packet) uint64() uint64 { return binary.BigEndian.Uint64(p.take(8)) }
func (p *packet) bytes() []byte {
	n := p.uint32()
	if p.bad || uint64(n) > uint64(len(p.data)) {
		p.bad = true
		return nil
	}
	return p.take(int(n))
}
func (p *packet) string() string { return string(p.bytes()) }

// The parts that attributes may have.
const (
	attrSize, attrOwner, attrMode, attrTimes = 1, 2, 4, 8
	attrExtended                             = 1 << 31
)

func (p *packet) change() (c Change) {
	bits := p.uint32()
	if bits&attrSize != 0 {
		n := int64(p.uint64())
		c.Size = &n
	}
	if bits&attrOwner != 0 {
		c.Owner = &[2]uint32{p.uint32(), p.uint32()}
	}
	if bits&attrMode != 0 {
		n := p.uint32() & 0o7777
		c.Mode = &n
	}
	if bits&attrTimes != 0 {
		c.Times = &[2]time.Time{time.Unix(int64(p.uint32()), 0), time.Unix(int64(p.uint32()), 0)}
	}
	if bits&attrExtended != 0 {
		for n := p.uint32(); n > 0 && !p.bad; n-- {
			p.bytes()
			p.bytes()
		}
	}
	return c
}

// message is an answer that is written.
type message struct{ data []byte }

func (m *message) byte(b byte) *message { m.data = append(m.data, b); return m }
func (m *message) uint32(n uint32) *message {
	m.data = binary.BigEndian.AppendUint32(m.data, n)
	return m
}
func (m *message) uint64(n uint64) *message {
	m.data = binary.BigEndian.AppendUint64(m.data, n)
	return m
}
func (m *message) string(s string) *message {
	m.uint32(uint32(len(s)))
	m.data = append(m.data, s...)
	return m
}

func (m *message) attr(a Attr) *message {
	return m.uint32(attrSize | attrOwner | attrMode | attrTimes).uint64(uint64(a.Size)).uint32(a.UID).uint32(a.GID).uint32(a.Mode).
		uint32(uint32(a.Atime.Unix())).uint32(uint32(a.Mtime.Unix()))
}

func status(id uint32, code uint32, text string) *message {
	return new(message).byte(fxStatus).uint32(id).uint32(code).string(text).string("")
}

func statusOf(id uint32, err error) *message {
	code := uint32(failure)
	switch {
	case errors.Is(err, io.EOF):
		code = eof
	case errors.Is(err, ErrNotFound):
		code = noFile
	case errors.Is(err, ErrDenied):
		code = denied
	case errors.Is(err, ErrUnsupported):
		code = unsupported
	}
	return status(id, code, err.Error())
}

// The types of files in Attr.Mode, as stat(2) has them.
const (
	typeMask, typeDir, typeLink = 0o170000, 0o040000, 0o120000
)

// Dir reports whether it is a directory.
func (a Attr) Dir() bool { return a.Mode&typeMask == typeDir }

// longName is an entry as ls -l writes it; people see it, and no program reads it.
func longName(e Entry) string {
	mode := fs.FileMode(e.Mode & 0o777)
	switch e.Mode & typeMask {
	case typeDir:
		mode |= fs.ModeDir
	case typeLink:
		mode |= fs.ModeSymlink
	}
	text := mode.String()
	if e.Mode&typeMask == typeLink {
		text = "l" + text[1:]
	}
	return fmt.Sprintf("%s    1 %-8d %-8d %8d %s %s", text, e.UID, e.GID, e.Size, e.Mtime.Format("Jan _2  2006"), e.Name)
}
