package ledger

import (
	"cmp"
	"math"
	"slices"
)

// Bit is 1 for true.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Never is after all that is known.
const Never = int64(math.MaxInt64)

// SortedKeys are the keys of a map, in order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
