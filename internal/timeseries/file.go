package timeseries

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The file: a word that names its form, the step in seconds, then each series,
// then the sum of all that. Numbers are little-endian.
const fileWord = "muster-series-1\n"

// errFile says that a file is none of ours, or not whole.
var errFile = errors.New("it is not a whole file of measurements")

// Save writes everything to a file, in one step. Charts are no records: a
// crash may lose what was measured since the last time.
func (s *Store) Save(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("save measurements: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("save measurements: %w", err)
			_ = os.Remove(f.Name())
		}
	}()
	sum := crc32.NewIEEE()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<16)
	s.write(w)
	if err = w.Flush(); err == nil {
		err = binary.Write(f, binary.LittleEndian, sum.Sum32())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// write writes every series; the writer keeps the first error. It holds up
// nobody for longer than one series takes.
func (s *Store) write(w *bufio.Writer) {
	s.mu.Lock()
	keys := make([]Key, 0, len(s.all))
	for k := range s.all {
		keys = append(keys, k)
	}
	s.mu.Unlock()
	_, _ = w.WriteString(fileWord)
	var b []byte
	b = binary.LittleEndian.AppendUint64(b, uint64(s.step))
	for _, key := range keys {
		s.mu.Lock()
		if k := s.all[key]; k != nil {
			b = append(b, 1)
			b = appendString(appendString(b, key.Of), key.Metric)
			b = binary.LittleEndian.AppendUint64(b, uint64(k.last))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(k.value))
			b = k.coarse.append(k.fine.append(b))
		}
		s.mu.Unlock()
		_, _ = w.Write(b)
		b = b[:0]
	}
	_ = w.WriteByte(0)
}

func appendString(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

func (r *ring) append(b []byte) []byte {
	for _, n := range []int64{r.step, int64(r.most), r.first, r.last, int64(len(r.vals))} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, v := range r.vals {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Load adds what a file holds of the day before now. A file that is not there is
// no error; of one that is broken nothing is taken.
func (s *Store) Load(path string, now time.Time) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = s.read(data, now.Unix())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s *Store) read(data []byte, now int64) error {
	if len(data) < len(fileWord)+12 || string(data[:len(fileWord)]) != fileWord {
		return errFile
	}
	end := len(data) - 4
	if crc32.ChecksumIEEE(data[:end]) != binary.LittleEndian.Uint32(data[end:]) {
		return errFile
	}
	r := reader{data: data[len(fileWord):end]}
	if r.number() != s.step {
		return nil // measured at another pace: it would not fit
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for r.byte() == 1 && !r.short {
		key := Key{r.text(), r.text()}
		k := &kept{last: r.number(), value: math.Float64frombits(uint64(r.number()))}
		k.fine, k.coarse = r.ring(), r.ring()
		old := k.last < now-int64(Day/time.Second) || k.last > now
		if n := size(k); !r.short && !old && s.all[key] == nil && s.bytes+n <= s.max {
			s.all[key] = k
			s.bytes += n
		}
	}
	if r.short {
		return errFile
	}
	return nil
}

// reader reads what write wrote; short says that it was not all there.
type reader struct {
	data  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.data, r.short = nil, true
		return make([]byte, min(max(n, 0), 8))
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) byte() byte    { return r.take(1)[0] }
func (r *reader) number() int64 { return int64(binary.LittleEndian.Uint64(r.take(8))) }
func (r *reader) text() string {
	n := int(binary.LittleEndian.Uint32(r.take(4)))
	if n > 4096 {
		r.short = true
		return ""
	}
	return strings.Clone(string(r.take(n)))
}

func (r *reader) ring() ring {
	g := ring{step: r.number(), most: int(r.number()), first: r.number(), last: r.number()}
	n := int(r.number())
	bad := g.step < 0 || g.step > 0 && (g.most < 1 || g.most > int(Day/time.Second)) || n < 0 || n > g.most || n > 0 && g.last-g.first < int64(n)-1
	if r.short || bad {
		r.short = true
		return ring{}
	}
	b := r.take(n * valueBytes)
	if r.short {
		return ring{}
	}
	g.vals = slices.Grow([]float32(nil), n)
	for i := range n {
		g.vals = append(g.vals, math.Float32frombits(binary.LittleEndian.Uint32(b[i*valueBytes:])))
	}
	return g
}
