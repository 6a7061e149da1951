package convert_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/export"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

var update = flag.Bool("update", false, "write the goldens of the corpus")

// corpus are the files of testdata/corpus by their path below it.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range source.Formats() {
		paths, err := filepath.Glob(filepath.Join("testdata", "corpus", string(f), "*"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range paths {
			if strings.HasSuffix(p, ".golden") {
				continue
			}
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			files[string(f)+"/"+filepath.Base(p)] = data
			n++
		}
		if f != source.Native && n < 8 {
			t.Fatalf("%s has %d files in the corpus, want 8", f, n)
		}
	}
	return files
}

func each(t *testing.T, fn func(t *testing.T, name string, data []byte)) {
	t.Helper()
	files := corpus(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) { fn(t, name, files[name]) })
	}
}

func imported(t *testing.T, data []byte) *source.Result {
	t.Helper()
	r, err := convert.Import(data)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return r
}

// report is a result as goldens have it.
func report(r *source.Result) []byte {
	var b bytes.Buffer
	for _, n := range r.Notes {
		lossy := ""
		if n.Lossy {
			lossy = " (lossy)"
		}
		fmt.Fprintf(&b, "# %s%s\n", n, lossy)
	}
	for _, d := range r.Documents {
		b.WriteString("---\n")
		if when := r.Schedules[d]; when != nil {
			b.Write(when.YAML(d))
			continue
		}
		b.Write(spec.YAML(d))
	}
	return b.Bytes()
}

func TestCorpusIsReadAsItsGoldensSay(t *testing.T) {
	each(t, func(t *testing.T, name string, data []byte) {
		r := imported(t, data)
		if dir, _, _ := strings.Cut(name, "/"); dir != string(r.Format) {
			t.Errorf("it was taken for %s", r.Format)
		}
		golden := filepath.Join("testdata", "corpus", name+".golden")
		got := report(r)
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("want -, got +:\n%s", d)
		}
	})
}

// TestEveryLineIsAccountedFor: no value of a source is passed over in silence.
func TestEveryLineIsAccountedFor(t *testing.T) {
	each(t, func(t *testing.T, _ string, data []byte) {
		r := imported(t, data)
		covered := map[int]bool{}
		for _, n := range r.Notes {
			for l := n.Line; l <= max(n.Line, n.Last); l++ {
				covered[l] = true
			}
		}
		if r.Format == source.Runai {
			return // a line is one command; goldens show its flags
		}
		for _, line := range valueLines(t, r.Format, data) {
			if !covered[line] {
				t.Errorf("line %d: nothing is said of it: %s", line, strings.Split(string(data), "\n")[line-1])
			}
		}
	})
}

// valueLines are the lines of a source on which something is said.
func valueLines(t *testing.T, f source.Format, data []byte) (lines []int) {
	t.Helper()
	if f == source.Sbatch {
		for i, l := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			if l = strings.TrimSpace(l); l != "" && (!strings.HasPrefix(l, "#") || strings.HasPrefix(l, "#SBATCH") || i == 0) {
				lines = append(lines, i+1)
			}
		}
		return lines
	}
	trees, err := codec.ReadTrees(data)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(x *codec.Tree)
	walk = func(x *codec.Tree) {
		if x.Scalar() && x.Line > 0 {
			lines = append(lines, x.Line)
		}
		for i := range x.Items {
			walk(&x.Items[i])
		}
	}
	for i := range trees {
		walk(&trees[i])
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestExportIsAFixedPoint: what was imported is exported and imported again as
// the same workload, in every format that can say it.
func TestExportIsAFixedPoint(t *testing.T) {
	written := map[source.Format]int{}
	each(t, func(t *testing.T, _ string, data []byte) {
		r := imported(t, data)
		for _, d := range r.Documents {
			for _, f := range []source.Format{source.Kubernetes, source.Sbatch, source.Mcli} {
				text, notes, err := export.Export(d, f)
				var errs codec.Errors
				if errors.As(err, &errs) && f != r.Format {
					continue // it says which field the format cannot have
				}
				if err != nil {
					t.Errorf("%s: %v", f, err)
					continue
				}
				written[f]++
				again, err := convert.ImportAs(f, text)
				if err != nil {
					t.Errorf("%s: what was exported cannot be read: %v\n%s", f, err, text)
					continue
				}
				if !spec.WithDefaults(again.Documents[0]).Equal(spec.WithDefaults(d)) {
					t.Errorf("%s: another workload came back:\n%s\nof\n%s", f, cmp.Diff(string(spec.YAML(d)), string(spec.YAML(again.Documents[0]))), text)
				}
				if f != r.Format || d.Slurm != nil && d.Slurm.ArrayTask != nil { // one job of an array is less than its script
					continue
				}
				for _, n := range notes { // what a format said, it can say again
					for _, field := range []string{"image", "workers", "resources.gpu", "maxDuration", "command", "array", "kind"} {
						if n.Field == field || strings.HasPrefix(n.Field, field+".") {
							t.Errorf("%s has no words for %s, which it said", f, n.Field)
						}
					}
				}
			}
		}
	})
	for _, f := range []source.Format{source.Kubernetes, source.Sbatch, source.Mcli} {
		if written[f] < 5 {
			t.Errorf("%s was written %d times", f, written[f])
		}
	}
}
