package convert_test

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/core/spec"
)

// TestNoPlaceExpectsAKind puts nothing, a word, a list and a map in the place
// of every value of the corpus: each is taken or refused, and none trips over
// it.
func TestNoPlaceExpectsAKind(t *testing.T) {
	pair := spec.Map() // of one entry
	pair.Put("x", spec.Text("y"))
	others := []spec.Tree{{Kind: spec.TreeNull}, spec.Text("00"), {Kind: spec.TreeList, Items: []spec.Tree{spec.Text("x")}}, pair, {Kind: spec.TreeList}, spec.Map(), {Kind: spec.TreeNumber, Text: "-1"}}
	each(t, func(t *testing.T, _ string, data []byte) {
		format, trees, err := convert.DetectTrees(data)
		if err != nil || len(trees) == 0 {
			return
		}
		var walk func(at *spec.Tree)
		try := func(at *spec.Tree) {
			was := *at
			for _, o := range others {
				*at = o
				at.Line = max(was.Line, 1)
				at.Lines = slices.Repeat([]int{at.Line}, len(at.Names))
				res, err := convert.ImportTrees(format, trees)
				if err == nil && len(res.Documents) == 0 {
					t.Error("neither a document nor a refusal")
				}
			}
			*at = was
		}
		walk = func(at *spec.Tree) {
			for i := range at.Items {
				try(&at.Items[i])
				walk(&at.Items[i])
			}
		}
		for i := range trees {
			walk(&trees[i])
		}
	})
}
