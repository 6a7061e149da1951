package document

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/cli/session"
	foreign "github.com/musterhq/muster/internal/convert/source"
)

// shownName is the file of a data directory in which stands of which formats a person
// has been told how they are read, one on each line.
const shownName = "told"

// account says what became of a file for another system: all of it where that is asked
// for, else in short, the first time that a person runs one of its format.
func account(s *session.Session, file string, r *foreign.Result, all bool) {
	if all {
		for _, n := range r.Notes {
			s.Say("%s%s", session.Place(file, n.Line), strings.TrimPrefix(n.String(), fmt.Sprintf("line %d: ", n.Line)))
		}
		return
	}
	if !first(s, r.Format) {
		return
	}
	count := map[foreign.Fate]int{}
	for _, n := range r.Notes {
		count[n.Fate]++
	}
	s.Say("%s is read as %s: %d kept, %d translated, %d approximated, %d ignored", file, r.Format, count[foreign.Kept], count[foreign.Translated], count[foreign.Approximated], count[foreign.Ignored])
	for _, n := range remarkable(r.Notes) {
		s.Say("  %s", n)
	}
	s.Say("  (said the first time only; muster import --explain says all of it)")
}

// remarkableMost is how many notes are worth reading at once.
const remarkableMost = 4

// remarkable are the notes that tell a reader something: what means a little less
// first, then what is not done, then what is said in other words for a reason.
func remarkable(notes []foreign.Note) []foreign.Note {
	rank := func(n foreign.Note) int {
		switch {
		case n.Fate == foreign.Approximated:
			return 0
		case n.Fate == foreign.Ignored && n.Reason != "":
			return 1
		case n.Fate == foreign.Translated && n.Reason != "":
			return 2
		}
		return 3
	}
	out := slices.DeleteFunc(slices.Clone(notes), func(n foreign.Note) bool { return rank(n) == 3 })
	slices.SortStableFunc(out, func(a, b foreign.Note) int { return rank(a) - rank(b) })
	return out[:min(len(out), remarkableMost)]
}

// first reports whether a format is met for the first time, and notes that it was.
// Where that cannot be noted nothing is said at all: better than each time.
func first(s *session.Session, format foreign.Format) bool {
	dir, err := s.Dir()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	path := filepath.Join(dir, shownName)
	data, _ := os.ReadFile(path) // there is none at first
	if slices.Contains(strings.Fields(string(data)), string(format)) {
		return false
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	_, err = f.WriteString(string(format) + "\n")
	return f.Close() == nil && err == nil
}
