package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

func mustParse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, text)
	}
	return d
}

func TestYAMLAndJSONSayTheSame(t *testing.T) {
	t.Parallel()
	y := mustParse(t, `
# a comment
kind: distributed
name: mnist
priority: high
command: [python3, train.py, --lr, 0.10, --amp, true]
env: {LR: 0.10, DEBUG: yes, N: 0x1F}
parameters:
  lr: 1e-5
  layers: [64, 128]
  nested: {a: null, b: .5, zip: 0123}
resources:
  cpu: 500m
  memory: 16Gi
  gpu: 8
workers: 2
retry: {limit: 3, backoff: 1m}
maxDuration: 12h
gracePeriod: 0
`)
	j := mustParse(t, `{"kind":"distributed","name":"mnist","priority":125,
"command":["python3","train.py","--lr","0.10","--amp","true"],
"env":{"LR":"0.10","DEBUG":"yes","N":"0x1F"},
"parameters":{"lr":1.0e-5,"layers":[64,128],"nested":{"a":null,"b":0.5,"zip":"0123"}},
"resources":{"cpu":0.5,"memory":17179869184,"gpu":{"count":8}},
"workers":2,"retry":{"limit":3,"backoff":60},"maxDuration":43200,"gracePeriod":"0"}`)
	if !y.Equal(j) {
		t.Errorf("they differ:\n%s\n%s", YAML(y), YAML(j))
	}
	if y.Resources.CPU.Milli() != 500 || y.Resources.Memory.Units() != 16<<30 || y.Resources.GPU.Count != 8 {
		t.Errorf("resources: %+v", y.Resources)
	}
	y.Defaults()
	if y.GracePeriod != 0 {
		t.Errorf("gracePeriod: 0 became %v", y.GracePeriod)
	}
}

func TestCommandForms(t *testing.T) {
	t.Parallel()
	line := mustParse(t, "command: echo $HOME | wc -l\n")
	if got := line.Command.Argv; len(got) != 3 || got[0] != "sh" || got[1] != "-c" || got[2] != "echo $HOME | wc -l" || !line.Command.Shell {
		t.Errorf("%+v", line.Command)
	}
	list := mustParse(t, "command: [echo, it's, 3]\n")
	if got := list.Command.String(); got != `echo 'it'\''s' 3` || list.Command.Shell {
		t.Errorf("%q %+v", got, list.Command)
	}
	script := mustParse(t, "command: |\n  set -e\n  echo a\n")
	if got := string(YAML(script)); got != "command: |\n  set -e\n  echo a\n" {
		t.Errorf("%q", got)
	}
}

func TestAliasesAreExpanded(t *testing.T) {
	t.Parallel()
	d := mustParse(t, "labels: &l {a: x}\nannotations: *l\ncommand: ls\n")
	if d.Annotations["a"] != "x" {
		t.Errorf("%+v", d.Annotations)
	}
}

func TestAbsentAndNullAreTheSame(t *testing.T) {
	t.Parallel()
	a := mustParse(t, "command: ls\nresources:\n  # cpu: 4\nenv:\narray: null\n")
	if b := mustParse(t, "command: ls\n"); !a.Equal(b) {
		t.Errorf("%s", YAML(a))
	}
}

// TestGoldenErrors reads testdata/*.txt: documents and the exact messages that
// a user sees, one case per "== name" line, the messages after ">>".
func TestGoldenErrors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	rewrite := os.Getenv("REWRITE") != ""
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, c := range strings.Split(string(raw), "== ")[1:] {
			name, rest, _ := strings.Cut(c, "\n")
			doc, want, _ := strings.Cut(rest, ">>\n")
			input := strings.NewReplacer(`<TAB>`, "\t", `<FF>`, "\xff", `<NUL>`, "\x00").Replace(doc)
			_, err := Load([]byte(input))
			got := "ok\n\n"
			if err != nil {
				got = err.Error() + "\n\n"
			}
			if got != want && !rewrite {
				t.Errorf("%s: %s:\ngot:\n%s\nwant:\n%s", file, name, got, want)
			}
			out.WriteString("== " + name + "\n" + doc + ">>\n" + got)
		}
		if rewrite {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestErrorsCarryTheirParts(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("command: ls\nresources:\n  gpuu: 1\n"))
	var errs codec.Errors
	if !errors.As(err, &errs) || len(errs) != 1 {
		t.Fatalf("%v", err)
	}
	e := errs[0]
	if e.Path != "resources.gpuu" || e.Line != 3 || e.Value != "gpuu" || e.Hint != "did you mean gpu?" || len(e.Allowed) != 5 {
		t.Errorf("%+v", e)
	}
}

func TestAllProblemsAreReportedUpToABound(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("nam: a\nkind: [b]\nworkers: two\nenv: {A: [1]}\n"))
	var errs codec.Errors
	if !errors.As(err, &errs) || len(errs) != 4 {
		t.Errorf("%v", err)
	}
	_, err = Parse([]byte(strings.Repeat("x: 1\n", 5000)))
	if !errors.As(err, &errs) || len(errs) != codec.MaxErrors {
		t.Errorf("%d problems", len(errs))
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		p := "a" + string(rune('a'+i-1))
		if i == 1 {
			p = "a0"
		}
		me := "a" + string(rune('a'+i))
		bomb += me + ": &" + me + " [" + strings.Repeat("*"+p+",", 9) + "*" + p + "]\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"bomb":       {bomb, "more than 100000 values, aliases expanded"},
		"flow":       {strings.Repeat("[", 300_000), "64 deep"},
		"json depth": {`{"parameters":` + strings.Repeat("[", 300_000), "64 deep"},
		"dashes":     {strings.Repeat("- ", 400_000), "64 deep"},
		"keys":       {"parameters:\n" + strings.Repeat("  a: 1\n", 100_000), "more than 10000 keys"},
		"huge":       {"# " + strings.Repeat("x", codec.MaxBytes), "at most 1048576"},
		"documents":  {strings.Repeat("---\na: 1\n", 50_000), "several documents"},
		"json list":  {`{"parameters":{"a":[` + strings.Repeat("1,", 300_000) + "1]}}", "more than 100000 values"},
		"yaml list":  {"parameters: {a: [" + strings.Repeat("1,", 250_000) + "1]}", "more than 100000 values"},
		"self":       {"env: &a {x: *a}", "names no anchor"},
	} {
		_, err := Parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v", name, err)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
		}
	}
}
