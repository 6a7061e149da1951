package terminal

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestDetachKeys: ctrl-p ctrl-q leaves, everything else goes through, whatever
// the pieces in which it is read.
func TestDetachKeys(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]struct {
		out  string
		left bool
	}{
		"abc":                 {"abc", false},
		"a\x10b":              {"a\x10b", false},
		"a\x10\x10b":          {"a\x10\x10b", false},
		"a\x11b":              {"a\x11b", false},
		"a\x10\x11b":          {"a", true},
		"\x10\x10\x11b":       {"\x10", true},
		"\x10\x11":            {"", true},
		"a\x10b\x10c\x10\x11": {"a\x10b\x10c", true},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader} {
			left := 0
			k := &Keys{From: wrap(strings.NewReader(typed)), Leave: func() { left++ }}
			got, err := io.ReadAll(k)
			if err != nil || string(got) != want.out || (left == 1) != want.left || left > 1 {
				t.Errorf("%s %q: %q, left %d times, %v; want %q, %v", name, typed, got, left, err, want.out, want.left)
			}
		}
	}
}
