package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unit is what says what a number counts: a unit at the end of the field's JSON
// name, or a unit, a sort of thing or an origin in what is said of it.
var unit = regexp.MustCompile(`(?i)(seconds|bytes|milli|hours|percent|code|index|count)$`)

// told is a text that gives a unit: of amounts which, of numbers in a row where
// they begin, of counts what is counted.
var told = regexp.MustCompile(`(?i)\b(milliseconds?|seconds?|bytes?|thousandths?|gpus?|devices?|cores|gpu-hours|device-seconds|steps?|tasks?|workloads?|replicas?|nodes?|files?|layers?|lines?|runs?|attempts?|tries|times|how often|how many|restarts?|questions?|estimates|answers|requests?|from [01]|[01] to [01]|0\.001 to 1|index|number of|order|rank|signal|exit code|port|process id|http status|kept number|proportion|weight|unit|numbers by name|as the metric)\b`)

// counts are fields whose name is the thing that is counted.
var counts = regexp.MustCompile(`^(tasks|nodes|workloads|replicas|restarts|gpus|fakeGpus|files|layers|tries|attempt|generation|version|revision|priority|port|line|status|step|steps|position|run|signal|pid)$`)

// TestNumbersSayTheirUnit reads the types of the API: a number of which nobody can
// tell what it counts is not one that a client can use.
func TestNumbersSayTheirUnit(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range unitless(t, name, string(text), &looked) {
			t.Errorf("%s: give it a unit at the end of its JSON name, such as Seconds, Bytes or Milli, or say in its doc what is counted", bad)
		}
	}
	if looked < 150 {
		t.Fatalf("only %d numbers were looked at", looked)
	}
}

// unitless are the number fields of a file that give no unit.
func unitless(t *testing.T, name, text string, looked *int) (bad []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range s.Fields.List {
			if f.Tag == nil || !number(f.Type) {
				continue
			}
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if key == "" || key == "-" {
				continue
			}
			*looked++
			said := reflect.StructTag(tag).Get("doc") + " " + f.Doc.Text() + " " + f.Comment.Text()
			if !unit.MatchString(key) && !counts.MatchString(key) && !told.MatchString(said) {
				bad = append(bad, fset.Position(f.Pos()).String()+": "+key)
			}
		}
		return true
	})
	return bad
}

// number says whether a field is a number, or several.
func number(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return number(e.X)
	case *ast.ArrayType:
		return number(e.Elt)
	case *ast.MapType:
		return number(e.Value)
	case *ast.Ident:
		switch e.Name {
		case "int", "int32", "int64", "uint32", "uint64", "float64":
			return true
		}
	}
	return false
}

func TestANumberWithoutAUnitIsSeen(t *testing.T) {
	const head = "package p\n\ntype t struct {\n"
	for field, want := range map[string]int{
		"A int `json:\"load\"`":                                 1,
		"A *float64 `json:\"load,omitempty\" doc:\"How much\"`": 1,
		"A map[string]int64 `json:\"loads\"`":                   1,
		"A int `json:\"loadSeconds\"`":                          0,
		"A int `json:\"load\" doc:\"In bytes\"`":                0,
		"A string `json:\"load\"`":                              0,
		"A int `json:\"tasks\"`":                                0,
	} {
		looked := 0
		if got := unitless(t, "p.go", head+field+"\n}\n", &looked); len(got) != want {
			t.Errorf("%s: %d without a unit, want %d: %v", field, len(got), want, got)
		}
	}
}
