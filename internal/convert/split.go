package convert

import (
	"bytes"
	"errors"
	"iter"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Split divides a file at its lines of ---, which stand for nothing else where a
// line begins; the parser would pass over all that follows a document of
// comments alone. It yields how many lines stand before each.
func Split(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		from, number := 0, 0
		var text []byte
		for line := range bytes.Lines(data) {
			number++
			word := bytes.TrimRight(line, " \t\r\n")
			if bytes.Equal(word, []byte("---")) || bytes.HasPrefix(line, []byte("--- ")) {
				if !yield(from, text) {
					return
				}
				from, text = number-1, bytes.Repeat([]byte(" "), 3)
				line = line[3:]
			}
			text = append(text, line...)
		}
		yield(from, text)
	}
}

// Part is one of several documents in a file.
type Part struct {
	Before int // lines of the file before it
	Text   []byte
}

// Parts are the documents of a file that say something; all of it where none
// does.
func Parts(data []byte) []Part {
	var parts []Part
	for before, text := range Split(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
		if !blank(text) {
			parts = append(parts, Part{before, text})
		}
	}
	if len(parts) == 0 {
		return []Part{{0, data}}
	}
	return parts
}

// blank reports whether nothing stands in text but comments.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("...")) {
			return false
		}
	}
	return true
}

// natives reads our own documents. All that is wrong with any of them is said.
func natives(data []byte) (*source.Result, error) {
	res := &source.Result{Format: source.Native}
	var all codec.Errors
	for _, p := range Parts(data) {
		doc, err := spec.Parse(p.Text)
		var errs codec.Errors
		switch {
		case errors.As(err, &errs):
			for _, e := range errs {
				if e.Line > 0 {
					e.Line += p.Before
				}
				all = append(all, e)
			}
		case err != nil:
			return res, err
		}
		res.Documents = append(res.Documents, doc)
	}
	if len(all) > 0 {
		res.Documents = nil
		return res, all
	}
	return res, nil
}
