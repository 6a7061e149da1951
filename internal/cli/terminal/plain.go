package terminal

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Plain is text without what could move the cursor or change the terminal:
// names, messages and output are others'.
func Plain(text string) string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return text
	}
	var b strings.Builder
	escape := false
	for _, r := range text {
		switch {
		case r == 0x1b:
			escape = true
		case escape:
			if r != '[' && (unicode.IsLetter(r) || r == '~' || r == '\a') {
				escape = false
			}
		case !unicode.IsGraphic(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Shown is a terminal to which words are written: messages, titles and reasons in
// them may be a task's, and nothing of these is to reach the terminal but text.
// Colours do, as they are our own too.
type Shown struct {
	W    io.Writer
	left []byte // of a character that is not whole yet
}

// Bare is what lies under words, for what is to reach the terminal as it is: the output
// of tasks, and what paints screens.
func Bare(w io.Writer) io.Writer {
	if s, ok := w.(*Shown); ok {
		return s.W
	}
	return w
}

var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^\x1b\\[[0-9;]*m") })

// Write implements io.Writer.
func (s *Shown) Write(p []byte) (int, error) {
	in := append(s.left, p...)
	out := make([]byte, 0, len(in))
	for len(in) > 0 && utf8.FullRune(in) {
		r, n := utf8.DecodeRune(in)
		switch {
		case r == 0x1b:
			if m := colours().Find(in); m != nil {
				n = len(m)
				out = append(out, m...)
			}
		case r == '\n', r == '\t', unicode.IsGraphic(r):
			out = utf8.AppendRune(out, r)
		case r == '\r' && len(in) > 1 && in[1] == '\n':
			out = append(out, '\r')
		}
		in = in[n:]
	}
	s.left = in
	_, err := s.W.Write(out)
	return len(p), err
}
