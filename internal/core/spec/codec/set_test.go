package codec_test

import (
	"reflect"
	"testing"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Set replaces what is there, and makes what is missing on the way.
func TestSet(t *testing.T) {
	t.Parallel()
	trees, err := codec.ReadTrees([]byte("name: a\nresources: 4\nenv: {X: y}\n"))
	if err != nil {
		t.Fatal(err)
	}
	doc := &trees[0]
	doc.Set(codec.Text("b"), "name")
	doc.Set(codec.Text("8"), "resources", "gpu")
	doc.Set(codec.Text("z"), "env", "Y")
	doc.Set(codec.Text("far"), "new", "deep", "down")
	want := map[string]any{
		"name": "b", "resources": map[string]any{"gpu": "8"}, "env": map[string]any{"X": "y", "Y": "z"},
		"new": map[string]any{"deep": map[string]any{"down": "far"}},
	}
	if got := doc.Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(doc.Lines) != len(doc.Names) {
		t.Errorf("%d lines of %d names", len(doc.Lines), len(doc.Names))
	}
}
