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

// TestWhereGoroutinesMeetRunsWithTheRaceDetector holds the tests of stores and of
// packing that scripts/test runs once more to those that there are, and to every
// one that starts goroutines.
func TestWhereGoroutinesMeetRunsWithTheRaceDetector(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	script, err := os.ReadFile(filepath.Join(root, "scripts", "test"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(script), "\nmeet='Test(Store|Contract)/^(")
	inner, rest, ok2 := strings.Cut(rest, ")$|")
	outer, _, ok3 := strings.Cut(rest, "'\n")
	if !ok || !ok2 || !ok3 {
		t.Fatal("scripts/test does not say which tests of the store run with the race detector: meet='Test(Store|Contract)/^(…)$|…'")
	}
	var names []string
	for _, name := range strings.Split(outer, "|") {
		name, _, _ = strings.Cut(name, "/")
		names = append(names, name)
	}
	contract, err := os.ReadFile(filepath.Join(root, "internal", "testing", "storetest", "storetest.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(inner, "|") {
		_, rest, ok := strings.Cut(string(contract), `{"`+name+`", `)
		function, _, _ := strings.Cut(rest, "}")
		if !ok {
			t.Errorf("the contract of stores has no test %s, which scripts/test names", name)
		}
		names = append(names, function)
	}
	start := map[string]bool{} // the tests that exist: whether they start a goroutine
	for _, dir := range []string{"internal/testing/storetest", "internal/testing/memstore", "internal/store/sqlstore", "internal/simulate/packing"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if !strings.HasSuffix(dir, "storetest") && !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "bench_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					ast.Inspect(f, func(n ast.Node) bool {
						start[f.Name.Name] = start[f.Name.Name] || starts(n)
						return true
					})
				}
			}
		}
	}
	for _, name := range names {
		if _, there := start[name]; !there {
			t.Errorf("scripts/test names %s, which does not exist", name)
		}
		delete(start, name)
	}
	delete(start, "readSteps") // of testWholeBatches
	for name, does := range start {
		if does {
			t.Errorf("%s starts goroutines: name it in scripts/test among what runs with the race detector", name)
		}
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
