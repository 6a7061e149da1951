// Package nearest finds the word that somebody probably meant.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// longest is how long a word may be, in bytes, for which one is looked for.
const longest = 64

// Word is the known word that a wrong one was probably meant to be; empty: none
// is near. It is never the word itself: who wrote that knows it.
func Word(word string, known []string) string {
	if len(word) > longest || slices.Contains(known, word) {
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

// Words are the known words that a wrong one was probably meant to be, the
// nearest first, at most three, and never the word itself.
func Words(word string, known []string) []string {
	type near struct {
		word   string
		far    int
		begins bool // with what was written
	}
	if len(word) > longest || slices.Contains(known, word) {
		return nil
	}
	var found []near
	low := strings.ToLower(word)
	for _, k := range known {
		l := strings.ToLower(k)
		d := distance(low, l)
		begins := len(low) >= 3 && strings.HasPrefix(l, low)
		if begins || d <= max(1, len(word)/3) {
			found = append(found, near{k, d, begins})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int {
		if a.far == b.far && a.begins != b.begins {
			if a.begins {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.far, b.far)
	})
	var words []string
	for _, n := range found {
		if len(words) < 3 && !slices.Contains(words, n.word) {
			words = append(words, n.word)
		}
	}
	return words
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that lead from a to b (Damerau and Levenshtein, of adjacent bytes).
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
