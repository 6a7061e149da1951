package main

import (
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/outcomes.txt")

// TestTiny judges all mutants of a package of a few lines; what has to become of
// each of them can be seen in its source.
func TestTiny(t *testing.T) {
	want, err := os.ReadFile("testdata/outcomes.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	t.Chdir("testdata/tiny")
	t.Setenv("GOFLAGS", "")
	var out, list strings.Builder
	work := t.TempDir()
	g := group{"tiny", []string{"."}, []string{"."}}
	if err := mutate(options{verbose: true, longest: 60, work: work}, []group{g}, &out, &list); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("../outcomes.txt", []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if out.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	for line := range strings.Lines(list.String()) {
		if !regexp.MustCompile(`^tiny\.go:\d+:\d+: .+\n$`).MatchString(line) {
			t.Errorf("a survivor is listed as %q", line)
		}
	}

	// A sample takes that many and says how sure it is.
	out.Reset()
	if err := mutate(options{sample: 3, longest: 60, seed: 1, work: work}, []group{g}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`tiny +3 of +\d+ mutants judged, .* \(95 %: \d+ to \d+ %\)\n$`).MatchString(out.String()) {
		t.Errorf("a sample says %s", &out)
	}
}

func TestInterval(t *testing.T) {
	low, high := interval(90, 100)
	if low < 0.82 || low > 0.83 || high < 0.94 || high > 0.95 {
		t.Error(low, high)
	}
}
