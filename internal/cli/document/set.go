package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Change is one field of a document that the command line sets.
type Change struct {
	Path   string // resources.gpu.count
	Key    string // of a map at path; keys may hold dots
	Value  any
	Flag   string // for messages
	remove bool
	soft   bool // only where the document says nothing
	add    bool // to the list that is there
}

// authorsMaps are the maps whose keys the author chooses; such a key may contain dots.
var authorsMaps = []string{"env", "labels", "annotations", "nodeSelector", "resources.gpu.mig", "master.resources.gpu.mig", "resources.extended", "licenses", "master.resources.extended", "master.env", "build.env", "publish.metadata", "publish.serve.env"}

// ParseSet reads FIELD=value. The field's type says how the value is read.
func ParseSet(text string) (Change, error) {
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return Change{}, session.UsageError(fmt.Sprintf("--set %s: is not FIELD=value", text), "write --set resources.gpu.count=2; muster explain lists the fields")
	}
	c := Change{Path: path, Flag: "--set"}
	for _, m := range authorsMaps {
		if key, in := strings.CutPrefix(path, m+"."); in {
			c.Path, c.Key, c.Value = m, key, value
			return c, nil
		}
	}
	if strings.HasPrefix(path, "parameters.") {
		v, err := parseValue(path, value)
		c.Value = v
		return c, err
	}
	t, err := spec.Explain(withoutIndexes(path))
	var fe codec.FieldError
	if errors.As(err, &fe) {
		return Change{}, badFlag("--set", fe)
	}
	if t.Type == "duration" {
		if err := session.Unitless("--set "+path, value); err != nil {
			return Change{}, err
		}
	}
	switch {
	case t.Type == "string", t.Type == "quantity", t.Type == "duration", t.Type == "name or integer":
		c.Value = value
	case path == "command" && !strings.HasPrefix(value, "["):
		c.Value = value
	default:
		if c.Value, err = parseValue(path, value); err != nil {
			return Change{}, err
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
		return nil, session.UsageError(fmt.Sprintf("--set %s: %q cannot be read", path, text), "write the value as in a document; quotes keep it a text")
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

func badFlag(flag string, e codec.FieldError) error {
	e.Line = 0
	f := session.BadDocument("", codec.Errors{e})
	f.File = flag
	return f
}

// Edit returns doc with the changes made. It goes through the document's own
// text, so that what flags say is read and refused like what files say.
func Edit(doc *spec.Document, changes []Change) (*spec.Document, error) {
	if len(changes) == 0 {
		return doc, nil
	}
	data, err := Encode(doc)
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
			var errs codec.Errors
			if errors.As(err, &errs) {
				return nil, badFlag(c.Flag, errs[0])
			}
			return nil, err
		}
		data = next
	}
	return doc, nil
}

// withoutIndexes is volumes.hostPath of volumes.0.hostPath: every item of a list
// has the same fields.
func withoutIndexes(path string) string {
	words := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(words, isIndex), ".")
}

func isIndex(word string) bool {
	return word != "" && len(word) < 6 && strings.Trim(word, "0123456789") == ""
}

// shorts are the maps for which a bare number or text may stand, with the field
// that it then is.
var shorts = map[string]string{"gpu": "count", "secrets": "name", "data": "name", "ports": "port", "temporary": "size", "tolerations": "key"}

// shortOf is the field that a bare value of the map of that name is. Of a part
// of a GPU, gpu: 0.5, it is another one than of whole ones.
func shortOf(name string, value any) string {
	if n, ok := value.(json.Number); ok && name == "gpu" && strings.ContainsAny(n.String(), ".eE") {
		return "share"
	}
	return shorts[name]
}

func (c Change) apply(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	tree := map[string]any{}
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	words := strings.Split(c.Path, ".")
	if c.Key != "" {
		words = append(words, c.Key)
	}
	if c.Path == "env" {
		c.instead(tree)
	}
	next, err := c.within(tree, "", words)
	if err != nil {
		return nil, err
	}
	return json.Marshal(next)
}

// instead takes away the secret that has been that variable: whoever says its
// value needs none.
func (c Change) instead(tree map[string]any) {
	list, _ := tree["secrets"].([]any)
	list = slices.DeleteFunc(list, func(s any) bool {
		m, _ := s.(map[string]any)
		return m != nil && m["env"] == c.Key
	})
	if len(list) == 0 {
		delete(tree, "secrets")
	} else {
		tree["secrets"] = list
	}
}

// within is node, which is called name, with the change made below it.
func (c Change) within(node any, name string, words []string) (any, error) {
	word, rest := words[0], words[1:]
	list, isList := node.([]any)
	if c.Key == "" && isIndex(word) && (isList || node == nil) {
		i, err := strconv.Atoi(word)
		if err != nil || i > len(list) {
			return nil, session.UsageError(fmt.Sprintf("%s %s: there is no item %s, only %d", c.Flag, c.Path, word, len(list)), "items are counted from 0; the next that can be added is "+strconv.Itoa(len(list)))
		}
		if i == len(list) {
			list = append(list, nil)
		}
		if list[i], err = c.step(list[i], name, rest); err != nil {
			return nil, err
		}
		return list, nil
	}
	m, isMap := node.(map[string]any)
	if !isMap {
		m = map[string]any{}
		if short := shortOf(name, node); short != "" && node != nil && !isList { // gpu: 2 stands for gpu: {count: 2}
			m[short] = node
		}
	}
	old, there := m[word]
	if c.soft && there && len(rest) == 0 {
		return m, nil
	}
	if c.remove && len(rest) == 0 {
		delete(m, word)
		return m, nil
	}
	var err error
	m[word], err = c.step(old, word, rest)
	return m, err
}

// step is what becomes of a value on the way to the place of the change.
func (c Change) step(old any, name string, rest []string) (any, error) {
	if len(rest) > 0 {
		return c.within(old, name, rest)
	}
	if c.add {
		list, _ := old.([]any)
		return append(list, c.Value), nil
	}
	if n, ok := c.Value.(int); ok { // JSON numbers as the document writes them
		return json.Number(strconv.Itoa(n)), nil
	}
	return c.Value, nil
}
