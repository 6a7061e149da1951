package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// ours are the packages whose values commands answer.
var ours = []string{"core", "spec", "draft", "report", "organisation", "submission", "explanation", "consequence"}

// noAnswers are types of these packages that no command answers: an error is asserted
// where it has just been made, and a meter may count more than every meter does.
var noAnswers = []string{"Error", "Counter"}

// untyped are the places in f where the type of a command's answer is lost, or won
// back by an assertion.
func untyped(f *ast.File) []ast.Node {
	var bad []ast.Node
	isAny := func(e ast.Expr) bool {
		x, ok := e.(*ast.Ident)
		return ok && x.Name == "any"
	}
	selects := func(e ast.Expr) (pkg, name string) {
		if s, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				return x.Name, s.Sel.Name
			}
		}
		return "", ""
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			if pkg, name := selects(n.X); pkg == "draft" && (name == "Command" || name == "Question") && isAny(n.Index) {
				bad = append(bad, n)
			}
		case *ast.TypeAssertExpr:
			if n.Type == nil {
				return true
			}
			named := ""
			ast.Inspect(n.Type, func(x ast.Node) bool {
				if e, ok := x.(ast.Expr); ok {
					if pkg, name := selects(e); slices.Contains(ours, pkg) {
						named = name
					}
				}
				return true
			})
			if named != "" && !slices.Contains(noAnswers, named) {
				bad = append(bad, n)
			}
		}
		return true
	})
	return bad
}

// Commands carry the type of their answer, so nobody has to assert it.
func TestAnswersOfCommandsAreTyped(t *testing.T) {
	for _, f := range sources(t, "internal/engine", "internal/control", "internal/server", "internal/serviceproxy", "internal/telemetry", "internal/operations", "internal/testing/sim") {
		for _, n := range untyped(f.file) {
			t.Errorf("%s: the type of an answer is lost here, or asserted: let the command say it, draft.Command[R]", f.set.Position(n.Pos()))
		}
	}
}

func TestAnAssertedAnswerIsSeen(t *testing.T) {
	for body, want := range map[string]int{
		`w := v.(*core.Workload)`:                          1,
		`for range v.([]report.Standing) {}`:               1,
		`all, ok := v.(map[core.WorkloadID]Pending)`:       1,
		`var c draft.Command[any]`:                         1,
		`err.(*draft.Error).Field = kind`:                  0,
		`e, ok := p.(backend.Enterer)`:                     0,
		`var c draft.Command[*core.Workload]`:              0,
		`switch x := v.(type) { case *core.Project: x() }`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(untyped(f)); got != want {
			t.Errorf("%s: %d places are seen, want %d", body, got, want)
		}
	}
}
