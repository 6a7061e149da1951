package convert

import (
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// DetectTrees is detect, for tests that change what was read.
var DetectTrees = detect

// ImportTrees is Import of what was read before.
func ImportTrees(format source.Format, trees []codec.Tree) (*source.Result, error) {
	r := &source.Reader{Format: format}
	documents(r, trees)
	return r.Result()
}
