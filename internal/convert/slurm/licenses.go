package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// licenses reads what a job holds of what is counted for the whole site:
// NAME[:COUNT], several with commas.
func (s *script) licenses() {
	d := s.consume("licenses")
	if d == nil {
		return
	}
	if strings.ContainsAny(d.value, "|;") {
		s.record(d, source.Ignored, true, "", "a document names all that it needs; write licenses")
		return
	}
	all, err := Licenses(d.value)
	if err != nil {
		s.refuse(d, err.Error(), "write NAME or NAME:COUNT, several with commas")
		return
	}
	reason := ""
	s.doc.Licenses = map[string]int{}
	for _, given := range source.SortedKeys(all) {
		name := source.NameFrom(given, 52)
		if name == "" {
			s.refuse(d, fmt.Sprintf("%q has no letters", given), "write NAME or NAME:COUNT, several with commas")
			return
		}
		if name != given {
			reason = "names of licenses have lower-case letters, digits and -"
		}
		s.doc.Licenses[name] += all[given]
	}
	s.record(d, source.Translated, false, "licenses", reason)
}

// deadline reads by when it is to be done: Slurm removes what is not, waiting or
// running.
func (s *script) deadline() {
	d := s.consume("deadline")
	if d == nil {
		return
	}
	at, err := time.Parse("2006-01-02T15:04:05Z07:00", d.value)
	if err != nil {
		s.refuse(d, fmt.Sprintf("%q does not say of which zone it is, or counts from the submission", d.value), "write the time with its zone: 2027-01-31T08:00:00Z")
		return
	}
	s.doc.Deadline, s.doc.DeadlineAction = at.Format(time.RFC3339), spec.DeadlineStop
	s.translated(d, "deadline")
}

// Licenses reads a list of licenses as Slurm writes it: NAME, NAME:COUNT or
// NAME=COUNT, several with commas.
func Licenses(text string) (map[string]int, error) {
	out := map[string]int{}
	for part := range strings.SplitSeq(text, ",") {
		name, count, given := strings.Cut(strings.Replace(strings.TrimSpace(part), "=", ":", 1), ":")
		n, err := 1, error(nil)
		if given {
			n, err = strconv.Atoi(count)
		}
		if err != nil || n < 1 || name == "" {
			return nil, fmt.Errorf("%q is not NAME:COUNT", source.Shorten(part))
		}
		out[name] += n
	}
	return out, nil
}
