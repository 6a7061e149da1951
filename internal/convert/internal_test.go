package convert

import "github.com/musterhq/muster/internal/core/spec"

// DetectTrees is detect, for tests that change what was read.
var DetectTrees = detect

// ImportTrees is Import of what was read before.
func ImportTrees(format Format, trees []spec.Tree) (*Result, error) {
	r := &reader{format: format}
	documents(r, trees)
	return r.result()
}
