// Package firsterror finds the place in a program's output where it begins to
// tell of its death: a Python traceback, a panic, an abort, a kill. It reads
// line by line and keeps only what it will show.
//
// It knows texts, not tasks: which of several outputs was first is for whoever
// knows when their lines were written, with Before as the tie-break.
package firsterror

import (
	"slices"
	"strings"
)

// Kind is a sort of error.
type Kind string

// The kinds.
const (
	Python      Kind = "Python exception"
	CUDAMemory  Kind = "CUDA out of memory"
	CUDA        Kind = "CUDA error"
	NCCL        Kind = "NCCL error or timeout"
	OutOfMemory Kind = "killed for memory"
	GoPanic     Kind = "Go panic"
	RustPanic   Kind = "Rust panic"
	Terminate   Kind = "C++ terminate or abort"
	Signal      Kind = "crash by a signal"
	MPI         Kind = "MPI abort"
)

// Kinds returns every kind, the most telling first.
func Kinds() []Kind {
	return []Kind{Python, CUDAMemory, CUDA, NCCL, OutOfMemory, GoPanic, RustPanic, Terminate, Signal, MPI}
}

// Finding is an error that was found.
type Finding struct {
	Kind Kind `json:"kind"`
	// Line is the number of the line where it begins, from 1; Column is not told.
	Line int `json:"line"`
	// Title is the one line that says most: of a traceback its last.
	Title string `json:"title"`
	// Excerpt is the error whole, lines before it where they explain it, and of
	// a very long one the beginning and the end. From is its first line's number.
	Excerpt []string `json:"excerpt"`
	From    int      `json:"from"`
	// Echo says that it reports something that went wrong elsewhere: a peer that
	// is gone, a child that failed.
	Echo bool `json:"echo,omitempty"`
}

// Before reports whether a explains more than b where nothing says which of
// them came first.
func Before(a, b *Finding) bool { return !a.Echo && b.Echo }

const (
	contextLines = 4   // kept before an error of a single line
	headLines    = 60  // of a very long excerpt
	tailLines    = 140 // and of its end
	longest      = 2000
)

// Scanner reads one output. The zero value is ready for its first line.
type Scanner struct {
	n       int
	before  []string // the last few lines
	found   *Finding
	matcher matcher
	end     []string // the end of a very long excerpt
	cut     int      // lines left out in the middle
	prefix  string   // that a launcher puts before each line of the error
	over    bool
	dropped bool // what had begun turned out to be nothing
}

// matcher takes the lines of an error that has begun.
type matcher interface {
	// consume reports whether a line belongs to the error. It may change f.
	consume(f *Finding, line string) bool
	// sound reports whether it was an error after all.
	sound() bool
}

// Line reads the next line, without its end.
func (s *Scanner) Line(text string) {
	s.n++
	if s.over {
		return
	}
	shown := visible(text)
	if s.found == nil {
		s.look(shown)
		return
	}
	line := strings.TrimPrefix(shown, s.prefix)
	if s.matcher.consume(s.found, line) {
		s.keep(line)
		return
	}
	s.finish()
	if s.dropped { // this line may be the one
		s.dropped = false
		s.look(shown)
	}
}

// Done reports whether an error was found and its excerpt is complete.
func (s *Scanner) Done() bool { return s.over }

// Found reports whether an error has begun.
func (s *Scanner) Found() bool { return s.found != nil }

// Lines is how many lines have been read.
func (s *Scanner) Lines() int { return s.n }

// Finish returns what was found; nil when there was nothing.
func (s *Scanner) Finish() *Finding {
	if s.found != nil && !s.over {
		s.finish()
	}
	return s.found
}

func (s *Scanner) look(shown string) {
	f, t, prefix := recognise(shown)
	if f == nil {
		s.before = append(s.before, shorten(shown))
		if len(s.before) > contextLines {
			s.before = s.before[1:]
		}
		return
	}
	f.Line, f.From = s.n, s.n
	if _, whole := t.(*traceback); !whole && t.sound() {
		for _, line := range s.before { // what was said last often says why
			f.Excerpt = append(f.Excerpt, strings.TrimPrefix(line, prefix))
		}
		f.From = s.n - len(s.before)
	}
	s.found, s.matcher, s.prefix = f, t, prefix
	s.keep(strings.TrimPrefix(shown, prefix))
}

func (s *Scanner) keep(line string) {
	line = shorten(line)
	if len(s.found.Excerpt) < headLines {
		s.found.Excerpt = append(s.found.Excerpt, line)
		return
	}
	if s.end = append(s.end, line); len(s.end) > tailLines {
		s.end, s.cut = s.end[1:], s.cut+1
	}
}

// finish ends the excerpt, or forgets what was none.
func (s *Scanner) finish() {
	if !s.matcher.sound() {
		s.found, s.matcher, s.end, s.cut, s.dropped = nil, nil, nil, 0, true
		return
	}
	f := s.found
	if s.cut > 0 {
		f.Excerpt = append(f.Excerpt, "…")
	}
	f.Excerpt = append(f.Excerpt, s.end...)
	for len(f.Excerpt) > 1 && strings.TrimSpace(f.Excerpt[len(f.Excerpt)-1]) == "" {
		f.Excerpt = f.Excerpt[:len(f.Excerpt)-1]
	}
	f.Title = strings.TrimSpace(f.Title)
	s.over = true
}

// visible is what a terminal would show of a line in the end: without colours,
// and without what a progress bar has overwritten.
func visible(text string) string {
	text = strings.TrimRight(text, "\r")
	if i := strings.LastIndexByte(text, '\r'); i >= 0 {
		text = text[i+1:]
	}
	if !strings.Contains(text, "\x1b[") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
		if text = ""; end >= 0 {
			text = rest[end+1:]
		}
	}
}

func shorten(line string) string {
	if len(line) <= longest {
		return line
	}
	return strings.ToValidUTF8(line[:longest], "") + "…"
}

func hasAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}
