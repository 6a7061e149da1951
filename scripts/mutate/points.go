package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// point is one place where a package can be made wrong, and how.
type point struct {
	number   int // what the program is told to do it; from 1, over all packages
	pkg      string
	file     string // from the root of the repository
	line     int
	column   int
	lastLine int
	what     string // the change, as a person reads it
	from, to int    // the bytes of the source it is about
	edits    []edit
	dropped  bool // it did not type-check
}

func (p *point) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.file, p.line, p.column, p.what)
}

// edit replaces the bytes from at to end by text. Of insertions at one place, those
// of the outermost point come first where they open and last where they close.
type edit struct {
	at, end int
	text    string // "\x00" stands for the point's number
	closes  bool
	width   int // of the point's source: what is wider is further outside
	order   int
}

// finder walks one file.
type finder struct {
	source []byte
	set    *token.FileSet
	info   *types.Info
	pkg    *types.Package
	file   *ast.File
	points []*point
	// comparisons that are turned round already: to negate the condition would be the same
	turned map[ast.Expr]bool
	skip   map[ast.Node]bool
	result []*types.Tuple // of the functions around, innermost last
}

// find lists the points of a file in the order of its text.
func find(set *token.FileSet, file *ast.File, source []byte, info *types.Info, pkg *types.Package) []*point {
	f := &finder{source: source, set: set, info: info, pkg: pkg, file: file, turned: map[ast.Expr]bool{}, skip: map[ast.Node]bool{}}
	var stack []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			switch stack[len(stack)-1].(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				f.result = f.result[:len(f.result)-1]
			}
			stack = stack[:len(stack)-1]
			return true
		}
		if f.skip[n] {
			return false
		}
		var around ast.Node
		if len(stack) > 0 {
			around = stack[len(stack)-1]
		}
		if !f.visit(n, around) {
			return false
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			f.result = append(f.result, info.Defs[n.Name].Type().(*types.Signature).Results())
		case *ast.FuncLit:
			f.result = append(f.result, info.TypeOf(n).(*types.Signature).Results())
		}
		return true
	})
	slices.SortStableFunc(f.points, func(a, b *point) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	return f.points
}

// visit notes the points of one node; false leaves out what is inside of it.
func (f *finder) visit(n, around ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.IfStmt:
		f.negate(n.Cond, "negate the condition")
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond, "negate the condition")
		}
		f.skip[n.Post] = n.Post != nil
	case *ast.ReturnStmt:
		f.returns(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.ArrayType:
		if n.Len != nil {
			f.skip[n.Len] = true
		}
	case *ast.CompositeLit:
		// Positions in a list have to be constant.
		switch f.info.TypeOf(n).Underlying().(type) {
		case *types.Slice, *types.Array:
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					f.skip[pair.Key] = true
				}
			}
		}
	case *ast.CallExpr:
		// How much room is made beforehand changes nothing.
		if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "make" {
			kept := 1
			if _, list := f.info.TypeOf(n).Underlying().(*types.Slice); list {
				kept = 2
			}
			for _, arg := range n.Args[min(kept, len(n.Args)):] {
				f.skip[arg] = true
			}
		}
	case ast.Stmt:
		f.statement(n, around)
	}
	return true
}

// statement notes what can be left out, and counting that goes the other way.
func (f *finder) statement(n ast.Stmt, around ast.Node) {
	switch around := around.(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		if c, ok := around.(*ast.CommClause); ok && c.Comm == n {
			return
		}
	default:
		return
	}
	switch n := n.(type) {
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok {
			return
		}
		if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
			return // it stands where nothing should come
		}
		f.leaveOut(n)
	case *ast.AssignStmt:
		if name, ok := n.Lhs[0].(*ast.Ident); n.Tok == token.DEFINE || ok && name.Name == "_" {
			return
		}
		f.leaveOut(n)
		if (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && f.number(n.Lhs[0]) {
			other := map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}[n.Tok]
			f.instead(n, f.text(n.Lhs[0])+" "+other+" "+f.text(n.Rhs[0]), n.Tok.String()+" becomes "+other)
		}
	case *ast.IncDecStmt:
		other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok]
		f.instead(n, f.text(n.X)+other, n.Tok.String()+" becomes "+other)
	case *ast.BranchStmt:
		if n.Tok == token.BREAK || n.Tok == token.CONTINUE {
			f.leaveOut(n)
		}
	}
}

func (f *finder) leaveOut(n ast.Stmt) {
	f.add(n, "leave out "+brief(f.text(n)), edit{text: "if !mutant_.On(\x00) { "}, edit{text: " }", closes: true})
}

// instead does another statement where the point is on.
func (f *finder) instead(n ast.Stmt, other, what string) {
	if strings.Contains(other, "\n") || strings.Contains(other, "//") {
		return // lines keep their numbers
	}
	f.add(n, what+" in "+brief(f.text(n)), edit{text: "if mutant_.On(\x00) { " + other + " } else { "}, edit{text: " }", closes: true})
}

func (f *finder) negate(x ast.Expr, what string) {
	if f.constant(x) {
		return
	}
	if b, ok := ast.Unparen(x).(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return // == becomes != there
	}
	f.add(x, what+" "+brief(f.text(x)), edit{text: "mutant_.Not(\x00, "}, edit{text: ")", closes: true})
}

