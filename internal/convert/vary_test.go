package convert_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/export"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/testing/vary"
)

var variations = flag.Int("variations", 1000, "how many variations of each file of the corpus are read")

// TestVariationsStay holds what becomes of each file of the corpus when a line or a word of
// it is another to what it was when testdata/variations.txt was written, and so for what
// the documents are written as in other formats. Whoever means to change that writes it again
// (-update) and looks at which files differ.
func TestVariationsStay(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	files := corpus(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var out strings.Builder
		format, _, _ := strings.Cut(name, "/")
		for i, text := range vary.Texts(string(files[name]), *variations) {
			r, err := convert.ImportAs(source.Format(format), []byte(text))
			fmt.Fprintf(&out, "%d: %v\n", i, err)
			if r == nil {
				continue
			}
			out.Write(report(r))
			if i%10 != 0 {
				continue
			}
			for _, d := range r.Documents {
				for _, f := range source.Formats() {
					written, notes, err := export.Export(d, f)
					fmt.Fprintf(&out, "as %s: %v\n%s\n", f, err, written)
					for _, n := range notes {
						fmt.Fprintf(&out, "# %s %v\n", n, n.Lossy)
					}
				}
			}
		}
		said[name] = out.String()
	}
	vary.Stay(t, "testdata/variations.txt", *update, said)
}
