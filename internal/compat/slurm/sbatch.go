package slurm

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// done are options that are about the command line, not the job.
var done = []compat.Flag{
	{Names: "parsable", Does: "print the job's id and nothing else"},
	{Names: "quiet Q", Does: "print nothing"},
	{Names: "test-only", Does: "submit nothing; say whether it would be accepted, and when it would start"},
	{Names: "wait W", Does: "return once the job has ended, and exit as it did"},
	{Names: "wrap", Arg: "COMMAND", Does: "submit this command instead of a script"},
	terms.Version,
}

// Options are all options of sbatch: those that a script may have as well, and
// those that are about the command line.
func Options() []compat.Flag {
	letters := map[string]string{}
	for c := 'A'; c <= 'z'; c++ {
		if name, known := slurm.ShortOption(byte(c)); known {
			letters[name] = string(c)
		}
	}
	out := slices.Clone(done)
	for _, name := range slurm.Options() {
		if slices.ContainsFunc(done, func(f compat.Flag) bool { return f.Name() == name }) {
			continue
		}
		f := compat.Flag{Names: strings.TrimSpace(name + " " + letters[name] + slurm.Aliases(name)), Pass: true, Many: true}
		value, _ := slurm.Option(name)
		switch {
		case value:
			f.Arg = "VALUE"
		case slurm.Optional(name):
			f.Arg, f.Bare = "VALUE", bare
		}
		out = append(out, f)
	}
	return out
}

// bare stands for the value that an option has where it is given without one.
const bare = "\x00"

// Sbatch is sbatch.
func Sbatch() *compat.Command {
	return &compat.Command{
		Use: "sbatch [OPTIONS] [SCRIPT [ARGUMENTS…]]", Words: &terms.Words, Fault: fault, Short: "Submit a batch script", Stop: 1, Loose: true, Flags: Options(),
		Long: `Submits a script; without one it is read from standard input. Options are those
of its #SBATCH lines and stand over them, as do variables like SBATCH_PARTITION.`,
		Run: sbatch,
	}
}

// variables are options that the environment may say.
var variables = []string{
	"account", "array", "clusters", "constraint", "container", "cpus-per-gpu", "cpus-per-task", "dependency", "distribution", "exclusive", "export", "gpus", "gpus-per-node", "gpus-per-task",
	"gres", "hint", "job-name", "mem", "mem-per-cpu", "mem-per-gpu", "nodes", "ntasks", "open-mode", "output", "partition", "priority", "qos", "requeue", "no-requeue", "reservation", "signal", "time", "timelimit",
}

func sbatch(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	name, data, args, err := script(c)
	if err != nil {
		return err
	}
	docs, err := batches(c, name, data, options(c, "SBATCH_"), args)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if name == standardInput || c.Given("wrap") {
			break // it was no file
		}
		if err := submittedFile(doc, name, args); err != nil {
			return err
		}
	}
	ws, err := submitted(c, docs)
	if err != nil {
		return err
	}
	w := &ws[len(ws)-1] // whose number is the array's, where there are several
	warn(c, "sbatch", w)
	if c.Bool("test-only") {
		when := "cannot be told when"
		if w.Plan != nil {
			if text := planned(c, w); text != "" {
				when = text
			}
		}
		c.Say("sbatch: the job would be accepted; it %s", when)
		return nil
	}
	text := fmt.Sprintf("Submitted batch job %d\n", w.Number)
	switch {
	case c.Bool("quiet"):
		text = ""
	case c.Bool("parsable"):
		text = fmt.Sprintf("%d\n", w.Number)
	}
	if _, err := fmt.Fprint(c.Out(), text); err != nil || !c.Bool("wait") {
		return err
	}
	for i := range ws {
		if ended := waited(c, &ws[i]); err == nil {
			err = ended
		}
	}
	return err
}

// warn says what is perhaps not meant about a submission, as a program of that name.
func warn(c *compat.Call, program string, w *api.Workload) {
	if c.Bool("quiet") {
		return
	}
	for _, warning := range w.Warnings {
		c.Say("%s: warning: %s", program, warning)
	}
}

// submitted are the workloads of a script: one, or one for each job of an array of
// jobs of several nodes.
func submitted(c *compat.Call, docs []*spec.Document) ([]api.Workload, error) {
	for _, doc := range docs {
		besideScript(doc)
	}
	ws, err := asked(c, docs)
	for err != nil && withoutGone(c, docs, err) {
		ws, err = asked(c, docs)
	}
	return ws, err
}

func asked(c *compat.Call, docs []*spec.Document) ([]api.Workload, error) {
	if len(docs) > 1 {
		return c.Together(c.Context, docs, c.Bool("test-only"))
	}
	w, err := c.Submit(c.Context, docs[0], c.Bool("test-only"))
	if err != nil {
		return nil, err
	}
	return []api.Workload{*w}, nil
}

// besideScript has the output go where whoever says nothing of it looks for it
// (slurm.schedmd.com/sbatch.html, --output). In an image there is no directory
// from which it was submitted.
func besideScript(doc *spec.Document) {
	if doc.Slurm == nil || doc.Slurm.Output != "" || doc.Image != "" {
		return
	}
	doc.Slurm.Output = "slurm-%j.out"
	if doc.Array != nil || doc.Slurm.ArrayTask != nil {
		doc.Slurm.Output = "slurm-%A_%a.out"
	}
}

