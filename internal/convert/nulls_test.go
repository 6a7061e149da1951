package convert_test

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// TestNoPlaceExpectsAKind puts nothing, a word, a list and a map in the place
// of every value of the corpus: each is taken or refused, and none trips over
// it.
func TestNoPlaceExpectsAKind(t *testing.T) {
	pair := codec.Map() // of one entry
	pair.Put("x", codec.Text("y"))
	others := []codec.Tree{{Kind: codec.TreeNull}, codec.Text("00"), {Kind: codec.TreeList, Items: []codec.Tree{codec.Text("x")}}, pair, {Kind: codec.TreeList}, codec.Map(), {Kind: codec.TreeNumber, Text: "-1"}}
	each(t, func(t *testing.T, _ string, data []byte) {
		format, trees, err := convert.DetectTrees(data)
		if err != nil || len(trees) == 0 {
			return
		}
		var walk func(at *codec.Tree)
		try := func(at *codec.Tree) {
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
		walk = func(at *codec.Tree) {
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
