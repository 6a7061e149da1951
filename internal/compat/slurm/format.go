package slurm

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/cli"
)

// field is one %-field of a format.
type field struct {
	before string // text in front of it
	right  bool
	width  int // 0: as wide as it is
	letter byte
}

// parse reads a format such as "%.18i %.9P", with what follows the last field.
func parse(format string) (fields []field, after string, err error) {
	var text strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			text.WriteByte(format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			text.WriteByte('%')
			continue
		}
		f := field{before: text.String()}
		text.Reset()
		if i < len(format) && format[i] == '.' {
			f.right = true
			i++
		}
		from := i
		for i < len(format) && format[i] >= '0' && format[i] <= '9' {
			i++
		}
		if i > from {
			if f.width, err = strconv.Atoi(format[from:i]); err != nil || f.width > 10_000 {
				return nil, "", cli.Wrong(fmt.Sprintf("--format: %q has a width that is none", format), "like %.18i")
			}
		}
		if i >= len(format) {
			return nil, "", cli.Wrong(fmt.Sprintf("--format: %q ends in the middle of a field", format), "like %.18i %.8j")
		}
		f.letter = format[i]
		fields = append(fields, f)
	}
	return fields, text.String(), nil
}

// line writes values into fields; what is too long is cut.
func line(fields []field, after string, value func(byte) (string, bool)) (string, error) {
	var b strings.Builder
	for _, f := range fields {
		text, ok := value(f.letter)
		if !ok {
			return "", cli.Wrong(fmt.Sprintf("--format: there is no field %%%c", f.letter), "squeue --help and sinfo --help list the fields")
		}
		b.WriteString(f.before)
		if f.width > 0 {
			if n := utf8.RuneCountInString(text); n > f.width {
				text = string([]rune(text)[:f.width])
			} else if pad := strings.Repeat(" ", f.width-n); f.right {
				text = pad + text
			} else {
				text += pad
			}
		}
		b.WriteString(text)
	}
	return strings.TrimRight(b.String()+after, " "), nil
}

func write(out io.Writer, fields []field, after string, value func(byte) (string, bool)) error {
	text, err := line(fields, after, value)
	if err == nil {
		_, err = fmt.Fprintln(out, text)
	}
	return err
}
