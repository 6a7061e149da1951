package codec_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// A comment behind a value of several lines is no part of it, wherever the value
// stands: of the last of a list the parser keeps it.
func TestCommentsAreNoPartOfValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: [b]\nx:\n- a\n- run\n  --size 2 # two\n":     "b|a|run --size 2",
		"x:\n  - a\n  - run\n    --size 2 # two\ny: b\n": "a|run --size 2|b",
		"x:\n  - run\n    --size 2\t# two\ny: b # c\n":   "run --size 2|b",
		"x:\n  - run\n    1 # one\ny: b\n":               "run 1|b",
		"x:\n  - a#b\n    c\ny: '# d'\nz: \"e # f\"\n":   "a#b c|# d|e # f",
		"x:\n  - 'run\n    1 # one'\ny: |\n  g # h\n":    "run 1 # one|g # h\n",
		"x: 3 # three\n": "3",
		"x:\n  - a\n  - >\n    b # c\n    d\ny: e\n": "a|b # c d\n|e",
	} {
		trees, err := codec.ReadTrees([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var all []string
		var leaves func(n *codec.Tree)
		leaves = func(n *codec.Tree) {
			if len(n.Items) == 0 {
				all = append(all, n.Text)
			}
			for i := range n.Items {
				leaves(&n.Items[i])
			}
		}
		leaves(&trees[0])
		if got := strings.Join(all, "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
