package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// kindNames are how the kinds of workloads are called in package lifecycle.
var kindNames = []string{"Training", "Distributed", "Workspace", "Inference", "External"}

// isKind reports whether e is one of the kinds, as a constant, converted or not, or
// as a text.
func isKind(e ast.Expr, text bool) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return isKind(e.X, text)
	case *ast.CallExpr: // string(lifecycle.Training)
		return len(e.Args) == 1 && isKind(e.Args[0], text)
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == "lifecycle" && slices.Contains(kindNames, e.Sel.Name)
	case *ast.BasicLit:
		return text && slices.ContainsFunc(lifecycle.Kinds(), func(k lifecycle.Kind) bool { return e.Value == `"`+string(k)+`"` })
	}
	return false
}

// isAKindsField reports whether e is a field Kind, converted or not.
func isAKindsField(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return len(e.Args) == 1 && isAKindsField(e.Args[0])
	case *ast.SelectorExpr:
		return e.Sel.Name == "Kind"
	}
	return false
}

// comparedKinds are the places in f where something depends on which kind it is.
func comparedKinds(f *ast.File) []ast.Node {
	var bad []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				if isKind(n.X, isAKindsField(n.Y)) || isKind(n.Y, isAKindsField(n.X)) {
					bad = append(bad, n)
				}
			}
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				if slices.ContainsFunc(c.(*ast.CaseClause).List, func(e ast.Expr) bool { return isKind(e, isAKindsField(n.Tag)) }) {
					bad = append(bad, c)
				}
			}
		case *ast.IndexExpr:
			if isKind(n.Index, false) {
				bad = append(bad, n)
			}
		}
		return true
	})
	return bad
}

// What differs between kinds is in one table, lifecycle.KindInfo; places ask for the
// fact that matters there. Kinds are given by name where a document is made.
func TestNothingAsksWhichKindItIs(t *testing.T) {
	if len(kindNames) != len(lifecycle.Kinds()) {
		t.Fatalf("the kinds are %v: name them all", lifecycle.Kinds())
	}
	for path, f := range sources(t, "internal", "cmd", "client", "api") {
		if strings.HasPrefix(path, "internal/testing/") { // which makes documents of each kind, and says what must be true of it
			continue
		}
		for _, n := range comparedKinds(f.file) {
			t.Errorf("%s: it depends on which kind it is: ask for what matters here, such as Kind.Replicated, or add a fact to lifecycle.KindInfo", f.set.Position(n.Pos()))
		}
	}
}

func TestAComparedKindIsSeen(t *testing.T) {
	for body, want := range map[string]int{
		`x := w.Kind == lifecycle.Inference`:                                    1,
		`x := w.Kind != string(lifecycle.External)`:                             1,
		`x := w.Kind == "inference"`:                                            1,
		`x := priority == "inference"`:                                          0,
		`switch lifecycle.Kind(w.Kind) { case lifecycle.Workspace: case "x": }`: 1,
		`switch w.Kind { case "training", "distributed": }`:                     1,
		`switch { case w.Kind == lifecycle.Training: }`:                         1,
		`x := words[lifecycle.Workspace]`:                                       1,
		`x := spec.Document{Kind: lifecycle.Inference}`:                         0,
		`x := w.Kind.Replicated()`:                                              0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := comparedKinds(f); len(got) != want {
			t.Errorf("%s: %d places are seen, want %d", body, len(got), want)
		}
	}
}
