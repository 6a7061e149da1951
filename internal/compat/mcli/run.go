package mcli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/compat"
	foreign "github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// schedulingFlags are overrides of how a run is scheduled.
var schedulingFlags = []compat.Flag{
	{Names: "priority", Arg: "NAME", Does: "auto, lowest, low, medium or high, or one of muster's own"},
	{Names: "preemptible", Does: "it may be stopped and queued again for others"},
	{Names: "no-preemptible", Does: "it may not"},
	{Names: "max-retries", Arg: "N", Does: "failures that are tried again"},
	{Names: "max-duration", Arg: "HOURS", Does: "stop it after so many hours"},
}

// computeFlags are overrides of what a run gets.
var computeFlags = []compat.Flag{
	{Names: "cluster platform", Arg: "NAME", Does: "the cluster that it runs in"},
	{Names: "gpu-type", Arg: "TYPE", Does: "the type of its GPUs"},
	{Names: "gpus", Arg: "N", Does: "GPUs of all its nodes together"},
	{Names: "instance", Arg: "NAME", Does: "the sort of its nodes: 8xA100 means nodes with 8 of them"},
	{Names: "nodes", Arg: "N", Does: "number of nodes"},
	{Names: "node-names", Arg: "NAMES", Many: true, Does: "only these nodes"},
	{Names: "project", Arg: "NAME", Does: "the project that it counts for (MUSTER_PROJECT); not of the tool itself"},
}

func run() *compat.Command {
	return &compat.Command{
		Use: "run (-f FILE | -r RUN | --clone RUN)", Also: "r", Short: "Submit a run, run one again, or a copy of one",
		Flags: append(append([]compat.Flag{
			{Names: "file f", Arg: "FILE", Does: "the run's YAML; - is standard input"},
			{Names: "restart r", Arg: "RUN", Does: "run this one again, from its beginning, as another resumption"},
			{Names: "clone", Arg: "RUN", Does: "submit a copy of this one"},
			{Names: "name run-name", Arg: "NAME", Does: "its name, to which six characters are added"},
			{Names: "image", Arg: "IMAGE", Does: "its image"},
			{Names: "follow", Does: "wait until it runs and show what node rank 0 writes; exit with 1 if it fails"},
			{Names: "no-follow", Does: "do not (the default)"},
		}, computeFlags...), schedulingFlags...),
		Run: submitRun,
	}
}

func submitRun(c *compat.Call) error {
	sources := 0
	for _, f := range []string{"file", "restart", "clone"} {
		if c.Given(f) {
			sources++
		}
	}
	if sources != 1 {
		return cli.Wrong(fmt.Sprintf("%s takes exactly one of --file, --restart and --clone", c.Path), "mcli run -f FILE submits a run")
	}
	if c.Given("restart") {
		return restart(c)
	}
	doc, config, err := source(c)
	if err != nil {
		return err
	}
	if err := config.keep(c, doc); err != nil {
		return err
	}
	w, err := submit(c, doc)
	if err != nil {
		return err
	}
	return submittedRun(c, w)
}

// source is the run of a file, or that of another run, and its configuration
// where it has one.
func source(c *compat.Call) (*spec.Document, configuration, error) {
	if c.Given("file") {
		doc, text, format, err := compat.Source(c, c.Text("file"))
		if err != nil || format != foreign.Mcli {
			return doc, nil, err
		}
		return doc, configurationOf(text), nil
	}
	w, err := found(c, c.Text("clone"), runKinds)
	if err != nil {
		return nil, nil, err
	}
	doc, err := cli.Overlay(cli.Document(w), &spec.Document{})
	if err != nil {
		return nil, nil, err
	}
	delete(doc.Annotations, document.KeptConfig) // flags change it, and keep it again
	if !c.Given("name") {                        // of a copy of name-ab12cd the name is name
		if base, suffix, ok := cutLast(doc.Name); ok && len(suffix) == 6 {
			doc.Name = base
		}
	}
	if slices.ContainsFunc(w.Attempts, func(a api.Attempt) bool { return len(a.Revised) > 0 }) {
		return doc, nil, nil // what it says is true no longer
	}
	return doc, keptConfiguration(w), nil
}

