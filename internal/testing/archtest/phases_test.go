package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// phaseSets are the sets of phases that have a name, by their members in order.
var phaseSets = func() map[string]string {
	out := map[string]string{}
	for name, in := range map[string]func(lifecycle.Phase) bool{
		"Unstarted": lifecycle.Phase.Unstarted, "Checking": lifecycle.Phase.Checking, "InQueue": lifecycle.Phase.InQueue,
		"Active": lifecycle.Phase.Active, "Ended": lifecycle.Phase.Ended, "Held": lifecycle.Phase.Held, "End": lifecycle.Phase.End, "Quota": lifecycle.Phase.Quota,
	} {
		all := map[string]bool{}
		for _, p := range lifecycle.Phases() {
			if in(p.Phase) {
				all[string(p.Phase)] = true
			}
		}
		out[members(all)] = name
	}
	return out
}()

func members(all map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(all)), " ") }

// setsSpelledOut are the places in f that list the phases of a set that has a name:
// in a case, or in comparisons joined by || (or != by &&).
func setsSpelledOut(f *ast.File) map[ast.Node]string {
	out := map[ast.Node]string{}
	note := func(n ast.Node, exprs ...ast.Expr) {
		all := map[string]bool{}
		for _, e := range exprs {
			s, ok := e.(*ast.SelectorExpr)
			if !ok {
				return
			}
			if x, ok := s.X.(*ast.Ident); !ok || x.Name != "lifecycle" {
				return
			}
			all[s.Sel.Name] = true
		}
		if name := phaseSets[members(all)]; name != "" {
			out[n] = name
		}
	}
	inner := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			note(n, n.List...)
		case *ast.BinaryExpr:
			if inner[n] || n.Op != token.LOR && n.Op != token.LAND {
				return true
			}
			equal := token.EQL
			if n.Op == token.LAND {
				equal = token.NEQ
			}
			// What is compared with phases in this chain, by what it is.
			with := map[string][]ast.Expr{}
			var collect func(e ast.Expr)
			collect = func(e ast.Expr) {
				b, ok := e.(*ast.BinaryExpr)
				switch {
				case ok && b.Op == n.Op:
					inner[b] = true
					collect(b.X)
					collect(b.Y)
				case ok && b.Op == equal:
					with[path(b.X)] = append(with[path(b.X)], b.Y)
				}
			}
			collect(n)
			for _, exprs := range with {
				note(n, exprs...)
			}
		}
		return true
	})
	return out
}

// path is the text of a name with its fields.
func path(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return path(e.X) + "." + e.Sel.Name
	}
	return ""
}

// Which phases count as active, unstarted, ended … is said once, beside the table.
func TestSetsOfPhasesHaveNames(t *testing.T) {
	for _, f := range sources(t, "internal", "cmd") {
		for n, name := range setsSpelledOut(f.file) {
			t.Errorf("%s: these phases are a set that has a name: ask Phase.%s", f.set.Position(n.Pos()), name)
		}
	}
}

func TestASetThatIsSpelledOutIsSeen(t *testing.T) {
	for body, want := range map[string]int{
		`switch p { case lifecycle.Running, lifecycle.Restarting, lifecycle.Starting: }`:                                        1,
		`switch p { case lifecycle.Running, lifecycle.Starting: }`:                                                              0,
		`x := w.Phase == lifecycle.Queued || w.Phase == lifecycle.Reserved`:                                                     1,
		`x := w.Phase == lifecycle.Queued || v.Phase == lifecycle.Reserved`:                                                     0,
		`x := w.Phase != lifecycle.Queued && w.Phase != lifecycle.Reserved`:                                                     1,
		`x := w.Phase == lifecycle.Queued || w.Phase == lifecycle.Reserved || w.Phase == lifecycle.Running`:                     0,
		`x := late || p == lifecycle.Reserved || (n > 1) || p == lifecycle.Queued`:                                              1,
		`switch p { case lifecycle.Reviewing, lifecycle.Reserved: }; if p == lifecycle.Reviewing || p == lifecycle.Reserved {}`: 2,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := setsSpelledOut(f); len(got) != want {
			t.Errorf("%s: %v are seen, want %d", body, got, want)
		}
	}
}
