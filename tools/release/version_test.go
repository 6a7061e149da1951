package main

import "testing"

func TestVersionOfACommit(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"v1.2.3-0-gabcdef0":      "1.2.3",
		"v1.2.3-4-gabcdef0":      "1.2.4-dev.4.gabcdef0",
		"v1.2.3-rc.1-0-gabcdef0": "1.2.3-rc.1",
		"v1.2.3-rc.1-7-gabcdef0": "1.2.3-rc.1.7.gabcdef0",
		"v0.1.0-dev-12-gabcdef0": "0.1.0-dev.12.gabcdef0",
		"1.2.3-0-gabcdef0":       "",
		"v1.2-0-gabcdef0":        "",
	} {
		got, err := versionOf(words)
		if got != want || (err == nil) == (want == "") {
			t.Errorf("%s: %q (%v), want %q", words, got, err, want)
		}
	}
}
