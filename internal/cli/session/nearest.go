package session

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the known words that a wrong one was probably meant to be,
// the nearest first, at most three, and never the word itself.
func Nearest(word string, known []string) []string {
	type near struct {
		word string
		far  int
	}
	if len(word) > 64 || slices.Contains(known, word) {
		return nil
	}
	var found []near
	low := strings.ToLower(word)
	for _, k := range known {
		l := strings.ToLower(k)
		d := distance(low, l)
		if len(low) >= 3 && strings.HasPrefix(l, low) {
			d = 1
		}
		if d <= max(1, len(word)/3) {
			found = append(found, near{k, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	var words []string
	for _, n := range found {
		if len(words) < 3 && !slices.Contains(words, n.word) {
			words = append(words, n.word)
		}
	}
	return words
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that lead from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
