package commands

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/compat"
)

// literals are the texts in a package's source that are no names in a table.
func literals(t *testing.T, dirs ...string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if pair, ok := n.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Names" {
						return false
					}
				}
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						out[text] = true
					}
				}
				return true
			})
		}
	}
	return out
}

// silent are flags that are done by not doing anything: what they say is the
// default.
var silent = map[string]bool{"no-follow": true, "table": true, "sky follow": true, "sky show-managed-jobs": true}

// TestFlagsThatAreDoneAreRead finds flags in tables that no command looks at.
func TestFlagsThatAreDoneAreRead(t *testing.T) {
	sources := map[string]map[string]bool{
		"mcli": literals(t, "../mcli"), "runai": literals(t, "../runai"), "slurm": literals(t, "../slurm", "../slurm/accounting", "../slurm/crontab", "../slurm/table", "../slurm/terms"), "jobq": literals(t, "../jobq"), "sky": literals(t, "../sky"), "dstack": literals(t, "../dstack"), "compat": literals(t, "."),
	}
	everyCommand(func(path string, c *compat.Command, _ []compat.Flag) {
		tool, _, _ := strings.Cut(strings.TrimPrefix(path, "muster "), " ")
		source := sources[tool]
		if source == nil {
			source = sources["slurm"]
		}
		for _, f := range c.Flags {
			if f.Does != "" && !f.Pass && !silent[f.Name()] && !silent[tool+" "+f.Name()] && !source[f.Name()] {
				t.Errorf("%s --%s is said to be done, but nothing reads it", path, f.Name())
			}
		}
	})
}
