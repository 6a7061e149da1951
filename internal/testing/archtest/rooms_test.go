package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a room of product code may hold, so that one reader can hold it too.
const (
	mostLines   = 5000 // of a package, tests not counted
	mostFiles   = 30   // of a package, tests not counted
	mostTangled = 12   // files of a package in one cycle of references
	mostMethods = 60   // on one receiver
)

// room is a package with its numbers.
type room struct {
	path           string // without the module
	files, lines   int
	tangled        int // files in the largest cycle of references
	receiver       string
	methods        int // of receiver, which has the most
	testLines      int
	tangledFiles   []string
	product, tests bool
}

// TestRoomsAreOfASizeOneCanHold measures every package of product code, and with
// -v prints the tree with its numbers. Tools and what only tests use are printed
// and not bounded.
func TestRoomsAreOfASizeOneCanHold(t *testing.T) {
	rooms := measured(t)
	var worst room
	for _, r := range rooms {
		t.Logf("%-44s %6d lines %3d files %3d in a cycle %4d methods %s", r.path, r.lines, r.files, r.tangled, r.methods, r.receiver)
		if !r.product {
			continue
		}
		worst.lines, worst.files = max(worst.lines, r.lines), max(worst.files, r.files)
		worst.tangled, worst.methods = max(worst.tangled, r.tangled), max(worst.methods, r.methods)
		for _, b := range []struct {
			have, most int
			what       string
		}{
			{r.lines, mostLines, "lines"},
			{r.files, mostFiles, "files"},
			{r.tangled, mostTangled, "files in one cycle of references: " + strings.Join(r.tangledFiles, " ")},
			{r.methods, mostMethods, "methods on " + r.receiver},
		} {
			if b.have <= b.most {
				continue
			}
			t.Errorf("%s has %d %s; at most %d are allowed: cut it along a seam", r.path, b.have, b.what, b.most)
		}
	}
	product, tests := 0, 0
	for _, r := range rooms {
		if r.product {
			product += r.lines
		}
		tests += r.testLines
		if r.tests {
			tests += r.lines
		}
	}
	t.Logf("%d packages; largest %d lines, %d files; worst cycle %d files; busiest receiver %d methods; product %d lines, tests %d",
		len(rooms), worst.lines, worst.files, worst.tangled, worst.methods, product, tests)
}

func measured(t *testing.T) []room {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Export,Dir,GoFiles,TestGoFiles,XTestGoFiles,Name,Standard", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	type pkg struct {
		ImportPath, Export, Dir, Name      string
		GoFiles, TestGoFiles, XTestGoFiles []string
	}
	var ours []pkg
	export := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		export[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath+"/", module) {
			ours = append(ours, p)
		}
	}
	if len(ours) < 10 {
		t.Fatalf("only %d packages were found", len(ours))
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(export[path]) }
	var rooms []room
	for _, p := range ours {
		r := room{path: strings.TrimPrefix(p.ImportPath, module)}
		r.tests = within(r.path, "internal/testing")
		r.product = !r.tests && !within(r.path, "scripts") && !within(r.path, "examples") && len(p.GoFiles) > 0
		for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			r.testLines += lines(t, filepath.Join(p.Dir, f))
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, f := range p.GoFiles {
			path := filepath.Join(p.Dir, f)
			r.lines += lines(t, path)
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		r.files = len(files)
		if len(files) > 0 {
			info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
			config := types.Config{Importer: importer.ForCompiler(fset, "gc", open)}
			checked, err := config.Check(p.ImportPath, fset, files, info)
			if err != nil {
				t.Fatalf("%s: %v", p.ImportPath, err)
			}
			r.count(fset, checked, info)
		}
		rooms = append(rooms, r)
	}
	return rooms
}

func lines(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// count sets the numbers that follow from who uses what: methods by receiver,
// and the files that refer to one another in a circle.
func (r *room) count(fset *token.FileSet, p *types.Package, info *types.Info) {
	methods := map[string]int{}
	for _, o := range info.Defs {
		f, ok := o.(*types.Func)
		if !ok || f.Signature().Recv() == nil {
			continue
		}
		of := f.Signature().Recv().Type()
		if ptr, ok := of.(*types.Pointer); ok {
			of = ptr.Elem()
		}
		if n, ok := of.(*types.Named); ok && !types.IsInterface(n) {
			methods[n.Obj().Name()]++
		}
	}
	for name, n := range methods {
		if n > r.methods || n == r.methods && name < r.receiver {
			r.receiver, r.methods = name, n
		}
	}
	name := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	uses := map[string]map[string]bool{}
	for id, o := range info.Uses {
		if o.Pkg() != p || !shared(p, o) {
			continue
		}
		from, to := name(id.Pos()), name(o.Pos())
		if from == to {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		uses[from][to] = true
	}
	for _, c := range cycles(uses) {
		if len(c) > max(1, r.tangled) {
			slices.Sort(c)
			r.tangled, r.tangledFiles = len(c), c
		}
	}
}

// shared says whether other files of p can refer to o: a declaration of the
// package, a method or a field.
func shared(p *types.Package, o types.Object) bool {
	switch o := o.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return o.IsField() || o.Parent() == p.Scope()
	}
	return o.Parent() == p.Scope()
}

// cycles are the strongly connected components of a graph (Tarjan, 1972).
func cycles(uses map[string]map[string]bool) [][]string {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var found [][]string
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, on[v] = append(stack, v), true
		for w := range uses[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		for _, w := range stack[at:] {
			on[w] = false
		}
		found = append(found, slices.Clone(stack[at:]))
		stack = stack[:at]
	}
	for v := range uses {
		if index[v] == 0 {
			visit(v)
		}
	}
	return found
}

func TestCycles(t *testing.T) {
	uses := map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {"a": true, "d": true}, "d": {"e": true}, "e": nil}
	largest := 0
	for _, c := range cycles(uses) {
		largest = max(largest, len(c))
	}
	if largest != 3 {
		t.Errorf("the largest cycle has %d members, want 3: %v", largest, fmt.Sprint(cycles(uses)))
	}
}
