package dstack

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/convert/dstack"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// configuration is the file that is meant.
func configuration(c *compat.Call) (string, *codec.Tree, error) {
	file := c.Text("file")
	if file == "" {
		file = ".dstack.yml"
		if _, err := os.Stat(file); err != nil {
			return "", nil, cli.Wrong("there is no .dstack.yml in this directory", "name the configuration: -f FILE")
		}
	}
	data, err := c.Read(file)
	if err != nil {
		return file, nil, err
	}
	trees, err := codec.ReadTrees(data)
	switch {
	case err != nil:
		return file, nil, compat.Refused(file, err)
	case len(trees) != 1 || trees[0].Kind != codec.TreeMap:
		return file, nil, cli.Wrong(file+" is no configuration", "write type: task, with commands")
	}
	return file, &trees[0], nil
}

// kind is the type of a configuration.
func kind(t *codec.Tree) string {
	if v := source.Entry(t, "type"); v != nil {
		return v.Text
	}
	return ""
}

// over puts what flags say over a configuration.
func over(c *compat.Call, t *codec.Tree) error {
	for flag, path := range map[string][]string{"name": {"name"}, "gpu": {"resources", "gpu"}, "cpu": {"resources", "cpu"}, "memory": {"resources", "memory"}, "max-duration": {"max_duration"}} {
		if c.Given(flag) {
			t.Set(codec.Tree{Kind: codec.TreeText, Text: c.Text(flag), Line: 1}, path...)
		}
	}
	if c.Given("priority") {
		if _, err := c.Int("priority", 0); err != nil {
			return err
		}
		t.Set(codec.Tree{Kind: codec.TreeNumber, Text: c.Text("priority"), Line: 1}, "priority")
	}
	if ports := c.All("port"); len(ports) > 0 {
		list := codec.Tree{Kind: codec.TreeList, Line: 1}
		for _, p := range ports {
			list.Items = append(list.Items, codec.Tree{Kind: codec.TreeText, Text: p, Line: 1})
		}
		t.Set(list, "ports")
	}
	return variables(c, t)
}

// variables are those of --env over the file's; one without a value is that of who
// applies it, where it is set.
func variables(c *compat.Call, t *codec.Tree) error {
	values := map[string]string{}
	for _, item := range c.All("env") {
		name, value, given := strings.Cut(item, "=")
		if value = cmp.Or(value, map[bool]string{false: c.Env(name)}[given]); !given && value == "" {
			return cli.Wrong(fmt.Sprintf("--env %s: %s is not set in the environment", item, name), "write --env "+name+"=VALUE")
		}
		values[name] = value
	}
	at := slices.Index(t.Names, "env")
	if at < 0 && len(values) == 0 {
		return nil
	}
	if at < 0 {
		t.Set(codec.Map(), "env")
		at = len(t.Names) - 1
	}
	env := &t.Items[at]
	if env.Kind == codec.TreeList { // NAME=value, or NAME
		for i := range env.Items {
			name, _, given := strings.Cut(env.Items[i].Text, "=")
			v, over := values[name]
			if !given && !over {
				v = c.Env(name)
			}
			if over || v != "" && !given {
				env.Items[i].Text = name + "=" + v
			}
			delete(values, name)
		}
		for _, name := range source.SortedKeys(values) {
			env.Items = append(env.Items, codec.Tree{Kind: codec.TreeText, Text: name + "=" + values[name], Line: 1})
		}
		return nil
	}
	for i, name := range env.Names {
		if v := c.Env(name); env.Items[i].Kind == codec.TreeNull && v != "" {
			env.Items[i] = codec.Tree{Kind: codec.TreeText, Text: v, Line: env.Items[i].Line}
		}
	}
	for _, name := range source.SortedKeys(values) {
		env.Set(codec.Tree{Kind: codec.TreeText, Text: values[name], Line: 1}, name)
	}
	return nil
}

