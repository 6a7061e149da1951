package web_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	textLine    = regexp.MustCompile(`(?m)^  (\$\w+): ('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"),$`)
	placeholder = regexp.MustCompile(`\{\w+\}`)
	textUse     = regexp.MustCompile(`\bT\.(\$\w+)`)
)

// textsOf are the texts of a language by their keys.
func textsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range textLine.FindAllStringSubmatch(source(t, "texts/"+file), -1) {
		if _, twice := out[m[1]]; twice {
			t.Errorf("%s has %s twice", file, m[1])
		}
		out[m[1]] = m[2][1 : len(m[2])-1]
	}
	// A line that is not understood would be a text that nobody compares.
	if n := strings.Count(source(t, "texts/"+file), "\n  $"); n != len(out) {
		t.Errorf("%s has %d lines with keys, of which %d are understood", file, n, len(out))
	}
	return out
}

// pageSources are the TypeScript files of the pages but for the texts and what is
// generated.
func pageSources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS("src"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Dir(name) == "texts" && name != "texts/index.ts" || name == "api/types.ts" || !strings.HasPrefix(path.Ext(name), ".ts") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("src", filepath.FromSlash(name)))
		out[name] = string(text)
		return err
	})
	if err != nil || len(out) < 100 {
		t.Fatalf("%d sources, %v", len(out), err)
	}
	return out
}

// Every text that the pages use is there in every language with the same
// placeholders, and none is there that they do not use.
func TestEveryLanguageHasEveryText(t *testing.T) {
	english := textsOf(t, "en.ts")
	used := map[string]bool{}
	for name, text := range pageSources(t) {
		for _, m := range textUse.FindAllStringSubmatch(text, -1) {
			if used[m[1]] = true; english[m[1]] == "" {
				t.Errorf("src/%s: there is no text %s", name, m[1])
			}
		}
	}
	if len(english) < 1000 {
		t.Errorf("only %d texts were found", len(english))
	}
	for _, key := range slices.Sorted(maps.Keys(english)) {
		if !used[key] {
			t.Errorf("texts/en.ts: nothing uses %s", key)
		}
	}
	languages, err := filepath.Glob("src/texts/??.ts")
	if err != nil || len(languages) < 2 {
		t.Fatal(languages, err)
	}
	for _, file := range languages {
		name := filepath.Base(file)
		theirs := textsOf(t, name)
		for key := range theirs {
			if _, known := english[key]; !known {
				t.Errorf("texts/%s: English has no %s", name, key)
			}
		}
		for key, text := range english {
			other, there := theirs[key]
			if !there || strings.TrimSpace(other) == "" {
				t.Errorf("texts/%s: %s is missing", name, key)
				continue
			}
			if have, want := placeholdersOf(other), placeholdersOf(text); !slices.Equal(have, want) {
				t.Errorf("texts/%s: %s has the placeholders %v, in English %v", name, key, have, want)
			}
			if strings.Contains(text, "|") != strings.Contains(other, "|") {
				t.Errorf("texts/%s: %s has forms of a number in one language only", name, key)
			}
			if (text[0] == ' ') != (other[0] == ' ') || (text[len(text)-1] == ' ') != (other[len(other)-1] == ' ') {
				t.Errorf("texts/%s: %s begins or ends with a space in one language only", name, key)
			}
		}
	}
}

// placeholdersOf are those of the first form of a text, in the order of their names.
func placeholdersOf(text string) []string {
	first, _, _ := strings.Cut(text, "|")
	found := placeholder.FindAllString(first, -1)
	slices.Sort(found)
	return found
}

// What is taken for text that a person reads: text between tags with a word of
// three letters; attributes that are read aloud or shown; fields of such names;
// and any string with a capital and a second word after it.
var literals = []*regexp.Regexp{
	regexp.MustCompile(`<[a-z]\w*(?: [^<>]*)?>\s*([^<>{}=;()|&?]*[A-Za-z]{3,}[^<>{}=;()|&?]*)\s*(?:<|\{)`),
	regexp.MustCompile(`\b(?:aria-label|title|label|placeholder|note|hint|yes|what)="([^"]*[A-Za-z]{3,}[^"]*)"`),
	regexp.MustCompile(`\b(?:title|label|note|hint|does|yes|done|ask|means|about): '([^']*[A-Za-z]{3,}[^']*)'`),
	regexp.MustCompile("['\"`]([A-Z][a-z]+,? (?:[a-z]+|\\$\\{)[^'\"`]*)['\"`]"),
}

// ownWords are names, tokens of the API, examples of input, and code that looks
// like a sentence.
var ownWords = regexp.MustCompile(`^(Muster|YAML|GPU|CPU|Python|Slack|Esc|muster [^<]*|--[^<]*|placement\.[cg]pu|row, rack|workspace=12h.*|- name: .*|Running, Failed|[a-z]+, [a-z]+(, [a-z]+)*( …)?|(Ready|Cordoned)(, \w+)+|curl|https?://.*)$`)

func TestNoTextStandsInTheSources(t *testing.T) {
	for name, text := range pageSources(t) {
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "//") || strings.HasPrefix(strings.TrimSpace(line), "*") || strings.HasPrefix(strings.TrimSpace(line), "/*") {
				continue
			}
			for _, said := range saidIn(line, strings.HasSuffix(name, "x")) {
				t.Errorf("src/%s:%d: %q belongs into texts/en.ts, and into every other language", name, n+1, said)
			}
		}
	}
}

// saidIn are the texts of a line that a person would read.
func saidIn(line string, tags bool) []string {
	code, _, _ := strings.Cut(line, " // ")
	code = regexp.MustCompile(`<(?:code|kbd)(?: [^>]*)?>[^<]*</(?:code|kbd)>`).ReplaceAllString(code, "")
	var out []string
	for i, pattern := range literals {
		if i == 0 && !tags {
			continue
		}
		for _, m := range pattern.FindAllStringSubmatch(code, -1) {
			if said := strings.TrimSpace(m[1]); said != "" && !ownWords.MatchString(said) {
				out = append(out, said)
			}
		}
	}
	return out
}

func TestWhatIsTakenForText(t *testing.T) {
	for line, want := range map[string]string{
		`<p class="muted">Nothing waits</p>`:              "Nothing waits",
		`<th scope="col">Name</th>`:                       "Name",
		`<th scope="col">{T.$name}</th>`:                  "",
		`<Button aria-label="Close" onClick={close} />`:   "Close",
		`{ keys: '?', does: 'Keys', run }`:                "Keys",
		"toast(`Deleted ${name}`)":                        "Deleted ${name}",
		`complain(e, 'Not deleted')`:                      "Not deleted",
		`<code>muster ui</code>`:                          "",
		`const m = new Map<string, number>()`:             "",
		`if (w.phase === 'Queued') go('workloads', true)`: "",
	} {
		if got := strings.Join(saidIn(line, true), "; "); got != want {
			t.Errorf("%s: %q is taken for text, want %q", line, got, want)
		}
	}
}
