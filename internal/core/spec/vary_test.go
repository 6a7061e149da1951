package spec_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/testing/vary"
)

var update = flag.Bool("update", false, "write testdata/variations.txt again")

var noted = regexp.MustCompile(`(?m)^#.*\n`)

// TestVariationsStay holds what is said of documents in which a line or a word is another
// (why they are refused, what they are with their defaults, what differs, what may be
// changed while they run) to what it was when testdata/variations.txt was written. The
// documents are the examples, and what files of other platforms are as documents.
func TestVariationsStay(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, pattern := range []string{"../../../examples/*.yaml", "../../convert/testdata/corpus/*/*.golden"} {
		some, err := filepath.Glob(pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(some), err)
		}
		paths = append(paths, some...)
	}
	said := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(noted.ReplaceAllString(string(data), ""), "---\n") {
			base, err := spec.Parse([]byte(text))
			if err != nil {
				continue // a schedule of one
			}
			var out strings.Builder
			for k, variation := range slices.Insert(vary.Texts(text, 200), 0, text) {
				fmt.Fprintf(&out, "%d\n", k)
				sayDocument(&out, base, variation)
			}
			said[fmt.Sprintf("%s/%s-%d", filepath.Base(filepath.Dir(path)), filepath.Base(path), i)] = out.String()
		}
	}
	vary.Stay(t, "testdata/variations.txt", *update, said)
}

func sayDocument(out *strings.Builder, base *spec.Document, text string) {
	d, err := spec.Parse([]byte(text))
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	whole := spec.WithDefaults(d)
	fmt.Fprintf(out, "%s%v\n", spec.YAML(whole), spec.Validate(whole))
	for _, c := range spec.Changes(spec.WithDefaults(base), whole) {
		fmt.Fprintf(out, "%+v, %v\n", c, spec.EffectOf(whole.Kind, c.Path))
	}
	patch, err := spec.LivePatch(spec.WithDefaults(base), whole)
	fmt.Fprintln(out, patch, err)
	over, err := spec.Overlay(base, d)
	if err == nil {
		fmt.Fprintf(out, "%s", spec.YAML(over))
	}
	fmt.Fprintln(out, err)
}