// waited ends as a job has.
func waited(c *compat.Call, w *api.Workload) error {
	w, err := c.Until(c.Context, w, cli.Ended)
	if err != nil {
		return err
	}
	if a := compat.Last(w); a != nil && a.ExitCode != nil && *a.ExitCode != 0 {
		return cli.Exit(*a.ExitCode)
	}
	if cli.ExitOf(w) != 0 {
		return cli.Exit(1)
	}
	return nil
}

func planned(c *compat.Call, w *api.Workload) string {
	data, err := cli.YAML(w.Plan)
	if err != nil {
		return ""
	}
	return "is planned as follows\n" + strings.TrimRight(string(data), "\n")
}

// standardInput is what Slurm calls a job whose script came from there.
const standardInput = "sbatch"

// script is the batch script, with its name and arguments.
func script(c *compat.Call) (name string, data []byte, args []string, err error) {
	words := append(slices.Clone(c.Args), c.After...)
	switch {
	case c.Given("wrap") && len(words) > 0:
		return "", nil, nil, cli.Wrong("--wrap contradicts a script", "leave one of them out")
	case c.Given("wrap"):
		return "wrap", []byte("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + c.Text("wrap") + "\n"), nil, nil
	case len(words) == 0:
		data, err = c.Read("-")
		return standardInput, data, nil, err
	}
	name = inPath(words[0])
	data, err = c.Read(name)
	return name, data, words[1:], err
}

// inPath is where a script is: as it is named, or where PATH has it when there is no such file
// here.
func inPath(name string) string {
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) || strings.ContainsRune(name, '/') {
		return name
	}
	if found, err := exec.LookPath(name); err == nil {
		return found
	}
	return name
}

// options are those of the command line, behind those of the environment that
// stand over a script's.
func options(c *compat.Call, prefix string) []string {
	var out []string
	for _, name := range variables {
		value := c.Env(prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		option := map[string]string{"timelimit": "time"}[name]
		if option = cmp.Or(option, name); value == "" || c.Given(option) {
			continue
		}
		if takes, _ := slurm.Option(option); takes {
			option += "=" + value
		}
		out = append(out, "--"+option)
	}
	return append(out, c.Passed...)
}

// batch makes a document of a script that is one job.
func batch(c *compat.Call, name string, data []byte, options, args []string) (*spec.Document, error) {
	docs, err := batches(c, name, data, options, args)
	if err != nil {
		return nil, err
	}
	if len(docs) > 1 {
		return nil, cli.Wrong(fmt.Sprintf("%s is an array of %d jobs", name, len(docs)), "submit it with sbatch")
	}
	return docs[0], nil
}

// batches makes documents of a script: several of an array of jobs of several nodes.
func batches(c *compat.Call, name string, data []byte, options, args []string) ([]*spec.Document, error) {
	res, err := slurm.Import(data, slurm.Submission{
		Options: options, Args: args, Name: filepath.Base(name), Now: c.Now(), Largest: func(pool string) int { return largest(c, pool) },
	})
	if err != nil {
		return nil, refused(name, err)
	}
	if !c.Bool("quiet") && !c.Bool("parsable") {
		compat.Report(c, name, res)
	}
	for _, doc := range res.Documents {
		if err := placed(c, name, doc); err != nil {
			return nil, err
		}
	}
	return res.Documents, nil
}

// refused names the script where what is wrong stands in it: options of the command line
// are on no line.
func refused(name string, err error) error {
	var errs codec.Errors
	if errors.As(err, &errs) && !slices.ContainsFunc(errs, func(e codec.FieldError) bool { return e.Line > 0 }) {
		name = ""
	}
	return compat.Refused(name, err)
}

// largest is how many CPUs the nodes have at most that take jobs, those of the pools
// that pool names where there are any; 0: nobody knows, and the scheduler says what
// does not fit.
func largest(c *compat.Call, pool string) (most int) {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return 0
	}
	all, err := conn.Cluster(c.Context)
	if err != nil {
		return 0
	}
	of := func(pools []string) {
		for _, n := range all.Nodes {
			if n.Ready && !n.Cordoned && (len(pools) == 0 || slices.Contains(pools, n.Pool)) {
				most = max(most, int(n.CPU.Total/1000))
			}
		}
	}
	if pool != "" {
		of(strings.Split(pool, ","))
	}
	if most == 0 {
		of(nil)
	}
	return most
}

// placed says of a job what its script left to where and by what name it is submitted.
func placed(c *compat.Call, name string, doc *spec.Document) error {
	if doc.Slurm != nil && doc.Slurm.Name == "" {
		doc.Slurm.Name = filepath.Base(name) // as Slurm calls it, ending and all
	}
	if doc.Name == "" && doc.NamePrefix == "" {
		doc.NamePrefix = compat.Name(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
		doc.NamePrefix = strings.TrimRight(doc.NamePrefix[:min(len(doc.NamePrefix), 45)], "-")
	}
	if doc.Project == "" {
		doc.Project = c.Setting("MUSTER_PROJECT")
	}
	if doc.Workdir == "" && doc.Image == "" {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		doc.Workdir = dir
	}
	return nil
}
