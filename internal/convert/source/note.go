package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// Format is a notation for work.
type Format string

// The formats that are read. Kubernetes, Sbatch and Mcli are written as well.
const (
	Native     Format = "muster"
	Kubernetes Format = "kubernetes"
	Sbatch     Format = "sbatch"
	Mcli       Format = "mcli"
	Runai      Format = "runai"
	SkyPilot   Format = "skypilot"
	Dstack     Format = "dstack"
)

// Formats are all that Import reads.
func Formats() []Format {
	return []Format{Native, Kubernetes, Sbatch, Mcli, Runai, SkyPilot, Dstack}
}

// Joined is a list of formats as messages have it.
func Joined(formats []Format) string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}

// Fate is what became of a part of a source.
type Fate string

// The fates. Approximated and most of ignored lose meaning; nothing is made of
// a source a part of which is refused.
const (
	Kept         Fate = "kept"         // the document says the same in the same words
	Translated   Fate = "translated"   // the document says the same in others
	Approximated Fate = "approximated" // the document says something near to it
	Ignored      Fate = "ignored"      // the document does not say it
	Refused      Fate = "refused"      // nothing can be made of it
)

// Note says what became of one field, flag or directive of a source.
type Note struct {
	Line   int    `json:"line,omitempty"` // from 1
	Last   int    `json:"last,omitempty"` // the last line, where there are several
	Field  string `json:"field"`          // in the source's words
	Value  string `json:"value,omitempty"`
	Fate   Fate   `json:"fate"`
	To     string `json:"to,omitempty"`     // path in the document
	Reason string `json:"reason,omitempty"` // why it is not simply kept
	Lossy  bool   `json:"lossy,omitempty"`  // meaning is lost
}

// String is n in one line.
func (n Note) String() string {
	var b strings.Builder
	if n.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", n.Line)
	}
	b.WriteString(n.Field + ": " + string(n.Fate))
	if n.To != "" {
		b.WriteString(" as " + n.To)
	}
	if n.Reason != "" {
		b.WriteString(": " + n.Reason)
	}
	return b.String()
}

// Result is what was made of a source.
type Result struct {
	Format    Format
	Documents []*spec.Document             // as their author would have written them, without defaults; at least one
	Schedules map[*spec.Document]*Schedule // of those Documents that are run again and again, by the clock
	Notes     []Note                       // by line
}

// Lossy are the notes about what is lost.
func (r *Result) Lossy() []Note {
	return slices.DeleteFunc(slices.Clone(r.Notes), func(n Note) bool { return !n.Lossy })
}
