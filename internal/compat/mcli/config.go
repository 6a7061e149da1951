package mcli

import (
	"strconv"

	"github.com/goccy/go-yaml"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/spec"
)

// configuration is that of a run as its author wrote it, in the same order. It
// is kept with the run, as the Python SDK does, and shown as what was submitted.
type configuration yaml.MapSlice

// configurationOf reads one; nil where the text is none.
func configurationOf(text []byte) configuration {
	var out yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &out, yaml.UseOrderedMap()); err != nil {
		return nil
	}
	return configuration(out)
}

// keptConfiguration is that of a run; nil where it was submitted otherwise.
func keptConfiguration(w *api.Workload) configuration {
	return configurationOf([]byte(cli.Document(w).Annotations[document.KeptConfig]))
}

// settings are the flags that say something of a configuration, and where it stands
// there.
var settings = []struct {
	flag string
	at   []string
}{
	{"name", []string{"name"}}, {"image", []string{"image"}},
	{"cluster", []string{"compute", "cluster"}}, {"gpus", []string{"compute", "gpus"}}, {"gpu-type", []string{"compute", "gpu_type"}},
	{"instance", []string{"compute", "instance"}}, {"nodes", []string{"compute", "nodes"}}, {"node-names", []string{"compute", "node_names"}},
	{"priority", []string{"scheduling", "priority"}}, {"preemptible", []string{"scheduling", "preemptible"}},
	{"max-retries", []string{"scheduling", "max_retries"}}, {"max-duration", []string{"scheduling", "max_duration"}},
}

// keep puts a configuration, with what flags say, into a document.
func (config configuration) keep(c *compat.Call, doc *spec.Document) error {
	if len(config) == 0 {
		return nil
	}
	tree := yaml.MapSlice(config)
	for _, s := range settings {
		switch {
		case !c.Given(s.flag):
		case s.flag == "node-names":
			tree = with(tree, s.at, c.List(s.flag))
		case s.flag == "preemptible":
			tree = with(tree, s.at, c.Bool(s.flag))
		default:
			tree = with(tree, s.at, number(c.Text(s.flag)))
		}
	}
	if c.Bool("no-preemptible") {
		tree = with(tree, []string{"scheduling", "preemptible"}, false)
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return err
	}
	if doc.Annotations == nil {
		doc.Annotations = map[string]string{}
	}
	doc.Annotations[document.KeptConfig] = string(text)
	return nil
}

// with is a tree with a value at a path.
func with(tree yaml.MapSlice, at []string, value any) yaml.MapSlice {
	for i := range tree {
		if tree[i].Key == at[0] {
			if below, ok := tree[i].Value.(yaml.MapSlice); ok && len(at) > 1 {
				value = with(below, at[1:], value)
			} else if len(at) > 1 {
				value = with(nil, at[1:], value)
			}
			tree[i].Value = value
			return tree
		}
	}
	if len(at) > 1 {
		value = with(nil, at[1:], value)
	}
	return append(tree, yaml.MapItem{Key: at[0], Value: value})
}

// number is a text as the number that it is, if it is one.
func number(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}
