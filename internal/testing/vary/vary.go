// Package vary makes texts slightly different, one place after the other, as people do
// who copy a file and change it: a line is left out or there twice, a number is another,
// a word is missing, or is wrong. What a reader makes of all of them says much more of
// it than the files alone.
package vary

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var token = regexp.MustCompile(`[A-Za-z]+|[0-9]+`)

// Texts are variations of a text, most of them at most, evenly taken from all there
// are. The same text has the same ones.
func Texts(text string, most int) []string {
	lines := strings.SplitAfter(text, "\n")
	var all []string
	with := func(i int, line ...string) {
		all = append(all, strings.Join(slices.Concat(lines[:i], line, lines[i+1:]), ""))
	}
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		with(i)
		with(i, line, line)
		for _, at := range token.FindAllStringIndex(line, -1) {
			for _, other := range instead(line[at[0]:at[1]]) {
				with(i, line[:at[0]]+other+line[at[1]:])
			}
		}
	}
	if len(all) <= most {
		return all
	}
	some := make([]string, most)
	for i := range some {
		some[i] = all[i*len(all)/most]
	}
	return some
}

// instead is what stands where a word or a number stood.
func instead(word string) []string {
	if n, err := strconv.ParseInt(word, 10, 62); err == nil {
		return []string{"0", "-1", fmt.Sprint(n + 1), "1", "99999999999", "1.5", "x"}
	}
	switch word {
	case "true":
		return []string{"false", "maybe"}
	case "false":
		return []string{"true", "maybe"}
	}
	return []string{"", "other", word + "s"}
}

// Sum is how long what was said is, and a digest of it.
func Sum(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return fmt.Sprintf("%6d %s", strings.Count(text, "\n"), strconv.FormatUint(h.Sum64(), 36))
}

// Stay compares what is said, by name, with a file that has a line for each, and
// writes the file again on update. A name of which something else is said is
// reported; $SHOWN=NAME writes all that is said of it to the test's log.
func Stay(t *testing.T, file string, update bool, texts map[string]string) {
	t.Helper()
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		if os.Getenv("SHOWN") == name {
			t.Log("\n" + texts[name])
		}
		fmt.Fprintf(&out, "%s %s\n", name, Sum(texts[name]))
	}
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	was := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		was[line] = true
	}
	for line := range strings.Lines(out.String()) {
		if !was[line] {
			t.Errorf("something else is said than before: %s", strings.TrimSpace(line))
		}
		delete(was, line)
	}
	for line := range was {
		t.Errorf("it was said before: %s", strings.TrimSpace(line))
	}
	if t.Failed() {
		t.Logf("SHOWN=NAME with -v prints all that is said of one, before and after; -update writes %s again", file)
	}
}
