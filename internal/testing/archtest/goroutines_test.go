package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// calm are the packages that compute and start no goroutine: scripts/test runs
// their tests without the race detector.
var calm = []string{
	"internal/core", "internal/engine", "internal/simulate/scenario", "internal/simulate/trace", "internal/simulate/replay",
	"internal/convert", "internal/compat", "internal/testing/sim",
}

// TestWhatRunsWithoutTheRaceDetectorHasNoGoroutines holds the list of scripts/test
// to what it says of these packages.
func TestWhatRunsWithoutTheRaceDetectorHasNoGoroutines(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	script, err := os.ReadFile(filepath.Join(root, "scripts", "test"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, dir := range calm {
		if !strings.Contains(string(script), "./"+dir) {
			t.Errorf("scripts/test does not name %s: take it from the list here as well", dir)
		}
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if starts(n) {
					t.Errorf("%s starts a goroutine: its package belongs to those that scripts/test runs with the race detector", set.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 100 {
		t.Errorf("looked at %d files only", files)
	}
}

// starts reports whether a node is a go statement, or a call of a method named Go,
// as of a sync.WaitGroup or an errgroup.Group.
func starts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		return ok && f.Sel.Name == "Go"
	}
	return false
}
