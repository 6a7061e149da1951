package runai

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/convert/runai"
	"github.com/musterhq/muster/internal/core/spec"
)

// ours are flags of submit that are about the command line, not the workload:
// they are done here and not by the reader of such lines.
var ours = []compat.Flag{
	{Names: "project p", Arg: "NAME", Does: "the project; default: that of runai config project"},
	{Names: "attach", Does: "wait until it runs, then connect to it; it gets a terminal and standard input"},
	{Names: "dry-run", Does: "submit nothing; say whether it would be accepted, and show the document"},
	{Names: "run-as-user", Does: "as one's own user and group"},
	{Names: "help h", Does: "help"},
	{Names: "wait-for-submit", Arg: "TIME", Void: "submission always waits for the server's answer."},
	{Names: "pod-running-timeout", Arg: "TIME", Does: "with --attach: wait no longer than this until it runs"},
	{Names: "loglevel", Arg: "LEVEL", Void: "there is no log of the command line: errors always come whole."},
	{Names: "jupyter", Does: "a notebook: image jupyter/scipy-notebook, port 8888, interactive"},
	{Names: "template", Arg: "NAME", Does: "lay what is given over a template: NAME, or NAME@VERSION"},
	{Names: "environment-asset", Arg: "NAME", Does: "run in an environment that is kept under a name: runai environment list; muster's own, since --environment sets variables"},
	{Names: "compute", Arg: "NAME", Does: "what each pod needs, kept under a name: runai compute list; muster's own"},
	{Names: "datasource", Arg: "NAME[:PATH[:ro]]", Many: true, Does: "data that is kept under a name: runai datasource list; muster's own"},
}

// SubmitFlags are all flags of the commands that submit: those of the reader of
// such lines, and what is done here.
func SubmitFlags() []compat.Flag {
	flags := slices.Clone(ours)
	for _, name := range runai.Flags() {
		mine := func(f compat.Flag) bool { return f.Name() == name }
		if slices.ContainsFunc(ours, mine) || slices.ContainsFunc(global, mine) {
			continue
		}
		names := name
		for letter := 'a'; letter <= 'z'; letter++ {
			if runai.ShortFlag(string(letter)) == name {
				names += " " + string(letter)
			}
		}
		f := compat.Flag{Names: names, Pass: true, Many: true, Refused: slices.Contains(mounts, name)}
		if value, _ := runai.Flag(name); value {
			f.Arg = "VALUE"
		}
		if name == "command" { // a text in older lines, written with =
			f.Arg, f.Bare = "COMMAND", "true"
		}
		flags = append(flags, f)
	}
	return flags
}

// submit is a command that submits; words are those before the flags, as the
// reader of such lines knows them.
func submit(use, short string, words []string) *compat.Command {
	if words == nil {
		words = []string{"submit"}
	}
	flags := slices.DeleteFunc(SubmitFlags(), func(f compat.Flag) bool { return f.Name() == "help" })
	return &compat.Command{Use: use, Short: short, Flags: flags, Most: compat.All, Run: func(c *compat.Call) error {
		return submitLine(c, words)
	}}
}

func submitLine(c *compat.Call, words []string) error {
	doc, err := read(c, words)
	if err != nil {
		return err
	}
	if doc.Project == "" {
		doc.Project = project(c)
	}
	if doc, err = made(c, doc); err != nil {
		return err
	}
	if c.Bool("attach") {
		doc.TTY, doc.Stdin = true, true
	}
	if doc.TTY && !doc.Stdin {
		return cli.Wrong("--tty without --stdin makes a terminal that nobody can type at", "add --stdin, or leave out --tty")
	}
	if doc.Kind.Interactive() && doc.Preemptible != nil && *doc.Preemptible && !c.Bool("quiet") {
		c.Say("Warning: a preemptible workspace may use more than the quota of its project, and be taken from its nodes at any time.")
	}
	return send(c, doc)
}