// apply is dstack apply.
func apply(c *compat.Call) error {
	file, t, err := configuration(c)
	if err != nil {
		return err
	}
	switch kind(t) {
	case "fleet", "volume", "gateway": // which quick starts apply first
		c.Say("%s: %s", file, map[string]string{"fleet": noFleet, "volume": "muster datavolume create keeps a volume under a name.", "gateway": noGateway}[kind(t)])
		return nil
	}
	doc, err := read(c, file, t)
	if err != nil {
		return err
	}
	there, err := ofThatName(c, doc)
	if err != nil {
		return err
	}
	if err := plan(c, doc); err != nil {
		return err
	}
	if ok, err := meant(c, doc, there); !ok {
		return err
	}
	if there != nil {
		if err := replaced(c, there); err != nil {
			return err
		}
	}
	w, err := c.Submit(c.Context, doc, false)
	if err != nil {
		return err
	}
	if c.Bool("detach") {
		_, err := fmt.Fprintf(c.Out(), "Run %s submitted, detaching...\n", w.Name)
		return err
	}
	if _, err := fmt.Fprintf(c.Out(), "Launching %s...\n", w.Name); err != nil {
		return err
	}
	if lifecycle.Kind(w.Kind).Interactive() {
		if w, err = c.Until(c.Context, w, func(w *api.Workload) bool { return cli.Ended(w) || w.Tasks.Running > 0 }); err != nil {
			return err
		}
		c.Say("muster exec -it %s -- bash opens a shell in it, muster ssh-config %s writes what editors need; dstack stop %s ends it.", w.Name, w.Name, w.Name)
		return ended(w)
	}
	return followed(c, w)
}

// read makes a document of a configuration, with what flags say.
func read(c *compat.Call, file string, t *codec.Tree) (*spec.Document, error) {
	if err := over(c, t); err != nil {
		return nil, err
	}
	r := &source.Reader{Format: source.Dstack}
	if o := r.Map(t, ""); o != nil {
		home, _ := os.UserHomeDir() // empty: what begins with ~ is not known
		dir, _ := os.Getwd()
		r.Add(dstack.Read(r, o, source.Place{Home: home, Dir: dir}))
	}
	res, err := r.Result()
	if err != nil {
		return nil, compat.Refused(file, err)
	}
	compat.Report(c, file, res)
	doc := res.Documents[0]
	for flag, may := range map[string]bool{"spot": true, "on-demand": false} {
		if c.Bool(flag) {
			doc.Preemptible = &may
		}
	}
	if p := c.Text("project"); p != "" {
		doc.Project = p
	} else if doc.Project == "" {
		doc.Project = c.Setting("MUSTER_PROJECT")
	}
	if doc.Name == "" && doc.NamePrefix == "" {
		doc.NamePrefix = cmp.Or(source.NameFrom(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), ".dstack"), 45), "run")
	}
	return doc, nil
}

// ofThatName is the run whose name a document has; nil: there is none.
func ofThatName(c *compat.Call, doc *spec.Document) (*api.Workload, error) {
	if doc.Name == "" {
		return nil, nil
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return nil, err
	}
	w, err := conn.Workload(c.Context, cmp.Or(doc.Project, "default"), doc.Name)
	if p := (*api.Problem)(nil); errors.As(err, &p) && p.Status == 404 {
		return nil, nil
	}
	return w, err
}

