package spec

import (
	"reflect"
	"sync"

	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Schema is the whole document, field by field.
func Schema() schema.Topic { return root().Topic() }

// Explain returns the topic of a path such as resources.gpu; "" is the whole
// document. It fails with a FieldError that suggests the nearest field.
func Explain(path string) (schema.Topic, error) {
	return root().Explain(path)
}

// scalarWords are what types with a text form of their own are called.
var scalarWords = map[string]string{
	"Command":    "string or list of strings",
	"Quantity":   "quantity",
	"Priority":   "name or integer",
	"Duration":   "duration",
	"Share":      "number",
	"ShareLimit": "number",
	"MIG":        "string or map of string to integer",
}

// root is the schema, built from the struct tags of Document when it is first asked
// for: most commands that somebody types need none.
var root = sync.OnceValue(func() *schema.Field {
	return schema.New(reflect.TypeFor[Document](), "A workload: what to run, what it needs, and what to do when it fails.", schema.Vocabulary{Forms: forms, Types: scalarWords})
})
