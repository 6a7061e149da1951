package firsterror

import "strings"

const tracebackHeader = "Traceback (most recent call last):"

// chains join the tracebacks of exceptions that led to one another.
var chains = []string{
	"During handling of the above exception, another exception occurred:",
	"The above exception was the direct cause of the following exception:",
}

// traceback takes a Python traceback: frames, which are indented, the
// exception's own line, further lines of its message, and whatever exceptions
// followed from it.
type traceback struct {
	last   string // the exception's line
	ended  bool   // the frames have
	blank  bool   // an empty line came after it
	joined bool   // a line that joins two exceptions came last
	more   int    // lines of the message
}

func (t *traceback) sound() bool { return true }

func (t *traceback) consume(f *Finding, line string) bool {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.Contains(line, tracebackHeader), strings.Contains(trimmed, "Traceback (most recent call last)") && t.joined:
		*t = traceback{last: t.last}
		return true
	case hasAny(trimmed, chains):
		t.joined = true
		return true
	case !t.ended && (indented(line) || trimmed == ""):
		return true
	case !t.ended:
		t.ended, t.last = true, line
		t.name(f)
		return true
	case trimmed == "":
		if t.blank && !t.joined {
			return false
		}
		t.blank = true
		return true
	case t.blank || t.joined:
		return false
	default:
		t.more++
		return t.more <= 12 && (indented(line) || t.speaks(line))
	}
}

// name takes title and kind from the exception's line.
func (t *traceback) name(f *Finding) {
	f.Title, f.Kind = t.last, Python
	f.Echo = hasAny(t.last, echoes)
	for _, s := range signs {
		if (s.kind == CUDAMemory || s.kind == CUDA || s.kind == NCCL) && s.fits(t.last) {
			f.Kind = s.kind
			break
		}
	}
}

// speaks reports whether a line goes on with the message of an exception that
// has several.
func (t *traceback) speaks(line string) bool {
	return strings.HasSuffix(t.last, ":") || strings.Contains(t.last, "CUDA") || strings.Contains(t.last, "NCCL") || hasAny(line, []string{"Last error", "ncclInternal", "ncclSystem"})
}

// indented reports whether a line is of the frames of a traceback, also of one
// with a drawn frame.
func indented(line string) bool {
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "│") || strings.HasPrefix(line, "╰") || strings.HasPrefix(line, "╭")
}

// goroutines takes a Go panic with the stack of the goroutine that panicked,
// which comes first.
type goroutines struct {
	certain bool // it is one whatever follows
	stack   bool // the stack has begun
	lines   int
}

func (g *goroutines) sound() bool { return g.certain || g.stack }

func (g *goroutines) consume(_ *Finding, line string) bool {
	g.lines++
	switch {
	case strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, ":"):
		if g.stack {
			return false
		}
		g.stack = true
		return true
	case g.stack:
		return g.lines < 200 && (strings.HasPrefix(line, "\t") || strings.HasSuffix(line, ")") || strings.HasPrefix(line, "created by ") || strings.HasPrefix(line, "..."))
	case g.certain:
		return g.lines < 20 && (line == "" || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "[signal ") || strings.HasPrefix(line, "panic: ") || strings.Contains(line, "recovered"))
	default:
		return g.lines < 6 && (line == "" || strings.HasPrefix(line, "[signal ") || strings.HasPrefix(line, "runtime: ") || strings.HasPrefix(line, "runtime stack:") || indented(line))
	}
}

// terminate takes what the C++ runtime says of an exception that nobody caught.
type terminate struct{}

func (terminate) sound() bool { return true }

func (terminate) consume(f *Finding, line string) bool {
	if what, ok := strings.CutPrefix(strings.TrimSpace(line), "what():"); ok {
		f.Title += ":" + what
		return true
	}
	return indented(line) || strings.HasPrefix(line, "Abort")
}

// rest takes so many lines more, until an empty one.
type rest struct{ left, blanks int }

func (*rest) sound() bool { return true }

func (r *rest) consume(_ *Finding, line string) bool {
	if strings.TrimSpace(line) == "" {
		r.blanks--
	}
	r.left--
	return r.left >= 0 && (r.blanks > 0 || strings.TrimSpace(line) != "")
}