// plan shows what a run asks for, before it is submitted.
func plan(c *compat.Call, doc *spec.Document) error {
	full := spec.WithDefaults(doc)
	limit := "off"
	if doc.MaxDuration > 0 {
		limit = cli.Age(doc.MaxDuration.Std())
	}
	for _, line := range [][2]string{
		{"Project", cmp.Or(doc.Project, "default")}, {"User", compat.Dash(c.Me())}, {"Type", map[lifecycle.Kind]string{lifecycle.Workspace: "dev-environment", lifecycle.Inference: "service"}[doc.Kind]},
		{"Resources", strings.Join(needs(full), ", ")}, {"Nodes", map[bool]string{true: strconv.Itoa(full.Size())}[full.Size() > 1]}, {"Max duration", limit},
	} {
		if text := line[1]; text != "" {
			if _, err := fmt.Fprintf(c.Out(), " %-13s %s\n", line[0], text); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(c.Out())
	return err
}

// needs is what each node of a run has, as dstack writes it.
func needs(doc *spec.Document) []string {
	r := doc.Resources
	out := []string{fmt.Sprintf("cpu=%s", cmp.Or(r.CPU.String(), "1"))}
	if r.Memory > 0 {
		out = append(out, "mem="+r.Memory.String())
	}
	if n := r.GPU.Devices(); n > 0 {
		out = append(out, fmt.Sprintf("gpu=%s%d", map[bool]string{true: strings.ToUpper(r.GPU.Type) + ":"}[r.GPU.Type != ""], n))
	}
	return out
}

// meant asks whether a run is to be submitted; with nobody there the answer is a line of
// standard input.
func meant(c *compat.Call, doc *spec.Document, there *api.Workload) (bool, error) {
	if c.Bool("yes") {
		return true, nil
	}
	question := "Submit a new run?"
	switch {
	case there != nil && cli.Ended(there):
		question = fmt.Sprintf("Finished run %s already exists. Override the run?", there.Name)
	case there != nil:
		question = fmt.Sprintf("Active run %s already exists. Stop and override the run?", there.Name)
	case doc.Name != "":
		question = fmt.Sprintf("Submit the run %s?", doc.Name)
	}
	if _, err := fmt.Fprint(c.Out(), question+" [y/n]: "); err != nil {
		return false, err
	}
	line, err := bufio.NewReader(c.In()).ReadString('\n')
	if !c.Interactive() { // nobody has ended the line
		if _, err := fmt.Fprintln(c.Out()); err != nil {
			return false, err
		}
	}
	switch answer := strings.ToLower(strings.TrimSpace(line)); {
	case answer == "y" || answer == "yes":
		return true, nil
	case errors.Is(err, io.EOF) && answer == "":
		return false, cli.Wrong("nobody has answered", "add --yes to submit it without asking")
	}
	_, err = fmt.Fprintln(c.Out(), "Exiting...")
	return false, err
}

// replaced ends and forgets the run whose name is wanted, as dstack does.
func replaced(c *compat.Call, w *api.Workload) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	if !cli.Ended(w) {
		if w, err = conn.Stop(c.Context, w.Project, w.ID, api.StopOptions{}); err != nil {
			return err
		}
		if w, err = c.Until(c.Context, w, cli.Ended); err != nil {
			return err
		}
	}
	if _, err = conn.Delete(c.Context, w.Project, w.ID); err != nil {
		return err
	}
	_, err = c.Until(c.Context, w, func(w *api.Workload) bool { return lifecycle.Phase(w.Phase) == lifecycle.Deleted })
	if p := (*api.Problem)(nil); errors.As(err, &p) && p.Status == 404 { // it is gone already
		return nil
	}
	return err
}

// followed shows what a run writes until it has ended, and ends as dstack does.
func followed(c *compat.Call, w *api.Workload, more ...string) error {
	args := append([]string{"logs", "--follow", w.ID, "--project", w.Project}, more...)
	if err := c.Muster(c.Context, args...); err != nil && c.Context.Err() != nil {
		return err
	}
	w, err := c.Until(c.Context, w, cli.Ended)
	if err != nil {
		return err
	}
	c.Say("Run %s is %s%s", w.Name, word(lifecycle.Phase(w.Phase)), map[bool]string{true: ": " + w.Message}[w.Message != ""])
	return ended(w)
}

// ended is the exit code of a run.
func ended(w *api.Workload) error {
	if cli.Ended(w) && word(lifecycle.Phase(w.Phase)) != "done" {
		return cli.Exit(1)
	}
	return nil
}
