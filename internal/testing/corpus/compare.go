package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// likeness is how a script does with muster beside Slurm.
type likeness string

const (
	same      likeness = "same"
	announced likeness = "told"            // it differs, and sbatch has named each thing that does
	different likeness = "different"       // something differs of which nothing was said
	wrongly   likeness = "wrongly refused" // Slurm takes it
	unlike    likeness = "not compared"    // this Slurm lacks the plugin that it is for
)

var likenesses = []likeness{same, announced, different, wrongly, unlike}

// What differs from run to run, or by what nodes and daemons are called.
var plain = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`/tmp[\w/]*/corpus-\d+/slurm/run/spool/\w+/job\d+|/tmp/slurm-\d+`), "SPOOL"},
	{regexp.MustCompile(`\b2\d{4}(_\d+)?\b`), "JOB$1"},
	{regexp.MustCompile(`2\d{4}`), "JOB"},
	{regexp.MustCompile(`\b(beside(\d+|\[[\d,-]+\])|127\.0\.0\.(\d+|\[[\d,-]+\]))(,(beside(\d+|\[[\d,-]+\])|127\.0\.0\.(\d+|\[[\d,-]+\])))*`), "NODE"},
	{regexp.MustCompile(`\bvm\b`), "NODE"},
	{regexp.MustCompile(`[^\s"':=]*/slurm_script`), "slurm_script"},
	{regexp.MustCompile(`tmp\.\w{6,}`), "tmp.X"},
	{regexp.MustCompile(`365-00:00:00`), "UNLIMITED"}, // what this Slurm gives where nothing is asked for
	{regexp.MustCompile(`/(\.?/)+`), "/"},
	{regexp.MustCompile(`'NODE'`), "NODE"}, // a shell that shows what it runs puts brackets in quotes
	{regexp.MustCompile(`/\.(;|$)`), "$1"},
	{regexp.MustCompile(`%J`), "JOB"}, // which it leaves in names as they are shown, and not in those of files
	{regexp.MustCompile(`%\d+j|\b0+JOB`), "JOB"},
	{regexp.MustCompile(`%N`), "NODE"},
	{regexp.MustCompile(`tasks? [\d,-]+: Exited`), "tasks: Exited"},
	{regexp.MustCompile(`(?m)^(MUSTER_.*|srun: Job \S+ step creation (?:temporarily|still) disabled.*|srun: Step created for job .*|srun: cluster configuration lacks support for cpu binding|srun: error: +(mpi/pmix|Couldn't load specified plugin name for mpi|MPI: Cannot create).*)\n?`), ""},
	{regexp.MustCompile(`\b\d+m\d+\.\d+s`), "TIME"},
	{regexp.MustCompile(`(?m)^[\d.]+user [\d.]+system [\d:.]+elapsed .*\n.*pagefaults.*$`), "TIME"}, // of time(1)
	{regexp.MustCompile(`(?m)^(PYTHONUNBUFFERED|TERM|CUDA_VISIBLE_DEVICES)=.*\n?`), ""},             // in lists of the environment; docs/environment.md says that tasks have them
	{regexp.MustCompile(`\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
}

func plainly(text string) string {
	for _, p := range plain {
		text = p.is.ReplaceAllString(text, p.as)
	}
	return text
}

// byChance are variables whose values are not the same from run to run, or name
// nodes and ports; it is compared whether they are there.
var byChance = regexp.MustCompile(`^(SLURM_(JOB_NODELIST|NODELIST|STEP_NODELIST|TOPOLOGY_ADDR(_PATTERN)?|SRUN_COMM_(PORT|HOST)|STEP_LAUNCHER_PORT|LAUNCH_NODE_IPADDR|SUBMIT_HOST|TASK_PID|JOB_START_TIME|JOB_END_TIME|GTIDS|STEPID|STEP_ID|CLUSTER_NAME|CONF|WORKING_CLUSTER|STEP_RESV_PORTS)|SLURMD_NODENAME)=`)

// unsaid are variables that this Slurm cannot have, as it is set up, or which mean
// its own daemons.
var unsaid = regexp.MustCompile(`^SLURM(D_DEBUG|D_TRES_BIND|_PMI|_PMIX|_CONF|_JOB_GPUS|_STEP_GPUS|_GPUS_ON_NODE|_JOB_QOS|_STEP_LAUNCHER_PORT|_CPU_BIND|_CLUSTER_NAME|_WORKING_CLUSTER|_SRUN_COMM)`)

func plainRecord(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if unsaid.MatchString(line) {
			continue
		}
		if m := byChance.FindString(line); m != "" {
			line = m
		}
		line = divided(line)
		if strings.HasPrefix(line, "user ") {
			if before, after, is := strings.Cut(line, " gpus "); is {
				_, threads, _ := strings.Cut(after, " threads")
				line = before + " threads" + threads
			}
		}
		lines = append(lines, plainly(line))
	}
	return strings.Join(lines, "\n")
}

// perNode are variables that say how many CPUs or tasks the nodes of a job have.
var perNode = regexp.MustCompile(`^(SLURM_(?:CPUS_ON_NODE|JOB_CPUS_PER_NODE|TASKS_PER_NODE)=)(\d+)(\(x\d+\))?$`)

// divided has the nodes of a job that has all of one as large as they are on the other side:
// here they are parts of one.
func divided(line string) string {
	m := perNode.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	for n := 2; n <= nodes; n++ {
		if m[2] == strconv.Itoa(cpusOfNode/n) && (m[3] == "" || m[3] == fmt.Sprintf("(x%d)", n)) {
			return m[1] + strconv.Itoa(cpusOfNode) + m[3]
		}
	}
	return line
}

// fields of a job that are compared.
var fields = []string{"JobState", "ExitCode", "ArrayTaskId", "JobName", "TimeLimit", "NumNodes", "NumTasks", "CPUs/Task", "Requeue", "Restarts", "Dependency", "Command", "WorkDir", "StdErr", "StdIn", "StdOut"}

// facts are what is compared of an outcome: name and value, in the order of
// what is looked at first.
type fact struct{ what, is string }

func facts(o outcome) (all []fact) {
	taken := "taken"
	if o.Code != 0 {
		taken = "refused"
	}
	all = append(all, fact{"submission", taken}, fact{"its end", map[bool]string{true: "by itself", false: "cancelled after its time"}[o.Ended]})
	var jobs []string
	all = append(all, fact{"jobs", fmt.Sprint(len(o.Jobs))})
	for _, field := range fields {
		jobs = jobs[:0]
		for _, j := range o.Jobs {
			value := j[field]
			if task := j["ArrayTaskId"]; task != "" && field != "ArrayTaskId" { // those of all tasks in one
				value = regexp.MustCompile(`_`+task+`\b`).ReplaceAllString(value, "_TASK")
			}
			jobs = append(jobs, plainly(value))
		}
		slices.Sort(jobs)
		all = append(all, fact{field, strings.TrimSuffix(strings.Join(slices.Compact(jobs), "; "), "/")})
	}
	files := map[string][]string{}
	for path, text := range o.Files {
		lines := strings.Split(plainly(text), "\n")
		slices.Sort(lines) // what several tasks write comes in any order
		lines = slices.CompactFunc(lines, func(a, b string) bool { return a == b && strings.Contains(a, "tasks: Exited") })
		files[plainly(path)] = append(files[plainly(path)], strings.Join(lines, "\n"))
	}
	all = append(all, fact{"files", strings.Join(slices.Sorted(maps.Keys(files)), " ")})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		slices.Sort(files[name])
		all = append(all, fact{"text of " + name, strings.Join(files[name], "\n--\n")})
	}
	var programs []string
	for _, r := range o.Records {
		programs = append(programs, plainRecord(r))
	}
	slices.Sort(programs)
	return append(all, fact{"programs", strings.Join(programs, "\n\n")})
}

// differences are those of a script, the plainest first.
func differences(of map[side]outcome) (all []string) {
	a, b := facts(of[slurm]), facts(of[muster])
	with := map[string]string{}
	for _, f := range b {
		with[f.what] = f.is
	}
	for _, f := range a {
		if got := with[f.what]; got != f.is {
			if f.what == "programs" {
				all = append(all, ofRecords(f.is, got)...)
				continue
			}
			x, y := firstLine(f.is, got)
			all = append(all, fmt.Sprintf("%s: %q there, %q here", f.what, x, y))
		}
	}
	return all
}

// ofRecords says which lines of the programs' records differ.
func ofRecords(a, b string) (all []string) {
	count := map[string]int{}
	for line := range strings.SplitSeq(a, "\n") {
		count[line]++
	}
	for line := range strings.SplitSeq(b, "\n") {
		count[line]--
	}
	for _, line := range slices.Sorted(maps.Keys(count)) {
		switch n := count[line]; {
		case n > 0:
			all = append(all, fmt.Sprintf("programs: %d × %q there alone", n, line))
		case n < 0:
			all = append(all, fmt.Sprintf("programs: %d × %q here alone", -n, line))
		}
	}
	return all
}

// firstLine is the first line in which two texts differ, of each.
func firstLine(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			return "", y[i]
		case i >= len(y):
			return x[i], ""
		case x[i] != y[i]:
			return x[i], y[i]
		}
	}
	return "", ""
}

// plugin is what Slurm says where a script is for one that has a plugin more, as pyxis is.
var plugin = regexp.MustCompile(`unrecognized option '--container-|Invalid MPI type`)

func judged(of map[side]outcome) (likeness, []string) {
	there, here := of[slurm], of[muster]
	for _, text := range append(slices.Collect(maps.Values(there.Files)), there.Message) {
		if plugin.MatchString(text) {
			return unlike, nil
		}
	}
	if there.Code != 0 && here.Code != 0 {
		return same, nil
	}
	if !there.Ended && len(there.Files) == 0 && strings.Contains(here.Message, "never fits") {
		return announced, []string{"submission: it waits for ever there, and is refused here: it never fits"}
	}
	if there.Code == 0 && here.Code != 0 {
		return wrongly, []string{strings.TrimSpace(here.Message)}
	}
	diff := differences(of)
	if len(diff) == 0 {
		return same, nil
	}
	own := ownLines(there.Message, here.Message)
	for _, d := range diff {
		if !names(own, d) {
			return different, append([]string{d}, slices.DeleteFunc(diff, func(other string) bool { return other == d })...)
		}
	}
	return announced, diff
}

// ownLines are the lines of what sbatch says here that it does not say there.
func ownLines(there, here string) (own []string) {
	known := map[string]bool{}
	for line := range strings.Lines(there) {
		known[plainly(strings.TrimSpace(line))] = true
	}
	for line := range strings.Lines(here) {
		if line = plainly(strings.TrimSpace(line)); line != "" && !known[line] {
			own = append(own, line)
		}
	}
	return own
}

// optionOf are the options that a field of a job is of: a line that names one speaks of the
// field.
var optionOf = map[string][]string{
	"TimeLimit": {"time", "time-min"}, "NumNodes": {"nodes"}, "NumTasks": {"ntasks", "ntasks-per-node"}, "CPUs/Task": {"cpus-per-task"}, "Requeue": {"requeue"}, "Dependency": {"dependency"}, "JobName": {"job-name"},
	"WorkDir": {"chdir"}, "StdErr": {"error"}, "StdIn": {"input"}, "StdOut": {"output"}, "ArrayTaskId": {"array"}, "jobs": {"array"},
}

var (
	ofVariable = regexp.MustCompile(`"(SLURM[A-Z_]*|[A-Z][A-Z_]+)=`)
	ofField    = regexp.MustCompile(`^([^:]+): `)
)

// names reports whether a line names what differs: the variable, the field, or an option
// that the field is of. Of a text of a file nobody knows where it comes from, but where it is a
// variable's.
func names(lines []string, difference string) bool {
	var any []string
	for _, m := range ofVariable.FindAllStringSubmatch(difference, -1) {
		any = append(any, m[1])
	}
	if m := ofField.FindStringSubmatch(difference); m != nil && !strings.HasPrefix(m[1], "text of ") && m[1] != "programs" {
		any = append(any, m[1])
		any = append(any, optionOf[m[1]]...)
	}
	for _, word := range any {
		is := regexp.MustCompile(`(^|[^\w/-])(--)?` + regexp.QuoteMeta(word) + `($|[^\w/-])`)
		if slices.ContainsFunc(lines, is.MatchString) {
			return true
		}
	}
	return false
}

// printCompared writes the table, and what differs by how many scripts have it.
func printCompared(out io.Writer, p plan, outcomes map[side][]outcome, names bool) {
	of := map[likeness][]string{}
	why := map[likeness]map[string][]string{}
	refused := 0
	for i, s := range p.Scripts {
		both := map[side]outcome{slurm: outcomes[slurm][i], muster: outcomes[muster][i]}
		if both[slurm].Code != 0 {
			refused++
		}
		l, diff := judged(both)
		line := s.Name
		if len(diff) > 0 {
			line += ": " + diff[0]
		}
		of[l] = append(of[l], line)
		if why[l] == nil {
			why[l] = map[string][]string{}
		}
		for _, d := range diff {
			if r := reason("", d); !slices.Contains(why[l][d], s.Name) {
				why[l][r] = append(why[l][r], s.Name+"\t"+d)
			}
		}
	}
	fmt.Fprintf(out, "\nbeside Slurm: %d batch scripts, of which Slurm refuses %d\n", len(p.Scripts), refused)
	for _, l := range likenesses {
		fmt.Fprintf(out, "%-16s %5d  %5.1f %%\n", l, len(of[l]), 100*float64(len(of[l]))/float64(len(p.Scripts)))
	}
	for _, l := range likenesses[1:] {
		if len(of[l]) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s:\n", l)
		for _, line := range of[l] {
			fmt.Fprintf(out, "  %s\n", line)
		}
		if !names {
			continue
		}
		fmt.Fprintf(out, "\n%s, by what differs:\n", l)
		for _, r := range slices.SortedFunc(maps.Keys(why[l]), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(why[l][b]), len(why[l][a])), cmp.Compare(a, b))
		}) {
			fmt.Fprintf(out, "%5d  %s\n", len(why[l][r]), why[l][r][0])
		}
	}
}
