package schedule

import (
	"runtime/debug"
	"strings"
	"testing"
)

// frames are the lines of the stack that are of this package.
func frames() string {
	var out []string
	for line := range strings.SplitSeq(string(debug.Stack()), "\n") {
		if strings.Contains(line, "/schedule/") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

func TestPlansAreSound(t *testing.T) {
	t.Parallel()
	search(t, 4000, func(w *world) string {
		return strings.Join(judged(w, Cycle(&w.Snap, w.Cfg)), "; ")
	})
}
