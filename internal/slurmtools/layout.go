package slurmtools

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/spec"
)

// options are what srun was told.
type options struct {
	nodes, tasks, perNode, cpus, gpus int
	relative                          int
	nodeGPUs, allGPUs                 int  // of each node and of the step; 0: not said
	ownCPUs                           bool // --cpus-per-task is the step's own
	overcommit                        bool // processes may be more than CPUs
	warned                            bool // what it says of numbers that do not agree
	listed                            int  // nodes of --nodelist
	overlap                           bool // it shares CPUs with other steps
	exact                             bool // it has the CPUs of its processes, and no more
	pty                               bool
	label, killOnBadExit              bool
	list, exclude, name               string
	output, errors, dir, export       string
	openMode, input, distribution     string
	multi                             bool // argv is a file that says what each task runs
	argv                              []string
	container                         containerOptions
	around                            around
}

// srunShort are the options of srun of one letter beside those of sbatch.
var srunShort = map[byte]string{
	'l': "label", 'u': "unbuffered", 'K': "kill-on-bad-exit", 'W': "wait", 'r': "relative", 'E': "preserve-env", 'I': "immediate", 'T': "threads", 'X': "disable-status", 'Z': "no-allocate",
}

// srunSwitches are options of srun without a value, or with one after = only;
// srunValues those with one.
var (
	srunSwitches = []string{"label", "unbuffered", "kill-on-bad-exit", "preserve-env", "immediate", "disable-status", "overlap", "exact", "multi-prog", "pty", "no-allocate", "quit-on-interrupt", "resv-ports", "debugger-test", "external", "interactive", "help", "usage", "version"}
	srunValues   = []string{"wait", "relative", "threads", "mpi", "cpu-bind", "accel-bind", "bcast", "bcast-exclude", "compress", "epilog", "prolog", "task-epilog", "task-prolog", "jobid", "het-group", "slurmd-debug", "send-libs", "msg-timeout", "treewidth", "ntasks-per-tres"}
)

// parse reads the command line of srun.
func parse(args []string) (o options, err error) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w == "--" {
			o.argv = args[i+1:]
			return o, nil
		}
		if !strings.HasPrefix(w, "-") || w == "-" {
			o.argv = args[i:]
			return o, nil
		}
		name, value, has := strings.Cut(strings.TrimPrefix(w, "--"), "=")
		if !strings.HasPrefix(w, "--") {
			long, known := srunShort[w[1]]
			if !known {
				long, known = slurm.ShortOption(w[1])
			}
			if !known {
				return o, fmt.Errorf("unknown option %s", w)
			}
			name, value, has = long, strings.TrimPrefix(w[2:], "="), len(w) > 2
		}
		name = wholeOption(name)
		takes, known := slurm.Option(name)
		if slices.Contains(srunSwitches, name) {
			takes, known = false, true
		} else if slices.Contains(srunValues, name) {
			takes, known = true, true
		}
		if !known {
			return o, fmt.Errorf("unknown option --%s", name)
		}
		if takes && !has {
			if i++; i >= len(args) {
				return o, fmt.Errorf("--%s needs a value", name)
			}
			value = args[i]
		}
		if err := o.set(name, value); err != nil {
			return o, err
		}
	}
	return o, nil
}

// wholeOption is the option of srun that a long name means: with underscores, or
// cut short.
func wholeOption(name string) string {
	name = strings.ReplaceAll(name, "_", "-")
	own := slices.Concat(srunSwitches, srunValues)
	if slices.Contains(own, name) || len(name) < 2 {
		return name
	}
	found := slices.DeleteFunc(own, func(n string) bool { return !strings.HasPrefix(n, name) })
	whole, others := slurm.CompleteOption(name)
	if len(found) == 1 && others == 0 {
		return found[0]
	}
	if len(found) > 0 && others > 1 || len(found) > 0 && whole != name {
		return name // it could be several
	}
	return whole
}

