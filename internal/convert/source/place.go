package source

import (
	"path"
	"strings"
)

// Place is where a file is submitted from, as far as it is known: what ~ and relative
// paths mean, both absolute. Empty: nobody knows.
type Place struct{ Home, Dir string }

// Absolute is what a path of the submitter means; false: nobody knows.
func (p Place) Absolute(name string) (string, bool) {
	rest, home := strings.CutPrefix(name, "~")
	switch {
	case path.IsAbs(name):
		return path.Clean(name), true
	case home && (rest == "" || rest[0] == '/'):
		return path.Join(p.Home, rest), p.Home != ""
	}
	return path.Join(p.Dir, name), p.Dir != ""
}
