package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// told are the pages whose paths and symbols are checked: those that lead a
// contributor to a place in the code.
var told = []string{"CONTRIBUTING.md", "README.md", "docs/README.md", "docs/upgrade.md", "docs/architecture.md", "docs/testing.md", "docs/dependencies.md", "docs/ui.md"}

var (
	// A path of the repository in code quotes, and in brackets after it what it
	// declares or says, each in code quotes.
	place = regexp.MustCompile("`((?:internal|cmd|api|client|web|sdk|docs|scripts|deploy|examples|tools|\\.ci)/[^`\\s]*)`((?: \\((?:`[^`]+`(?:, | and )?)+\\))?)")
	quote = regexp.MustCompile("`([^`]+)`")
	brace = regexp.MustCompile(`\{([^}]*)\}`)
)

// braces are the paths that one with {a,b} stands for.
func braces(path string) []string {
	at := brace.FindStringSubmatchIndex(path)
	if at == nil {
		return []string{path}
	}
	var out []string
	for part := range strings.SplitSeq(path[at[2]:at[3]], ",") {
		out = append(out, braces(path[:at[0]]+part+path[at[1]:])...)
	}
	return out
}

// untrue is what a page says of the code that is not so.
func untrue(t *testing.T, root, page string) []string {
	t.Helper()
	var bad []string
	for _, m := range place.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		var files []string
		for _, path := range braces(m[1]) {
			found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path)))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				bad = append(bad, path)
			}
			files = append(files, found...)
		}
		for _, s := range quote.FindAllStringSubmatch(m[2], -1) {
			said := false
			for _, file := range files {
				said = said || says(t, file, s[1])
			}
			if !said {
				bad = append(bad, m[1]+" "+s[1])
			}
		}
	}
	return bad
}

// says reports whether a Go file declares a name, or any other file holds a text.
func says(t *testing.T, file, name string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return false // a folder
	}
	if filepath.Ext(file) != ".go" {
		return strings.Contains(string(text), name)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == name {
						return true
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name == name {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

func TestWhatContributorsAreToldIsThere(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	pages := documents(t, root)
	for _, name := range told {
		for _, what := range untrue(t, root, pages[name]) {
			t.Errorf("%s names %s, which is not there", name, what)
		}
	}
	if n := len(place.FindAllString(pages["CONTRIBUTING.md"], -1)); n < 50 {
		t.Errorf("CONTRIBUTING.md names only %d places", n)
	}
}

// TestUntruePlacesAreFound shows the check what it is to find.
func TestUntruePlacesAreFound(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	for text, want := range map[string]string{
		"`internal/testing/archtest/recipes_test.go` (`untrue`, `told` and `TestUntruePlacesAreFound`)": "",
		"`internal/testing/archtest/recipes_test.go` (`untrue`, `gone`)":                                "internal/testing/archtest/recipes_test.go gone",
		"`internal/testing/archtest/{recipes,gone}_test.go`":                                            "internal/testing/archtest/gone_test.go",
		"`internal/testing/archtest/*_test.go` (`rule`), `internal/gone/`":                              "internal/gone/",
		"`docs/testing.md` (`make quick`) `docs/testing.md` (`make gone`)":                              "docs/testing.md make gone",
		"`scripts/quick -count=1` and `internal/testing/archtest`":                                      "",
	} {
		if got := strings.Join(untrue(t, root, text), " "); got != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
}
