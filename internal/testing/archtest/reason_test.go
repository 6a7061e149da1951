package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// explains are the files that may look at a reason, since all that follows from it
// is what is said: other platforms' words, the printed pages of the machine, whether
// something new is said.
var explains = map[string]string{
	"internal/core/lifecycle/dialect.go":        "other platforms' words",
	"internal/core/lifecycle/dialect_queues.go": "other platforms' words",
	"internal/core/lifecycle/dialect_task.go":   "other platforms' words",
	"internal/core/lifecycle/machine.go":        "an event that gives no reason has its own",
	"internal/core/lifecycle/page.go":           "docs/lifecycle.md",
	"internal/core/lifecycle/walk.go":           "docs/lifecycle.md",
	"internal/engine/consequence/hold.go":       "it is said anew only when it is another",
	"internal/engine/consequence/gates.go":      "it is said anew only when it is another",
}

// reads reports whether e is a reason: a field of that name, or a constant of
// package lifecycle, converted or not.
func reads(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return reads(e.X)
	case *ast.CallExpr: // string(x.Reason), lifecycle.Reason(x.Reason)
		return len(e.Args) == 1 && reads(e.Args[0]) && !isCall(e, "len")
	case *ast.SelectorExpr:
		x, pkg := e.X.(*ast.Ident)
		return e.Sel.Name == "Reason" || pkg && x.Name == "lifecycle" && strings.HasPrefix(e.Sel.Name, "Reason") && e.Sel.Name != "Reason"
	case *ast.Ident:
		return strings.HasPrefix(e.Name, "Reason") && e.Name != "Reason" && e.Name != "Reasons"
	}
	return false
}

func isCall(c *ast.CallExpr, name string) bool {
	f, ok := c.Fun.(*ast.Ident)
	return ok && f.Name == name
}

// decidesByReason are the places in f where something depends on a reason.
func decidesByReason(f *ast.File) []ast.Node {
	var bad []ast.Node
	note := func(n ast.Node, exprs ...ast.Expr) {
		if slices.ContainsFunc(exprs, reads) {
			bad = append(bad, n)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				note(n, n.X, n.Y)
			}
		case *ast.SwitchStmt:
			if n.Tag != nil {
				note(n, n.Tag)
			}
		case *ast.CaseClause:
			note(n, n.List...)
		case *ast.IndexExpr:
			note(n, n.Index)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == "slices" || x.Name == "strings") && len(n.Args) > 1 {
					note(n, n.Args...)
				}
			}
		}
		return true
	})
	return bad
}

// A reason explains and never decides: the failure's class, the event, the cause
// and the state do.
func TestNothingDecidesByAReason(t *testing.T) {
	used := map[string]bool{}
	for path, f := range sources(t, "internal/core", "internal/engine", "internal/control") {
		found := decidesByReason(f.file)
		if len(found) > 0 && explains[path] != "" {
			used[path] = true
			continue
		}
		for _, n := range found {
			t.Errorf("%s: it depends on a reason, which explains and never decides: use the failure's class, the event or the cause", f.set.Position(n.Pos()))
		}
	}
	for path := range explains {
		if !used[path] {
			t.Errorf("%s does not look at reasons any more: take it off the list", path)
		}
	}
}

type source struct {
	set  *token.FileSet
	file *ast.File
}

// sources are the product files below folders of the repository, by path.
func sources(t *testing.T, folders ...string) map[string]source {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	out := map[string]source{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			out[filepath.ToSlash(rel)] = source{set, f}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 100 {
		t.Fatalf("only %d files were found", len(out))
	}
	return out
}

func TestDependingOnAReasonIsSeen(t *testing.T) {
	for body, want := range map[string]int{
		`if t.Reason == string(lifecycle.ReasonSystem) {}`:                       1,
		`if lifecycle.ReasonNone != why {}`:                                      1,
		`switch w.Reason { case lifecycle.ReasonError: }`:                        2,
		`switch { case slices.Contains(all, t.Reason): }`:                        1,
		`x := strings.HasPrefix(w.Reason, "Max")`:                                1,
		`x := classes[t.Reason]`:                                                 1,
		`x := lifecycle.Input{Reason: lifecycle.ReasonError, Message: w.Reason}`: 0,
		`d.w.Reason = lifecycle.Reason(t.Reason)`:                                0,
		`if d.w.Event == lifecycle.Move {}`:                                      0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := decidesByReason(f); len(got) != want {
			t.Errorf("%s: %d places are seen, want %d", body, len(got), want)
		}
	}
}
