package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// change is one field of a document that the command line sets.
type change struct {
	path   string // resources.gpu.count
	key    string // of a map at path; keys may hold dots
	value  any
	flag   string // for messages
	remove bool
	soft   bool // only where the document says nothing
	add    bool // to the list that is there
}

// authorsMaps are the maps whose keys are the author's, dots and all.
var authorsMaps = []string{"env", "labels", "annotations", "master.env", "build.env", "publish.metadata", "publish.serve.env"}

// parseSet reads FIELD=value. The field's type says how the value is read.
func parseSet(text string) (change, error) {
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return change{}, usage(fmt.Sprintf("--set %s: is not FIELD=value", text), "write --set resources.gpu.count=2; muster explain lists the fields")
	}
	c := change{path: path, flag: "--set"}
	for _, m := range authorsMaps {
		if key, in := strings.CutPrefix(path, m+"."); in {
			c.path, c.key, c.value = m, key, value
			return c, nil
		}
	}
	if strings.HasPrefix(path, "parameters.") {
		v, err := parseValue(path, value)
		c.value = v
		return c, err
	}
	t, err := spec.Explain(path)
	var fe spec.FieldError
	if errors.As(err, &fe) {
		return change{}, badFlag("--set", fe)
	}
	switch {
	case t.Type == "string", t.Type == "quantity", t.Type == "duration", t.Type == "name or integer":
		c.value = value
	case path == "command" && !strings.HasPrefix(value, "["):
		c.value = value
	default:
		if c.value, err = parseValue(path, value); err != nil {
			return change{}, err
		}
	}
	return c, nil
}

// parseValue reads a value as it would be written in a document. It is read as
// a parameter, the one place where a document takes anything.
func parseValue(path, text string) (any, error) {
	if strings.ContainsAny(text, "\r\n") {
		return text, nil
	}
	doc, err := spec.Parse([]byte("parameters:\n  value: " + text + "\n"))
	if err != nil {
		return nil, usage(fmt.Sprintf("--set %s: %q cannot be read", path, text), "write the value as in a document; quotes keep it a text")
	}
	data, err := json.Marshal(doc.Parameters)
	if err != nil {
		return nil, err
	}
	var read struct {
		Value json.RawMessage `json:"value"`
	}
	err = json.Unmarshal(data, &read)
	return read.Value, err
}

func badFlag(flag string, e spec.FieldError) error {
	e.Line = 0
	f := badDocument("", spec.Errors{e})
	f.file = flag
	return f
}

// edit returns doc with the changes made. It goes through the document's own
// text, so that what flags say is read and refused like what files say.
func edit(doc *spec.Document, changes []change) (*spec.Document, error) {
	if len(changes) == 0 {
		return doc, nil
	}
	data, err := encode(doc)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		next, err := c.apply(data)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(next, data) {
			continue
		}
		if doc, err = spec.Parse(next); err != nil {
			var errs spec.Errors
			if errors.As(err, &errs) {
				return nil, badFlag(c.flag, errs[0])
			}
			return nil, err
		}
		data = next
	}
	return doc, nil
}

func (c change) apply(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	tree := map[string]any{}
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	words := strings.Split(c.path, ".")
	if c.key != "" {
		words = append(words, c.key)
	}
	at := tree
	for _, w := range words[:len(words)-1] {
		inner, ok := at[w].(map[string]any)
		if !ok {
			inner = map[string]any{}
			if n, short := at[w].(json.Number); short && w == "gpu" { // gpu: 2 stands for gpu: {count: 2}
				inner["count"] = n
			}
			at[w] = inner
		}
		at = inner
	}
	last := words[len(words)-1]
	switch _, there := at[last]; {
	case c.remove:
		delete(at, last)
	case c.soft && there:
	case c.add:
		list, _ := at[last].([]any)
		at[last] = append(list, c.value)
	default:
		at[last] = c.value
	}
	if n, ok := c.value.(int); ok { // JSON numbers as the document writes them
		at[last] = json.Number(strconv.Itoa(n))
	}
	return json.Marshal(tree)
}
