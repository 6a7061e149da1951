package terms

import "github.com/musterhq/muster/internal/core/nearest"

// Meant says which of the known names of fields a wrong one was probably meant to
// be, and where all of them are listed.
func Meant(wrong string, known []string, all string) string {
	if near := nearest.Words(wrong, known); len(near) > 0 {
		return "did you mean " + near[0] + "? " + all
	}
	return all
}
