package sky

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/convert/skypilot"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// tasks are the workloads of a file or a command line, with what flags say over it.
func tasks(c *compat.Call, words []string, setup bool) ([]*spec.Document, error) {
	file, trees, err := read(c, words)
	if err != nil {
		return nil, err
	}
	for i := range trees {
		if len(trees) > 1 && i == 0 && len(trees[0].Names) == 1 { // the name of a pipeline
			continue
		}
		if err := over(c, &trees[i], setup); err != nil {
			return nil, err
		}
	}
	r := &source.Reader{Format: source.SkyPilot}
	home, _ := os.UserHomeDir() // empty: what begins with ~ is not known
	dir, _ := os.Getwd()
	skypilot.Read(r, trees, source.Place{Home: home, Dir: dir})
	res, err := r.Result()
	if err != nil {
		return nil, compat.Refused(file, err)
	}
	compat.Report(c, file, res)
	return res.Documents, nil
}

// read is what is to run: a file where the only word is the name of one, else a command.
func read(c *compat.Call, words []string) (file string, trees []codec.Tree, err error) {
	if len(words) == 1 && (strings.HasSuffix(words[0], ".yaml") || strings.HasSuffix(words[0], ".yml") || words[0] == "-") {
		data, err := c.Read(words[0])
		if err != nil {
			return words[0], nil, err
		}
		trees, err := codec.ReadTrees(data)
		if err != nil {
			return words[0], nil, compat.Refused(words[0], err)
		}
		if len(trees) == 0 || slices.ContainsFunc(trees, func(t codec.Tree) bool { return t.Kind != codec.TreeMap }) {
			return words[0], nil, cli.Wrong(words[0]+" is no task", "write run: with a command")
		}
		return words[0], trees, nil
	}
	t := codec.Map()
	if len(words) > 0 {
		t.Set(codec.Text(strings.Join(words, " ")), "run")
	}
	return "", []codec.Tree{t}, nil
}

func without(t *codec.Tree, name string) {
	if at := slices.Index(t.Names, name); at >= 0 {
		t.Names, t.Items = slices.Delete(t.Names, at, at+1), slices.Delete(t.Items, at, at+1)
		if at < len(t.Lines) {
			t.Lines = slices.Delete(t.Lines, at, at+1)
		}
	}
}

// fields are what flags say of a task.
var fields = []struct {
	flag string
	path []string
	kind codec.TreeKind
}{
	{"name", []string{"name"}, codec.TreeText}, {"num-nodes", []string{"num_nodes"}, codec.TreeNumber}, {"workdir", []string{"workdir"}, codec.TreeText}, {"gpus", []string{"resources", "accelerators"}, codec.TreeText},
	{"cpus", []string{"resources", "cpus"}, codec.TreeText}, {"memory", []string{"resources", "memory"}, codec.TreeText}, {"image-id", []string{"resources", "image_id"}, codec.TreeText},
}

// over puts what flags say over a task.
func over(c *compat.Call, t *codec.Tree, setup bool) error {
	for _, f := range fields {
		if !c.Given(f.flag) {
			continue
		}
		if f.kind == codec.TreeNumber {
			if n, err := c.Int(f.flag, 1); err != nil || n < 1 {
				return cli.Wrong(fmt.Sprintf("--%s: %q is not a number from 1", f.flag, c.Text(f.flag)), "like 2")
			}
		}
		t.Set(codec.Tree{Kind: f.kind, Text: c.Text(f.flag), Line: 1}, f.path...)
	}
	for flag, truth := range map[string]string{"use-spot": "true", "no-use-spot": "false"} {
		if c.Bool(flag) {
			t.Set(codec.Tree{Kind: codec.TreeBool, Text: truth, Line: 1}, "resources", "use_spot")
		}
	}
	if ports := c.List("ports"); len(ports) > 0 {
		list := codec.Tree{Kind: codec.TreeList}
		for _, p := range ports {
			list.Items = append(list.Items, codec.Text(p))
		}
		t.Set(list, "resources", "ports")
	}
	if !setup || c.Bool("no-setup") {
		without(t, "setup")
	}
	if err := variables(c, t); err != nil {
		return err
	}
	return absolute(t)
}

// variables are those of --env and --env-file; one without a value is one's own.
func variables(c *compat.Call, t *codec.Tree) error {
	lines := []string{}
	if c.Given("env-file") {
		data, err := c.Read(c.Text("env-file"))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export ")); line != "" && line[0] != '#' {
				name, value, _ := strings.Cut(line, "=")
				lines = append(lines, name+"="+strings.Trim(value, `"'`))
			}
		}
	}
	for _, item := range append(lines, c.All("env")...) {
		name, value, given := strings.Cut(item, "=")
		if !given {
			if value = c.Env(name); value == "" {
				return cli.Wrong(fmt.Sprintf("--env %s: %s is not set in the environment", item, name), "write --env "+name+"=VALUE")
			}
		}
		t.Set(codec.Text(value), "envs", name)
	}
	for _, item := range c.All("secret") {
		name, _, given := strings.Cut(item, "=")
		if given {
			c.Say("--secret %s: values of secrets are not sent along: printf %%s VALUE | muster secret create env %s", name, source.NameFrom(name, spec.MaxName))
		}
		t.Set(codec.Tree{Kind: codec.TreeNull, Line: 1}, "secrets", name)
	}
	return ownValues(c, t)
}

// ownValues gives variables without a value that of who launches, where there is one.
func ownValues(c *compat.Call, t *codec.Tree) error {
	at := slices.Index(t.Names, "envs")
	if at < 0 {
		return nil
	}
	envs := &t.Items[at]
	for i, name := range envs.Names {
		if v := c.Env(name); envs.Items[i].Kind == codec.TreeNull && v != "" {
			envs.Items[i] = codec.Tree{Kind: codec.TreeText, Text: v, Line: envs.Items[i].Line}
		}
	}
	return nil
}

// absolute makes the working directory one that a container can see: only who types the
// command knows where a path begins.
func absolute(t *codec.Tree) error {
	at := slices.Index(t.Names, "workdir")
	if at < 0 || !t.Items[at].Scalar() {
		return nil
	}
	dir := t.Items[at].Text
	if rest, home := strings.CutPrefix(dir, "~"); home && (rest == "" || rest[0] == '/') {
		own, err := os.UserHomeDir()
		if err != nil {
			return cli.Wrong("workdir: the home directory cannot be told: "+err.Error(), "write it in full")
		}
		dir = own + rest
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return cli.Wrong(fmt.Sprintf("workdir: %s is no directory", dir), "write one that there is")
	}
	t.Items[at].Text = dir
	return nil
}

// The labels of a job.
const (
	clusterLabel = "skypilot/cluster"
	jobLabel     = "skypilot/job"
	managedLabel = "skypilot/managed"
	serviceLabel = "skypilot/service"
)

// labelled marks a document as a job of a cluster.
func labelled(doc *spec.Document, cluster string, job int, called string) {
	doc.Labels = source.Set(doc.Labels, clusterLabel, cluster)
	doc.Labels = source.Set(doc.Labels, jobLabel, strconv.Itoa(job))
	if doc.Name == "" && doc.NamePrefix == "" {
		doc.NamePrefix = cmp.Or(source.NameFrom(called, 45), "sky-cmd")
	}
}