func (f *finder) returns(n *ast.ReturnStmt) {
	results := f.result[len(f.result)-1]
	if results.Len() != len(n.Results) {
		return
	}
	for i, x := range n.Results {
		t := results.At(i).Type()
		switch {
		case types.Identical(t, types.Universe.Lookup("error").Type()):
			if !f.info.Types[x].IsNil() {
				f.add(x, "return nil for the error "+brief(f.text(x)), edit{text: "mutant_.Err(\x00, "}, edit{text: ")", closes: true})
			}
		case isBool(t):
			what := "return the opposite of " + brief(f.text(x))
			if f.constant(x) {
				f.add(x, what, edit{text: "mutant_.Not(\x00, "}, edit{text: ")", closes: true})
			} else {
				f.negate(x, "return the opposite of")
			}
		}
	}
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.constant(n) {
		return
	}
	call := func(name, other string) {
		f.add(n, n.Op.String()+" becomes "+other+" in "+brief(f.text(n)),
			edit{text: "mutant_." + name + "(\x00, "},
			edit{at: f.offset(n.OpPos), end: f.offset(n.OpPos) + len(n.Op.String()), text: ","},
			edit{text: ")", closes: true})
	}
	switch n.Op {
	case token.LSS:
		call("Less", "<=")
	case token.LEQ:
		call("LessOrEqual", "<")
	case token.GTR:
		call("Greater", ">=")
	case token.GEQ:
		call("GreaterOrEqual", ">")
	case token.ADD:
		if f.number(n) {
			call("Add", "-")
		}
	case token.SUB:
		if f.number(n) {
			call("Sub", "+")
		}
	case token.EQL, token.NEQ:
		other := map[token.Token]string{token.EQL: "!=", token.NEQ: "=="}[n.Op]
		f.add(n, n.Op.String()+" becomes "+other+" in "+brief(f.text(n)), edit{text: "mutant_.Not(\x00, "}, edit{text: ")", closes: true})
	case token.LAND, token.LOR:
		// not (not a and not b) is a or b, and evaluates no more than that.
		other := map[token.Token]string{token.LAND: "||", token.LOR: "&&"}[n.Op]
		f.add(n, n.Op.String()+" becomes "+other+" in "+brief(f.text(n)),
			edit{text: "mutant_.Not(\x00, mutant_.Not(\x00, "},
			edit{at: f.offset(n.OpPos), end: f.offset(n.OpPos) + 2, text: ") " + n.Op.String() + " mutant_.Not(\x00, "},
			edit{text: "))", closes: true})
	}
}

func (f *finder) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	name := f.spell(f.info.TypeOf(n))
	if name == "" {
		return
	}
	f.add(n, n.Value+" becomes "+n.Value+"+1", edit{text: "mutant_.Next(\x00, " + name + "("}, edit{text: "))", closes: true})
}

// spell is how the file says a type, "" where it cannot.
func (f *finder) spell(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		if t.Info()&types.IsUntyped == 0 && t.Info()&types.IsNumeric != 0 {
			return t.Name()
		}
	case *types.Named:
		if t.Obj().Pkg() == f.pkg && t.TypeArgs().Len() == 0 {
			return t.Obj().Name()
		}
		for _, spec := range f.file.Imports {
			if t.Obj().Pkg() == nil || t.TypeArgs().Len() > 0 || strings.Trim(spec.Path.Value, `"`) != t.Obj().Pkg().Path() {
				continue
			}
			if spec.Name != nil {
				return spec.Name.Name + "." + t.Obj().Name()
			}
			return t.Obj().Pkg().Name() + "." + t.Obj().Name()
		}
	}
	return ""
}

func (f *finder) add(n ast.Node, what string, edits ...edit) {
	p := &point{what: what, from: f.offset(n.Pos()), to: f.offset(n.End())}
	place := f.set.Position(n.Pos())
	p.line, p.column, p.lastLine = place.Line, place.Column, f.set.Position(n.End()).Line
	for i, e := range edits {
		if e.end == 0 {
			e.at = p.from
			if e.closes {
				e.at = p.to
			}
			e.end = e.at
		}
		e.width, e.order = p.to-p.from, len(f.points)*4+i
		p.edits = append(p.edits, e)
	}
	f.points = append(f.points, p)
}

func (f *finder) constant(x ast.Expr) bool { return f.info.Types[x].Value != nil }

func (f *finder) number(x ast.Expr) bool {
	basic, ok := f.info.TypeOf(x).Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

func isBool(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.Bool
}

// brief is a piece of source in one short line.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 70 {
		text = string(runes[:69]) + "…"
	}
	return text
}

// render is the source with the edits of the points that were not dropped.
func render(source []byte, points []*point) string {
	type one struct {
		edit
		number int
	}
	var all []one
	for _, p := range points {
		if p.dropped {
			continue
		}
		for _, e := range p.edits {
			all = append(all, one{e, p.number})
		}
	}
	if len(all) == 0 {
		return string(source)
	}
	slices.SortFunc(all, func(a, b one) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		if a.closes != b.closes { // what ends here ends before something begins
			if a.closes {
				return -1
			}
			return 1
		}
		if a.closes {
			return cmp.Or(cmp.Compare(a.width, b.width), cmp.Compare(b.order, a.order))
		}
		return cmp.Or(cmp.Compare(b.width, a.width), cmp.Compare(a.order, b.order))
	})
	var out strings.Builder
	at := 0
	for _, e := range all {
		out.Write(source[at:e.at])
		out.WriteString(strings.ReplaceAll(e.text, "\x00", fmt.Sprint(e.number)))
		at = e.end
	}
	out.Write(source[at:])
	return out.String()
}