func (o *options) set(name, value string) error {
	number := func(to *int) error {
		text := value
		if name == "nodes" { // of which the fewest count
			text, _, _ = strings.Cut(value, "-")
		}
		n, err := strconv.Atoi(text)
		if least := map[string]int{"ntasks": 1, "ntasks-per-node": 1, "cpus-per-task": 1}[name]; err != nil || n < least || n > anyNumber {
			return inSlurmsWords("Invalid numeric value %q for --%s.", value, name)
		}
		*to = n
		return nil
	}
	switch name {
	case "nodes":
		return number(&o.nodes)
	case "ntasks":
		return number(&o.tasks)
	case "ntasks-per-node":
		return number(&o.perNode)
	case "cpus-per-task":
		o.exact, o.ownCPUs = true, true
		return number(&o.cpus)
	case "overcommit":
		o.overcommit = true
	case "exact", "exclusive":
		o.exact = true
	case "relative":
		return number(&o.relative)
	case "gpus-per-task":
		if i := strings.LastIndexByte(value, ':'); i >= 0 {
			value = value[i+1:]
		}
		return number(&o.gpus)
	case "gpus", "gpus-per-node", "gres":
		return o.setGPUs(name, value)
	case "overlap":
		o.overlap = true
	case "label":
		o.label = true
	case "kill-on-bad-exit":
		o.killOnBadExit = value != "0"
	case "nodelist":
		o.list = value
	case "job-name":
		o.name = value
	case "exclude":
		o.exclude = value
	case "output":
		o.output = value
	case "error":
		o.errors = value
	case "open-mode":
		o.openMode = value
	case "chdir":
		o.dir = value
	case "export":
		o.export = value
	case "multi-prog":
		o.multi = true
	case "distribution":
		if !slurm.IsDistribution(value) {
			return fmt.Errorf("--distribution: %q is none; write block, cyclic, arbitrary or plane=SIZE", value)
		}
		o.distribution = value
	case "input":
		o.input = value
	case "het-group", "pack-group":
		return fmt.Errorf("--het-group: the nodes of a job are all alike here, so it has no such groups; submit a job for each")
	case "pty":
		o.pty = true
	default:
		if o.around.set(name, value) {
			return nil
		}
		return o.container.set(name, value)
	}
	return nil
}

// rank is one process that srun starts.
type rank struct {
	proc, local, node int    // its numbers; node is among those of the step
	at                int    // node of the workload
	host              string // its name
}

// space is what the nodes of a job have for the processes of a step, by node.
type space struct {
	whole, free []int // processes that there are CPUs for: in all, and at present
	// gpus reports whether a node has the GPUs now that so many processes of a step of
	// so many nodes ask for.
	gpus func(at, processes, nodes int) bool
}

// anyNumber is room for every step.
const anyNumber = 1_000_000

// layout is which processes go where. No ranks: there is no room at present.
func (o *options) layout(hosts []string, room space) (ranks []rank, step []string, err error) {
	at, err := o.choose(hosts)
	if err != nil {
		return nil, nil, err
	}
	count, err := o.count(at, room)
	if err != nil {
		return nil, nil, err
	}
	tasks := o.tasks
	if o.overcommit || os.Getenv("SLURM_OVERCOMMIT") != "" {
		room.whole, room.free = slices.Repeat([]int{tasks}, len(hosts)), slices.Repeat([]int{tasks}, len(hosts))
	}
	all := func(int, int, int) bool { return true }
	if _, counts := o.pick(at, count, room.whole, all); counts == nil {
		return nil, nil, inSlurmsWords("Unable to create step for job %s: More processors requested than permitted", os.Getenv("SLURM_JOB_ID"))
	}
	at, counts := o.pick(at, count, room.free, room.gpus)
	if counts == nil {
		return nil, nil, nil
	}
	for node := range counts {
		step = append(step, hosts[at[node]])
	}
	for proc, local := range o.dealt(counts) {
		node := local.node
		ranks = append(ranks, rank{proc: proc, local: local.n, node: node, at: at[node], host: hosts[at[node]]})
	}
	return ranks, step, nil
}

// count finds out how many processes a step has, on how many nodes, as srun does
// (22.05.8): what the job says of both holds where the step says nothing, and processes of
// each node count only where nothing says how many there are.
func (o *options) count(at []int, room space) (nodes int, err error) {
	nodes = cmp.Or(o.nodes, len(at))
	if o.exclude != "" || o.relative > 0 {
		nodes = min(nodes, len(at))
	}
	per := o.perNode
	if per == 0 {
		per, _ = strconv.Atoi(os.Getenv("SLURM_NTASKS_PER_NODE"))
	}
	if o.tasks == 0 {
		o.tasks, _ = strconv.Atoi(os.Getenv("SLURM_NTASKS"))
	}
	switch {
	case o.tasks > 0:
		if per > 0 && o.tasks > per && o.tasks != per*nodes && !o.warned {
			fmt.Fprintf(os.Stderr, "srun: Warning: can't honor --ntasks-per-node set to %d which doesn't match the requested tasks %d with the number of requested nodes %d. Ignoring --ntasks-per-node.\n", per, o.tasks, nodes)
		}
	case per > 0:
		o.tasks = per * nodes
	case o.ownCPUs && o.nodes == 0: // as many as the job's CPUs are enough for
		for _, i := range at {
			if room.whole[i] < anyNumber {
				o.tasks += room.whole[i]
			}
		}
		o.tasks = max(o.tasks, nodes)
	default:
		o.tasks = nodes
	}
	if o.tasks < nodes {
		if !o.warned {
			fmt.Fprintf(os.Stderr, "srun: Warning: can't run %d processes on %d nodes, setting nnodes to %d\n", o.tasks, nodes, o.tasks)
		}
		nodes = o.tasks
	}
	o.warned = true
	if nodes == 0 {
		return 0, fmt.Errorf("there is nothing to start")
	}
	return nodes, nil
}