func cutLast(name string) (base, suffix string, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// suffixed makes the name of a run unique, as the platform does.
func suffixed(doc *spec.Document) {
	if doc.NamePrefix == "" && doc.Name != "" {
		const most = 45 // of a name's 52 the rest is added
		doc.NamePrefix = strings.Trim(doc.Name[:min(len(doc.Name), most)], "-")
	}
	doc.Name = ""
	if doc.NamePrefix == "" {
		doc.NamePrefix = "run"
	}
}

// submit submits a document with what flags say of it.
func submit(c *compat.Call, doc *spec.Document) (*api.Workload, error) {
	changes, err := overrides(c, doc)
	if err != nil {
		return nil, err
	}
	if doc, err = cli.Edit(doc, changes); err != nil {
		return nil, err
	}
	suffixed(doc)
	if c.Given("project") {
		doc.Project = c.Text("project")
	} else if doc.Project == "" {
		doc.Project = c.Setting("MUSTER_PROJECT")
	}
	return c.Submit(c.Context, doc, false)
}

func submittedRun(c *compat.Call, w *api.Workload) error {
	if _, err := fmt.Fprintf(c.Out(), "Run %s submitted.\n", w.Name); err != nil {
		return err
	}
	if c.Bool("follow") {
		return follow(c, w)
	}
	c.Say("\nTo see its status, use:\n\n  mcli get runs\n\nTo see its output, use:\n\n  mcli logs %s", w.Name)
	return nil
}

// follow shows what the first node writes; how the run ended is the exit code.
func follow(c *compat.Call, w *api.Workload) error {
	err := c.Muster(c.Context, "logs", w.ID, "--project", w.Project, "--follow", "--task", "0", "--exit-status", "workload")
	if code := cli.CodeOf(err); code >= 10 && code < 20 { // the words of how a workload ended
		return cli.Exit(1)
	}
	return err
}

// overrides are what flags change in a document.
func overrides(c *compat.Call, doc *spec.Document) ([]string, error) {
	out, err := scheduling(c)
	if err != nil {
		return nil, err
	}
	for flag, field := range map[string]string{"name": "name", "image": "image"} {
		if c.Given(flag) {
			out = append(out, field+"="+c.Text(flag))
		}
	}
	if c.Given("image") && doc.Image == "" { // as the reader does where the file names one
		out = append(out, "pullPolicy=always")
	}
	if c.Given("name") {
		doc.NamePrefix = ""
	}
	if c.Given("cluster") {
		doc.Clusters = []string{c.Text("cluster")}
	}
	return computed(c, doc, out)
}

// computed divides GPUs over nodes.
func computed(c *compat.Call, doc *spec.Document, out []string) ([]string, error) {
	if t := c.Text("gpu-type"); c.Given("gpu-type") && !strings.EqualFold(t, "none") {
		out = append(out, "resources.gpu.type="+t)
	}
	if names := c.List("node-names"); len(names) > 0 {
		doc.NodeAffinity = append(doc.NodeAffinity, spec.NodeTerm{Key: "kubernetes.io/hostname", Op: "In", Values: names})
	}
	gpus, err := c.Int("gpus", -1)
	if err != nil {
		return nil, err
	}
	nodes, err := c.Int("nodes", 0)
	if err != nil {
		return nil, err
	}
	each := -1
	if c.Given("instance") {
		n, product, ok := strings.Cut(strings.ToLower(c.Text("instance")), "x")
		if each, err = strconv.Atoi(n); !ok || err != nil || each < 1 {
			return nil, cli.Wrong(fmt.Sprintf("--instance: %q is not a sort of node", c.Text("instance")), "like 8xA100; mcli get clusters lists them")
		}
		out = append(out, "resources.gpu.type="+product)
	}
	if gpus < 0 && nodes == 0 && each < 0 {
		return out, nil
	}
	if nodes < 0 || gpus < -1 {
		return nil, cli.Wrong("--nodes and --gpus are numbers of 0 and more", "leave them out to keep what the run says")
	}
	per, err := perNode(c, doc, gpus, nodes, each)
	if err != nil {
		return nil, err
	}
	if per.nodes > 1 {
		out = append(out, "kind=distributed", "workers="+strconv.Itoa(per.nodes))
	} else if doc.Kind.Ranked() {
		doc.Workers, doc.MinWorkers = 1, 0
	}
	// Its tasks are told numbers of GPUs, as the platform counts ranks.
	for name, n := range map[string]int{"WORLD_SIZE": per.nodes * max(per.gpus, 1), "LOCAL_WORLD_SIZE": max(per.gpus, 1)} {
		if doc.Env[name] != "" {
			doc.Env[name] = strconv.Itoa(n)
		}
	}
	return append(out, "resources.gpu.count="+strconv.Itoa(per.gpus)), nil
}

type layout struct{ nodes, gpus int } // GPUs of each node

// perNode is how a number of GPUs is laid out: gpus is of all nodes together,
// and what is not said is as the run has it.
func perNode(c *compat.Call, doc *spec.Document, gpus, nodes, each int) (layout, error) {
	had := layout{nodes: max(doc.Workers, 1), gpus: doc.Resources.GPU.Count}
	if each < 0 {
		each = had.gpus
	}
	switch {
	case gpus < 0 && nodes == 0:
		return layout{had.nodes, each}, nil
	case gpus < 0:
		return layout{nodes, each}, nil
	case nodes == 0 && c.Given("instance"):
		nodes = (gpus + each - 1) / each
	case nodes == 0 && had.nodes > 1 && each > 0 && gpus%each == 0:
		nodes = gpus / each // as many more nodes of the same sort
	case nodes == 0 && gpus > 8 && gpus%8 == 0:
		nodes = gpus / 8 // the platform's nodes have eight
	}
	nodes = max(nodes, 1)
	if gpus%nodes != 0 {
		return layout{}, cli.Wrong(fmt.Sprintf("%d GPUs cannot be divided over %d nodes", gpus, nodes), "runs over several nodes use whole nodes: a multiple of what one has")
	}
	return layout{nodes, gpus / nodes}, nil
}

// scheduling are overrides as fields of a document.
func scheduling(c *compat.Call) ([]string, error) {
	var out []string
	if c.Given("priority") {
		out = append(out, "priority="+priority(c.Text("priority")))
	}
	switch {
	case c.Bool("preemptible") && c.Bool("no-preemptible"):
		return nil, cli.Wrong("--preemptible contradicts --no-preemptible", "leave one of them out")
	case c.Given("preemptible"):
		out = append(out, "preemptible="+strconv.FormatBool(c.Bool("preemptible")))
	case c.Bool("no-preemptible"):
		out = append(out, "preemptible=false")
	}
	if c.Given("max-retries") {
		n, err := c.Int("max-retries", 0)
		if err != nil {
			return nil, err
		}
		out = append(out, "retry.limit="+strconv.Itoa(n))
	}
	switch {
	case c.Bool("retry-on-system-failure"):
		out = append(out, "retry.system=3")
	case c.Bool("no-retry-on-system-failure"):
		out = append(out, "retry.system=0")
	}
	if c.Given("max-duration") {
		h, err := strconv.ParseFloat(c.Text("max-duration"), 64)
		if err != nil || !(h > 0) || h > 1e6 {
			return nil, cli.Wrong(fmt.Sprintf("--max-duration: %q is not a number of hours", c.Text("max-duration")), "like 24, or 0.5")
		}
		out = append(out, fmt.Sprintf("maxDuration=%ds", max(int(h*3600), 1)))
	}
	return out, nil
}

// priority is muster's name of one of the platform's.
func priority(name string) string {
	switch strings.ToLower(name) {
	case "auto", "medium": // what runs have that say nothing
		return spec.Train.String()
	case "lowest":
		return "very-low"
	}
	return strings.ToLower(name)
}

// priorityWord is the platform's name of a priority: what runs have that say nothing
// is medium.
func priorityWord(n int) string {
	switch p := spec.Priority(n); p {
	case spec.Train:
		return "medium"
	case spec.VeryLow:
		return "lowest"
	default:
		return p.String()
	}
}

// restart runs a run again. Its configuration stays, but for how it is
// scheduled.
func restart(c *compat.Call) error {
	for _, f := range []string{"name", "image", "cluster", "gpu-type", "gpus", "instance", "nodes", "node-names"} {
		if c.Given(f) {
			c.Say("--%s is ignored: a restart keeps the configuration; --clone submits a copy with changes", f)
		}
	}
	changes, err := scheduling(c)
	if err != nil {
		return err
	}
	w, err := found(c, c.Text("restart"), runKinds)
	if err != nil {
		return err
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	if w, err = conn.Restart(c.Context, w.Project, w.ID, api.RestartOptions{}); err != nil {
		return err
	}
	if len(changes) > 0 {
		if err := amend(c, w, changes); err != nil {
			return err
		}
	}
	return submittedRun(c, w)
}
