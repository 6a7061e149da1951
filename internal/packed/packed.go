// Package packed puts one program at the end of another, and takes it out again:
// so one file to download starts as quickly as the small program, and has all of
// the large one.
package packed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// mark ends a file that holds another. Before it lies a trailer of fixed size.
const mark = "muster-packed-1\n"

// trailer is what is at the very end, before the mark.
type trailer struct {
	Packed uint64 // bytes of the compressed program, which lies before this
	Size   uint64 // of the program
	Sum    [sha256.Size]byte
}

// ErrNone is returned where a file holds no other.
var ErrNone = errors.New("this file holds no other program")

// From is the variable in which the small program tells the one that it becomes out of
// which file it came.
const From = "MUSTER_PACKED_IN"

// Names of what Unpack makes.
const (
	folder = "program"
	whole  = "muster"
	first  = "client"
	part   = "part-"
)

// The large program is compressed as what follows the small one: they have much of
// their code and most of their strings in common, which makes a fifth less of it. Both
// have to lie within what a reference can reach back.
const (
	dictionary = 1
	reach      = 128 << 20 // bytes; a power of two
)

// Pack writes small, and after it large, to a program at path.
func Pack(path, small, large string) error {
	front, err := os.ReadFile(small)
	if err != nil {
		return err
	}
	back, err := os.ReadFile(large)
	if err != nil {
		return err
	}
	if len(front)+len(back) > reach {
		return fmt.Errorf("%s and %s have %d bytes together; at most %d can be packed", small, large, len(front)+len(back), reach)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithWindowSize(reach), zstd.WithEncoderDictRaw(dictionary, front))
	if err != nil {
		return err
	}
	squeezed := enc.EncodeAll(back, nil)
	out := bytes.NewBuffer(append(front, squeezed...))
	if err := binary.Write(out, binary.LittleEndian, trailer{Packed: uint64(len(squeezed)), Size: uint64(len(back)), Sum: sha256.Sum256(back)}); err != nil {
		return err
	}
	out.WriteString(mark)
	return write(path, out)
}

// write makes a program of what r holds. Nobody finds half of it under its name,
// not even after a loss of power.
func write(path string, r io.Reader) error {
	f, err := os.CreateTemp(filepath.Dir(path), part)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	err = errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// find reads the trailer of a file.
func find(f *os.File) (t trailer, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return t, 0, err
	}
	end := int64(binary.Size(t) + len(mark))
	if info.Size() < end {
		return t, 0, ErrNone
	}
	buf := make([]byte, end)
	if _, err := f.ReadAt(buf, info.Size()-end); err != nil {
		return t, 0, err
	}
	if string(buf[binary.Size(t):]) != mark {
		return t, 0, ErrNone
	}
	if _, err := binary.Decode(buf, binary.LittleEndian, &t); err != nil {
		return t, 0, err
	}
	size = info.Size() - end - int64(t.Packed)
	if size <= 0 {
		return t, 0, fmt.Errorf("%s is cut off or damaged", f.Name())
	}
	return t, size, nil
}

// Unpack takes the program out that the one at path holds, below dir, unless it is
// there already, and returns where it is. Beside it is the small one, see Small.
func Unpack(path, dir string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	t, size, err := find(f)
	if err != nil {
		return "", err
	}
	place := filepath.Join(dir, folder, hex.EncodeToString(t.Sum[:8]))
	program := filepath.Join(place, whole)
	if info, err := os.Stat(program); err == nil && info.Size() == int64(t.Size) {
		return program, nil
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return "", err
	}
	if err := write(filepath.Join(place, first), io.NewSectionReader(f, 0, size)); err != nil {
		return "", err
	}
	front := make([]byte, size)
	if _, err := f.ReadAt(front, 0); err != nil {
		return "", err
	}
	// One thread is quick enough, and needs least memory.
	dec, err := zstd.NewReader(io.NewSectionReader(f, size, int64(t.Packed)), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(reach), zstd.WithDecoderDictRaw(dictionary, front))
	if err != nil {
		return "", err
	}
	defer dec.Close()
	sum := sha256.New()
	if err := write(program, &checked{r: io.TeeReader(dec, sum), done: func() error {
		if [sha256.Size]byte(sum.Sum(nil)) != t.Sum {
			return fmt.Errorf("%s is damaged: what it holds is not what was packed", path)
		}
		return nil
	}}); err != nil {
		return "", err
	}
	return program, nil
}

// checked is a reader whose end is looked at.
type checked struct {
	r    io.Reader
	done func() error
}

func (c *checked) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if err == io.EOF {
		if bad := c.done(); bad != nil {
			return n, bad
		}
	}
	return n, err
}

// Small is the small program that was unpacked together with the one that lies at
// path, or that one itself where it was not unpacked.
func Small(path string) string {
	at := filepath.Join(filepath.Dir(path), first)
	if filepath.Base(filepath.Dir(filepath.Dir(path))) != folder {
		return path
	}
	if _, err := os.Stat(at); err != nil {
		return path
	}
	return at
}

// Sweep removes what was unpacked below dir of other versions than the one that lies
// at path, and halves of files that nobody writes any more. What still runs of them
// goes on: the kernel keeps it.
func Sweep(dir, path string) error {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		place := filepath.Join(dir, folder, e.Name())
		if filepath.Dir(path) != place {
			err = errors.Join(err, os.RemoveAll(place))
			continue
		}
		halves, _ := filepath.Glob(filepath.Join(place, part+"*"))
		for _, h := range halves {
			err = errors.Join(err, os.Remove(h))
		}
	}
	return err
}
