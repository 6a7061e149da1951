package logfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func writeIndex(t *testing.T, path string, recs ...Mark) {
	t.Helper()
	var b []byte
	for _, r := range recs {
		b = binary.LittleEndian.AppendUint64(b, uint64(r.At.UnixMilli()))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Offset))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
}

func TestLogTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "0.idx")
	log, err := os.Create(filepath.Join(dir, "0.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Write(make([]byte, 500)); err != nil {
		t.Fatal(err)
	}
	begin := time.UnixMilli(1_700_000_000_000)
	after := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }

	when := &times{path: path}
	defer when.close()
	if at := when.at(0); !at.IsZero() {
		t.Errorf("a log without an index was written at %s", at)
	}
	if n, err := (&times{path: path}).since(after(0), log); n != 0 || err != nil {
		t.Errorf("since without an index begins at %d, %v; want everything", n, err)
	}

	writeIndex(t, path, Mark{after(0), 0}, Mark{after(150), 100}, Mark{after(5000), 200})
	for _, c := range []struct {
		offset int64
		ms     int
	}{{0, 0}, {99, 0}, {100, 150}, {199, 150}, {200, 5000}, {450, 5000}} {
		if at := when.at(c.offset); !at.Equal(after(c.ms)) {
			t.Errorf("byte %d was written at %s, want %s", c.offset, at, after(c.ms))
		}
	}
	writeIndex(t, path, Mark{after(6000), 480}) // the task goes on while the log is read
	if at := when.at(490); !at.Equal(after(6000)) {
		t.Errorf("byte 490 was written at %s", at)
	}

	for _, c := range []struct {
		ms   int
		want int64
	}{{-10, 0}, {0, 0}, {99, 0}, {100, 100}, {151, 100}, {249, 100}, {250, 200}, {4000, 200}, {5100, 480}, {6099, 480}, {6100, 500}, {99999, 500}} {
		x := &times{path: path}
		n, err := x.since(after(c.ms), log)
		x.close()
		if err != nil || n != c.want {
			t.Errorf("since %d ms begins at %d, %v; want %d", c.ms, n, err, c.want)
		}
	}
	when.close()
	if _, err := when.open(); err == nil {
		t.Error("an index that was closed is opened again")
	}
}
