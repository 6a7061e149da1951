package archtest

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// mostWords is how long the glossary may be: a vocabulary that is longer is not
// learnt.
const mostWords = 60

// The glossary is short, says each word once, and has none that the code does not
// use in its names or comments.
func TestTheGlossaryIsShortAndUsed(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := glossary(string(text))
	if len(words) == 0 || len(words) > mostWords {
		t.Errorf("docs/architecture.md explains %d words, at most %d are allowed", len(words), mostWords)
	}
	used := vocabulary(t, root)
	seen := map[string]bool{}
	for _, row := range words {
		for word := range strings.SplitSeq(row, ", ") {
			if seen[word] {
				t.Errorf("docs/architecture.md explains %q twice", word)
			}
			seen[word] = true
			for part := range strings.FieldsSeq(word) {
				if !used[part] && !used[part+"s"] {
					t.Errorf("docs/architecture.md explains %q, and no Go file uses %q", word, part)
				}
			}
		}
	}
}

// glossary are the first cells of the rows below "## Words".
func glossary(text string) []string {
	_, text, _ = strings.Cut(text, "\n## Words\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var out []string
	for line := range strings.Lines(text) {
		word, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if ok && strings.HasPrefix(line, "| ") && word != "Word" {
			out = append(out, word)
		}
	}
	return out
}

// vocabulary are the words of identifiers and comments of product code, in small
// letters.
func vocabulary(t *testing.T, root string) map[string]bool {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		t.Skipf("this takes git and a checkout of the repository, whose list of files says what is ours: git clone, not an archive (%v)", err)
	}
	used := map[string]bool{}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/testing/") || strings.HasPrefix(name, "tools/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // removed, and not committed yet
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(name, -1, len(text)), text, nil, scanner.ScanComments)
		for {
			_, tok, lit := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok != token.IDENT && tok != token.COMMENT {
				continue
			}
			for word := range strings.FieldsFuncSeq(lit, func(r rune) bool { return !unicode.IsLetter(r) }) {
				for _, hump := range humps(word) {
					used[strings.ToLower(hump)] = true
				}
			}
		}
	}
	return used
}
