package spec

import (
	"slices"
	"strings"
)

// Nearest is the known word that a wrong one was probably meant to be; empty:
// there is none.
func Nearest(word string, known []string) string { return nearest(word, known) }

// nearest returns the known word that a wrong one was probably meant to be, or
// "" when none is near. It is never the word itself: who wrote that knows it.
func nearest(word string, known []string) string {
	if len(word) > 64 || slices.Contains(known, word) {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", 1+max(1, len(word)/3)
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" && len(word) >= 3 { // mem, cmd_line
		for _, k := range known {
			if low := strings.ToLower(k); strings.HasPrefix(low, word) || strings.HasPrefix(word, low) {
				return k
			}
		}
	}
	return best
}

func didYouMean(word string) string { return "did you mean " + word + "?" }

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that lead from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
