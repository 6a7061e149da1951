package source

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Shorten keeps messages readable whatever was written.
func Shorten(s string) string {
	const most = 80
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i] + "…"
	}
	runes := 0
	for i := range s {
		if runes++; runes > most {
			return s[:i] + "…"
		}
	}
	return s
}

// NameFrom makes a name of what may be none.
func NameFrom(text string, most int) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= most {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// SortedKeys are the keys of m in order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}

// ProblemOf is what is wrong, of an error of the document's own parser.
func ProblemOf(err error) string {
	if e, ok := err.(codec.FieldError); ok {
		return e.Problem
	}
	return err.Error()
}

// HintOf is what to do about such an error; empty where it does not say.
func HintOf(err error) string {
	if e, ok := err.(codec.FieldError); ok {
		return e.Hint
	}
	return ""
}

func suggest(name string, known ...Reasons) string {
	for _, m := range known {
		for other := range m {
			if strings.EqualFold(other, name) {
				return "; did you mean " + other + "?"
			}
		}
	}
	return ""
}