// pick are so many of the nodes, with how many processes are on each: the first that have
// room for them together, else those that have most. Nil: there is not room.
func (o *options) pick(at []int, nodes int, has []int, gpus func(at, processes, nodes int) bool) (picked, counts []int) {
	open := slices.DeleteFunc(slices.Clone(at), func(i int) bool { return has[i] < 1 })
	if must := min(o.listed, nodes); len(open) < nodes || !slices.Equal(open[:must], at[:must]) {
		return nil, nil
	}
	most := slices.Clone(open)
	slices.SortStableFunc(most[min(o.listed, len(most)):], func(a, b int) int { return cmp.Compare(has[b], has[a]) })
	for _, some := range [][]int{open, most} {
		picked = slices.Sorted(slices.Values(some[:nodes]))
		rooms := make([]int, nodes)
		for i, n := range picked {
			rooms[i] = has[n]
		}
		counts = spec.SlurmLayout(o.tasks, rooms)
		if counts == nil {
			continue
		}
		if i := slices.IndexFunc(picked, func(n int) bool { return !gpus(n, counts[slices.Index(picked, n)], nodes) }); i >= 0 {
			if slices.Contains(at[:o.listed], picked[i]) {
				return nil, nil
			}
			rest := slices.DeleteFunc(slices.Clone(at), func(n int) bool { return n == picked[i] })
			return o.pick(rest, nodes, has, gpus)
		}
		return picked, counts
	}
	return nil, nil
}

// seat is the place of a process among those of its node.
type seat struct{ node, n int }

// dealt is where each process goes, in their order, where nodes have so many each: node
// by node, or so many at a time to one node after the other, as --distribution says
// of nodes (https://slurm.schedmd.com/srun.html#OPT_distribution). What it says
// of sockets and cores is the machine's affair.
func (o *options) dealt(counts []int) []seat {
	size := slices.Max(counts)
	switch how, _, _ := strings.Cut(cmp.Or(o.distribution, os.Getenv("SLURM_DISTRIBUTION")), ":"); {
	case how == "cyclic":
		size = 1
	case strings.HasPrefix(how, "plane="):
		if n, err := strconv.Atoi(how[len("plane="):]); err == nil && n > 0 {
			size = n
		}
	}
	var all []seat
	for first := 0; first < slices.Max(counts); first += size {
		for node, n := range counts {
			for k := first; k < min(first+size, n); k++ {
				all = append(all, seat{node, k})
			}
		}
	}
	return all
}

// choose is the nodes that a step may use, by their numbers: as many as it asks for, or
// more.
func (o *options) choose(hosts []string) ([]int, error) {
	var at []int
	numbers := func(list string) (all []int, err error) {
		names, err := slurm.Hostnames(list)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			i := slices.Index(hosts, name)
			if i < 0 {
				return nil, fmt.Errorf("%q is not a node of this job, which has %s", name, strings.Join(hosts, ","))
			}
			if !slices.Contains(all, i) {
				all = append(all, i)
			}
		}
		return all, nil
	}
	if o.list != "" {
		var err error
		if at, err = numbers(o.list); err != nil {
			return nil, err
		}
		o.listed = len(at)
	}
	for i := range hosts { // it may have others as well
		if !slices.Contains(at, i) {
			at = append(at, i)
		}
	}
	if o.exclude != "" {
		no, err := numbers(o.exclude)
		if err != nil {
			return nil, err
		}
		at = slices.DeleteFunc(at, func(i int) bool { return slices.Contains(no, i) })
		o.listed = min(o.listed, len(at))
	}
	if o.relative > 0 {
		at = slices.DeleteFunc(at, func(i int) bool { return i < o.relative })
		o.listed = min(o.listed, len(at))
	}
	if o.nodes > len(at) {
		return nil, inSlurmsWords("Only allocated %d nodes asked for %d", len(at), o.nodes)
	}
	return at, nil
}