// read makes a document of the command line.
func read(c *compat.Call, words []string) (*spec.Document, error) {
	line := append(slices.Clone(words), c.Passed...)
	if c.Bool("run-as-user") {
		line = append(line, "--run-as-uid="+strconv.Itoa(os.Getuid()), "--run-as-gid="+strconv.Itoa(os.Getgid()))
	}
	if c.Bool("jupyter") {
		line = append(line, "--interactive", "--port=8888")
		if !c.Given("image") {
			line = append(line, "--image=jupyter/scipy-notebook")
		}
	}
	line = append(line, c.Args...)
	if c.Dash {
		line = append(append(line, "--"), c.After...)
	}
	return readWords(c, line)
}

func readWords(c *compat.Call, line []string) (*spec.Document, error) {
	reader := runai.Import
	if ofAssets(c) {
		reader = runai.ImportPartial
	}
	res, err := reader(line)
	if err != nil {
		return nil, compat.Refused("", err)
	}
	for _, n := range res.Notes {
		if n.Lossy && slices.Contains(mounts, strings.TrimLeft(n.Field, "-")) {
			return nil, cli.Wrong(n.Field+" cannot be done, and without it the workload would run without its data", n.Reason)
		}
	}
	compat.Report(c, "", res)
	return compat.One("the command line", res)
}

// mounts are flags without which a workload has other files than it was given.
// What else a line loses is told, and it is submitted.
var mounts = []string{"volume", "nfs", "nfs-server", "pvc", "new-pvc", "pvc-new", "s3", "configmap-volume", "configmap-map-volume"}

// send submits a document and says what can be done next.
func send(c *compat.Call, doc *spec.Document) error {
	w, err := c.Submit(c.Context, doc, c.Bool("dry-run"))
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		if len(doc.Data) > 0 { // of which the server knows what it is
			doc = new(spec.Document)
			if err := doc.UnmarshalJSON(w.Spec); err != nil {
				return err
			}
		}
		data, err := cli.YAML(doc)
		if err != nil {
			return err
		}
		warned(c, w)
		c.Say("Nothing was submitted: %s would be accepted.", w.Name)
		_, err = fmt.Fprint(c.Out(), string(data))
		return err
	}
	warned(c, w)
	if strings.HasPrefix(c.Path, "runai submit") {
		_, err = fmt.Fprintf(c.Out(), "The job '%s' has been submitted successfully\n", w.Name)
		c.Say("You can run `runai describe job %s -p %s` to check the job status", w.Name, w.Project)
	} else {
		_, err = fmt.Fprintf(c.Out(), "Workload %s has been submitted successfully\n", w.Name)
		c.Say("To track its status, run 'runai workload describe %s -p %s'", w.Name, w.Project)
	}
	if err != nil || !c.Bool("attach") {
		return err
	}
	return connected(c, w)
}

// submitManifest is runai workload submit.
func submitManifest() *compat.Command {
	return &compat.Command{
		Use: "submit [NAME] -f FILE", Short: "Submit a manifest of Kubernetes, or any file that muster knows", Most: 1,
		Flags: []compat.Flag{
			{Names: "file f", Arg: "FILE", Does: "the manifest; - is standard input"},
			{Names: "priority", Arg: "NAME", Does: "its priority"},
			{Names: "category", Arg: "NAME", Does: "kept as the label category"},
			{Names: "mnnvl", Arg: "MODE", Bare: "true", Void: "nodes that share memory over NVLink are a domain of the pool's topology: write topology in a document."},
			{Names: "dry-run", Does: "submit nothing; say whether it would be accepted, and show the document"},
		},
		Run: func(c *compat.Call) error {
			if !c.Given("file") {
				return cli.Wrong("there is no manifest", "runai workload submit -f FILE")
			}
			doc, err := compat.Load(c, c.Text("file"))
			if err != nil {
				return err
			}
			if c.First() != "" {
				doc.Name, doc.NamePrefix = c.First(), ""
			}
			if p := project(c); p != "" {
				doc.Project = p
			}
			var changes []string
			if c.Given("priority") {
				changes = append(changes, "priority="+c.Text("priority"))
			}
			if c.Given("category") {
				changes = append(changes, "labels.category="+c.Text("category"))
			}
			if doc, err = cli.Edit(doc, changes); err != nil {
				return err
			}
			return send(c, doc)
		},
	}
}

// warned says what the server finds worth a second look.
func warned(c *compat.Call, w *api.Workload) {
	for _, warning := range w.Warnings {
		c.Say("Warning: %s", warning)
	}
}
