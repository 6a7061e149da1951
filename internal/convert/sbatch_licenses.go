package convert

import (
	"fmt"
	"strconv"
	"strings"
)

// licenses reads what a job holds of what is counted for the whole site:
// NAME[:COUNT], several with commas.
func (s *script) licenses() {
	d := s.take("licenses")
	if d == nil {
		return
	}
	if strings.ContainsAny(d.value, "|;") {
		s.say(d, Ignored, true, "", "a document names all that it needs; write licenses")
		return
	}
	all, err := Licenses(d.value)
	if err != nil {
		s.refuse(d, err.Error(), "write NAME or NAME:COUNT, several with commas")
		return
	}
	s.doc.Licenses = all
	s.kept(d, "licenses")
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
			return nil, fmt.Errorf("%q is not NAME:COUNT", shorten(part))
		}
		out[name] += n
	}
	return out, nil
}
