package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const schedulePath = module + "internal/core/schedule"

// madeOnce are types of the scheduler that only schedule.NewPolicy fills in:
// what a server does and what is measured would drift apart otherwise.
var madeOnce = []string{"Config", "Pool", "Policy"}

// secondPolicies are the places in a file that fill in a configuration of the
// scheduler by themselves: a composite literal with fields, or an assignment to a
// field of what NewPolicy has returned.
func secondPolicies(f *ast.File) []ast.Node {
	name := ""
	for _, i := range f.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == schedulePath {
			if name = "schedule"; i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	is := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok || !slices.Contains(madeOnce, s.Sel.Name) {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == name
	}
	made := map[string]bool{} // variables that hold a policy
	var bad []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if is(n.Type) && len(n.Elts) > 0 {
				bad = append(bad, n)
			}
			if list, ok := n.Type.(*ast.ArrayType); ok && is(list.Elt) {
				for _, e := range n.Elts {
					if lit, ok := e.(*ast.CompositeLit); ok && lit.Type == nil && len(lit.Elts) > 0 {
						bad = append(bad, lit)
					}
				}
			}
		case *ast.AssignStmt:
			for i, right := range n.Rhs {
				if call, ok := right.(*ast.CallExpr); ok && i < len(n.Lhs) {
					if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "NewPolicy" {
						if v, ok := n.Lhs[i].(*ast.Ident); ok {
							made[v.Name] = true
						}
					}
				}
			}
			for _, left := range n.Lhs {
				field, ok := left.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				if inner, ok := field.X.(*ast.SelectorExpr); ok && inner.Sel.Name == "Config" {
					field = inner
				}
				if v, ok := field.X.(*ast.Ident); ok && made[v.Name] {
					bad = append(bad, n)
				}
			}
		}
		return true
	})
	return bad
}

func TestOneConstructorMakesTheSchedulersConfiguration(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" || rel == filepath.Join("internal", "core", "schedule")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		for _, n := range secondPolicies(f) {
			at := set.Position(n.Pos())
			t.Errorf("%s:%d fills in the scheduler's configuration by itself; make it by schedule.NewPolicy, with an option for what differs", rel, at.Line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files were looked at", files)
	}
}

// TestASecondConfigurationIsFound shows the check what it is to find.
func TestASecondConfigurationIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`c := schedule.Config{MaxMoves: 3}; _ = c`:                                    1,
		`c := schedule.Config{}; _ = c`:                                               0,
		`c := []schedule.Pool{{Name: "a"}, {}}; _ = c`:                                1,
		`p := schedule.NewPolicy(); p.Quantum = 3`:                                    1,
		`p := schedule.NewPolicy(); p.Config.Quantum = 3`:                             1,
		`p := schedule.NewPolicy(schedule.MaxMoves(3)); _ = p.Pool("a", "", "", 0)`:   0,
		`c := struct{ schedule.Config }{schedule.Config{K: 1}}; c.Config.Quantum = 3`: 1,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nimport \""+schedulePath+"\"\nfunc f() { "+text+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(secondPolicies(f)); got != want {
			t.Errorf("%s: found %d, want %d", text, got, want)
		}
	}
}
