package backend

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestTimed: each line begins with its time, and so does what a reader begins
// with in the middle of a line, whatever the pieces.
func TestTimed(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("", 3600))
	const text = "ab\n\ncd\nend"
	for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "err": iotest.DataErrReader} {
		var asked []int64
		r := Opened(Timed(io.NopCloser(wrap(strings.NewReader(text))), 7, func(offset int64) time.Time {
			asked = append(asked, offset)
			return begin.Add(time.Duration(offset) * time.Millisecond)
		}), 7)
		got, err := io.ReadAll(r)
		want := "2026-11-21T11:00:00.007Z ab\n2026-11-21T11:00:00.010Z \n2026-11-21T11:00:00.011Z cd\n2026-11-21T11:00:00.014Z end"
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
		if len(asked) != 4 || r.Offset() != 7 {
			t.Errorf("%s: asked for %v, offset %d", name, asked, r.Offset())
		}
	}
	if n := len(time.Time{}.AppendFormat(nil, TimeLayout)); n != len(TimeLayout) {
		t.Errorf("a time has %d bytes, its form %d", n, len(TimeLayout))
	}
}
