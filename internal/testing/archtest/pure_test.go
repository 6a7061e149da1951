package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deterministic are the packages whose results follow from their arguments alone:
// they ask no clock, start no goroutine and hold no lock.
var deterministic = []string{"internal/core", "internal/convert", "internal/engine"}

// learns are files that may hold a lock: what has been learnt of lengths and
// misses is read while the engine goes on.
var learns = []string{"internal/engine/estimate/runs.go", "internal/engine/estimate/score.go"}

// clock are the functions of package time that look at it, or wait.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func TestCoreAndEngineAreDeterministic(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	looked := 0
	for _, dir := range deterministic {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			looked++
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, what := range impure(file, slices.Contains(learns, filepath.ToSlash(rel))) {
				t.Errorf("%s: %s; what core and engine need of that is passed in", rel, what)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 100 {
		t.Fatalf("only %d files were looked at", looked)
	}
}

// impure says what of a file depends on more than its arguments. Of package sync
// the functions that make a table once are no lock of ours.
func impure(file *ast.File, mayLock bool) []string {
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, "it starts a goroutine")
		case *ast.SelectStmt:
			out = append(out, "it selects among channels")
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			switch {
			case !ok:
			case id.Name == "time" && slices.Contains(clock, n.Sel.Name):
				out = append(out, "it asks the clock: time."+n.Sel.Name)
			case id.Name == "sync" && !strings.HasPrefix(n.Sel.Name, "Once") && !mayLock, id.Name == "atomic":
				out = append(out, fmt.Sprintf("it shares memory: %s.%s", id.Name, n.Sel.Name))
			case id.Name == "rand" && n.Sel.Name != "New" && n.Sel.Name != "NewPCG" && n.Sel.Name != "Rand" && n.Sel.Name != "Source":
				out = append(out, "it draws lots of its own: rand."+n.Sel.Name)
			}
		}
		return true
	})
	return out
}

func TestImpure(t *testing.T) {
	src := `package p
import ("time"; "sync"; "sync/atomic"; "math/rand")
var mu sync.Mutex
var n atomic.Int64
var once = sync.OnceValue(func() int { return 1 })
func f() { go f(); select {}; _ = time.Now(); _ = time.Second; _ = rand.Int() }`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := impure(file, false); len(got) != 6 {
		t.Errorf("found %q, want the lock, the counter, the goroutine, the select, the clock and the lot", got)
	}
	if got := impure(file, true); len(got) != 5 {
		t.Errorf("found %q where locks are allowed", got)
	}
}
