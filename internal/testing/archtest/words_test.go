package archtest

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// field is, for words that this house once had of its own, the field's word,
// which has taken its place. Texts between quotes are not looked at: records that
// outlive a version keep their keys.
var field = map[string]string{
	"keeper": "supervisor", "plane": "backend", "chore": "operation", "kubeface": "operator", "prey": "victims", "rehouse": "relocate",
	"lane": "job class", "edition": "generation", "scene": "overview", "outlook": "forecast", "vow": "promise",
	"hunt": "search for victims", "hasten": "force kill", "stir": "requeue",
	"pledge": "promise", "astray": "on an unknown node", "heed": "check dependencies, or honour", "taker": "resolver", "prospect": "preview", "resettle": "place again",
}

// vague are words of which each stood for many things as a name in the code. In
// sentences they are words like others.
var vague = map[string]string{
	"settle": "reconcile, resolve, or choose", "settled": "resolved, or chosen", "tell": "report, notify, or announce", "told": "reported, notified, or announced",
	"said": "text, message, given, or what it is", "hear": "parse, or receive", "heard": "parsed, or received", "heed": "honour", "calm": "faultless, or rate-limit", "welcome": "tolerates, or affinity",
}

// whole are terms in which such a word is the field's own.
var whole = regexp.MustCompile(`(?i)(control|data)[ -]?planes?`)

func TestTheFieldsWordsAreUsed(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "*.go", "docs/*.md", "README.md", "CONTRIBUTING.md").Output()
	if err != nil {
		t.Skipf("this takes git and a checkout of the repository, whose list of files says what is ours: git clone, not an archive (%v)", err)
	}
	looked := 0
	for name := range strings.FieldsSeq(string(out)) {
		// Decisions and figures tell of what was called so then; tools/kubernetes is not ours to name.
		if within(name, "docs/adr") || name == "docs/benchmarks.md" || within(name, "tools/kubernetes") || strings.HasPrefix(filepath.Base(name), "words_test") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		looked++
		for word := range private(name, text) {
			t.Errorf("%s says %s; the word here is %s", name, word, field[word])
		}
		for id, word := range vagueNames(name, text) {
			t.Errorf("%s names something %s; say what it is: %s", name, id, vague[word])
		}
	}
	if looked < 500 {
		t.Fatalf("only %d files were looked at", looked)
	}
}

// private are the words of a file that have the field's in their place.
func private(name string, text []byte) map[string]bool {
	found := map[string]bool{}
	look := func(s string) {
		for word := range strings.FieldsFuncSeq(whole.ReplaceAllString(s, " "), func(r rune) bool { return !unicode.IsLetter(r) }) {
			for _, w := range humps(word) {
				w = strings.ToLower(w)
				if _, ours := field[w]; !ours {
					w = strings.TrimSuffix(w, "s")
				}
				if _, ours := field[w]; ours {
					found[w] = true
				}
			}
		}
	}
	if !strings.HasSuffix(name, ".go") {
		look(string(text))
		return found
	}
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile(name, -1, len(text)), text, nil, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return found
		case token.IDENT, token.COMMENT:
			look(lit)
		}
	}
}

// vagueNames are the names in a file of the product that have such a word in them.
func vagueNames(name string, text []byte) map[string]string {
	found := map[string]string{}
	if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
		return found
	}
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile(name, -1, len(text)), text, nil, 0)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return found
		}
		if tok != token.IDENT {
			continue
		}
		for _, w := range humps(lit) {
			if w = strings.ToLower(w); vague[w] != "" {
				found[lit] = w
			}
		}
	}
}

// humps are the words of an identifier: dialKeeper is dial and Keeper.
func humps(s string) []string {
	var out []string
	from := 0
	for i, r := range s {
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(s[i-1])) {
			out, from = append(out, s[from:i]), i
		}
	}
	return append(out, s[from:])
}

func TestVagueNames(t *testing.T) {
	src := []byte("package p\n\n// It is told what was said.\nvar told, nameToldOnce, soldier int\n")
	if got := vagueNames("p.go", src); len(got) != 2 || got["told"] == "" || got["nameToldOnce"] == "" {
		t.Errorf("found %v, want told and nameToldOnce", got)
	}
	if got := vagueNames("p_test.go", src); len(got) > 0 {
		t.Errorf("found %v in a test", got)
	}
}

func TestPrivateWords(t *testing.T) {
	for src, want := range map[string]string{
		"package p\n\n// dial finds the keeper.\n": "keeper", "package p\n\nvar thePlanes int\n": "plane", "package p\n\nconst s = `plane`\n": "", "package p\n\n// The control plane's controlPlane.\n": "",
		"package p\n\nvar explain, planet int\n": "",
	} {
		got := ""
		for w := range private("p.go", []byte(src)) {
			got += w
		}
		if got != want {
			t.Errorf("%q: found %q, want %q", src, got, want)
		}
	}
}
