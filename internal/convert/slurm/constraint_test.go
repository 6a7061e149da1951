package slurm

import (
	"strings"
	"testing"
)

// What Slurm 22.05 takes for the same nodes, with its reading from the left.
func TestFeaturesReadAsSlurmDoes(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "a&b": "a&b", "a,b": "a&b", "a|b": "a or b", "a|b&c": "a&c or b&c", "a&c|b": "a&c or b", "(a|b)&c": "a&c or b&c", "a|(b&c)": "a or b&c",
		"a&(b|c)&(d|e)": "a&b&d or a&b&e or a&c&d or a&c&e", "a|a&b": "a&b", "a|(a&b)": "a", "a|a": "a", "(a)": "a", "((a|b))": "a or b",
		"": "lacks a feature", "a&": "lacks a feature", "|a": "lacks a feature", "a(b)": "lacks a feature", "(a": "not closed", "a)": "not opened",
		"a*2": "counts how many", "(a|b)*2&c": "counts how many", "[a|b]": "brackets around some", "a&[b|c]": "brackets around some",
		strings.Repeat("(", 9) + "a": "too many parentheses", "(a|b)&(c|d)&(e|f)&(g|h)&(i|j)&(k|l)&(m|n)": "more than 64 sets",
	} {
		sets, err := Features(text)
		var got []string
		for _, set := range sets {
			got = append(got, strings.Join(set, "&"))
		}
		switch all := strings.Join(got, " or "); {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v, want %s", text, err, want)
		case err == nil && all != want:
			t.Errorf("%q: %s, want %s", text, all, want)
		}
	}
}
