package slurm

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// usageExit is the exit code of Slurm's tools for options that cannot be read.
const usageExit = 255

// failed begins what slurmctld refuses.
const failed = "Batch job submission failed: "

// fault says of what is refused at submission what sbatch 22.05 says of it, as
// programs and people look for these words; muster's own follow, which say what to do.
func fault(c *compat.Call, err error) error {
	program, _, _ := strings.Cut(c.Path, " ")
	p := cli.Problem(err)
	if p == nil {
		return err
	}
	lines, code := []string(nil), 1
	if option, arg, is := badFlag(p.Detail); is {
		what := "unrecognized option '" + option + "'"
		switch {
		case arg:
			what = "option '" + option + "' requires an argument"
		case !strings.HasPrefix(option, "--"):
			what = "invalid option -- '" + strings.TrimPrefix(option, "-") + "'"
		}
		c.Say("%s: %s", program, what)
		c.Say("Try \"%s --help\" for more information", program)
		return cli.ExitWith(err, usageExit)
	}
	fields := p.Errors
	if len(fields) == 0 {
		fields = []api.FieldProblem{{Problem: p.Detail}}
	}
	for _, f := range fields {
		words, with := theirs(c, f)
		if words == nil {
			continue
		}
		if strings.HasPrefix(words[0], "unrecognized option") {
			c.Say("%s: %s", program, words[0])
			c.Say("Try \"%s --help\" for more information", program)
			return cli.ExitWith(err, usageExit)
		}
		lines, code = words, with
		break
	}
	if lines == nil && len(p.Errors) == 0 {
		return err
	}
	for _, l := range lines {
		if program != "sbatch" { // these ask for nodes, and submit no script
			l = strings.Replace(l, failed, "Unable to allocate resources: ", 1)
		}
		c.Say("%s: error: %s", program, l)
	}
	if code != 1 {
		return cli.ExitWith(err, code)
	}
	return err
}

var (
	unknownFlag  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown flag: (--\S+)`) })
	unknownShort = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown shorthand flag: '(.)' in`) })
	argless      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^flag needs an argument: (?:'(.)' in )?(-\S+)`) })
	noOption     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^is no option of sbatch`) })
)

// badFlag reads what is said of a flag that there is not, or that has no value.
func badFlag(detail string) (option string, arg, is bool) {
	if m := unknownFlag().FindStringSubmatch(detail); m != nil {
		return m[1], false, true
	}
	if m := unknownShort().FindStringSubmatch(detail); m != nil {
		return "-" + m[1], false, true
	}
	if m := argless().FindStringSubmatch(detail); m != nil {
		return m[2], true, true
	}
	return "", false, false
}

// specified are options whose values are refused with these words.
var specified = []string{"--time", "--time-min", "--begin", "--deadline", "--signal", "--mail-type", "--mem", "--mem-per-cpu", "--mem-per-gpu", "--tmp", "--open-mode", "--exclusive", "--export", "--distribution", "--hint", "--gres-flags", "--uid", "--gid"}

// counted are options that take a number.
var counted = []string{"--ntasks", "--ntasks-per-node", "--ntasks-per-socket", "--ntasks-per-core", "--ntasks-per-gpu", "--cpus-per-task", "--cpus-per-gpu", "--mincpus", "--core-spec", "--threads-per-core", "--cores-per-socket", "--sockets-per-node"}

