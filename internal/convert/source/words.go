package source

import (
	"fmt"
	"strings"
)

// ShellWords splits a line as a shell does that expands nothing: quotes and
// backslashes are understood, and a # at the beginning of a word ends it. It
// fails on a quote that is not closed, and on what only a shell could expand.
func ShellWords(line string) (words []string, err error) {
	var b strings.Builder
	in := false
	flush := func() {
		if in {
			words = append(words, b.String())
			b.Reset()
		}
		in = false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			flush()
		case c == '#' && !in:
			return words, nil
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("a ' is not closed")
			}
			b.WriteString(line[i+1 : i+1+end])
			in, i = true, i+1+end
		case c == '"':
			n, err := doubleQuoted(&b, line[i+1:])
			if err != nil {
				return nil, err
			}
			in, i = true, i+1+n
		case c == '\\' && i+1 < len(line):
			i++
			if line[i] != '\n' {
				b.WriteByte(line[i])
				in = true
			}
		default:
			b.WriteByte(c)
			in = true
		}
	}
	flush()
	return words, nil
}

// doubleQuoted copies what stands before the closing quote of s, and returns
// where that is.
func doubleQuoted(b *strings.Builder, s string) (end int, err error) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i, nil
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`\n", s[i+1]) >= 0:
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return 0, fmt.Errorf("a \" is not closed")
}
