package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/cli/session"
)

// missing says which of some names there are no records of.
func missing[T any](word, list string, names []string, there []T, nameOf func(T) string) error {
	absent := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(there, func(x T) bool { return nameOf(x) == name })
	})
	if len(absent) == 0 {
		return nil
	}
	do := "does"
	if len(absent) > 1 {
		word, do = word+"s", "do"
	}
	return session.NotFoundError(fmt.Sprintf("%s %s %s not exist, or you may not see it", word, strings.Join(absent, ", "), do), list+" lists all that you may see")
}