// theirs are Slurm's words for what is wrong with a field, and its exit code; nil: it
// has none.
func theirs(c *compat.Call, f api.FieldProblem) ([]string, int) {
	path, text := f.Path, f.Problem
	has := func(words string) bool { return strings.Contains(text, words) }
	config := failed + "Requested node configuration is not available"
	switch {
	case noOption().MatchString(text):
		return []string{"unrecognized option '" + strings.TrimSuffix(path, ":") + "'"}, usageExit
	case slices.Contains(specified, path):
		return []string{"Invalid " + path + " specification"}, usageExit
	case slices.Contains(counted, path):
		return []string{"Invalid numeric value \"" + quoted(text) + "\" for " + path + "."}, 1
	case path == "--array":
		return []string{failed + "Invalid job array specification"}, 1
	case path == "--nodes":
		return []string{failed + "Node count specification invalid"}, 1
	case path == "--dependency", strings.HasPrefix(path, "after["):
		return []string{failed + "Job dependency problem"}, 1
	case path == "--nodelist", path == "--exclude", path == "nodeAffinity" && has("kubernetes.io/hostname"):
		return []string{failed + "Invalid node name specified"}, 1
	case path == "--constraint", strings.HasPrefix(path, "nodeAffinity"):
		return []string{failed + "Invalid feature specification"}, 1
	case path == "--licenses", strings.HasPrefix(path, "licenses"):
		return []string{failed + "Invalid license specification"}, 1
	case path == "reservation":
		return []string{failed + "Requested reservation is invalid"}, 1
	case path == "resources.pool" || strings.HasPrefix(path, "--partition") || strings.HasPrefix(path, "pools"):
		lines := []string{failed + "Invalid partition name specified"}
		if given := partitionOf(c); given != "" {
			lines = slices.Insert(lines, 0, "invalid partition specified: "+given)
		}
		return lines, 1
	case path == "project":
		return []string{failed + "Invalid account or account/partition combination specified"}, 1
	case path == "priority", path == "--qos":
		return []string{failed + "Invalid qos specification"}, 1
	case path == "--gres" || path == "--gpus" || strings.HasPrefix(path, "--gpus-per-"), path == "resources.gpu" && has(" 0 GPU"):
		return []string{"Invalid generic resource (gres) specification"}, 1
	case path == "resources.memory":
		return []string{"Memory specification can not be satisfied", config}, 1
	case path == "resources.cpu":
		return []string{"CPU count per node can not be satisfied", config}, 1
	case path == "resources.gpu", path == "workers":
		return []string{config}, 1
	case has("the script has no command"):
		return []string{"Batch script is empty!"}, 1
	case has("does not begin with #!"), has("is a directory"):
		return []string{"This does not look like a batch script.  The first", "line must start with #! followed by the path to an interpreter.", "For instance: #!/bin/sh"}, 1
	case has("ends as lines of Windows do"):
		return []string{"Batch script contains DOS line breaks (\\r\\n)", "instead of expected UNIX line breaks (\\n)."}, 1
	case has("--wrap contradicts a script"):
		return []string{"Script arguments not permitted with --wrap option"}, 1
	case strings.HasPrefix(text, "file ") && has(" does not exist"):
		return []string{"Unable to open file " + scriptOf(c)}, 1
	case has("permission denied") && scriptOf(c) != "":
		if _, err := os.Stat(scriptOf(c)); err == nil {
			return []string{"Unable to open file " + scriptOf(c)}, 1
		}
	}
	return nil, 1
}

// scriptOf is the script as the command line names it.
func scriptOf(c *compat.Call) string {
	if words := slices.Concat(c.Args, c.After); len(words) > 0 {
		return words[0]
	}
	return ""
}

// partitionOf is the partition that the command line names; empty: the script does.
func partitionOf(c *compat.Call) (name string) {
	for i, o := range c.Passed {
		switch {
		case strings.HasPrefix(o, "--partition="):
			name = strings.TrimPrefix(o, "--partition=")
		case (o == "--partition" || o == "-p") && i+1 < len(c.Passed):
			name = c.Passed[i+1]
		case strings.HasPrefix(o, "-p") && !strings.HasPrefix(o, "--"):
			name = strings.TrimPrefix(o, "-p")
		}
	}
	return name
}

// quoted is what stands between the first quotes of a text.
func quoted(text string) string {
	_, rest, _ := strings.Cut(text, `"`)
	inside, _, _ := strings.Cut(rest, `"`)
	return inside
}
