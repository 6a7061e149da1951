package document

import (
	"maps"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// kept begins the annotations in which mcli and the Python SDK keep a run's own
// configuration and what else a document has no field for.
const kept = "mcli.muster.dev/"

// KeptParent is the annotation of a run that another run has submitted: its
// name. KeptConfig is the configuration that a document was made of, as JSON.
const (
	KeptParent = kept + "parent"
	KeptConfig = kept + "config"
)

// WithoutKept is a document as people read it: what the Python SDK keeps in its
// annotations says the same again, and is no text of theirs.
func WithoutKept(d *spec.Document) *spec.Document {
	mine := func(key, _ string) bool { return strings.HasPrefix(key, kept) }
	out := *d
	if out.Annotations = maps.Clone(d.Annotations); len(out.Annotations) > 0 {
		if maps.DeleteFunc(out.Annotations, mine); len(out.Annotations) == 0 {
			out.Annotations = nil
		}
	}
	return &out
}
