package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// row is one line: a job, or some tasks of an array.
type row struct {
	c     *compat.Call
	p     *compat.Place
	w     *api.Workload
	id    string
	state terms.State
	tasks []api.Task
	since time.Duration
	count int // tasks that it stands for
	task  int // of an array, from 0; negative: it is not one of them
	held  bool
}

// rowsOf are the lines of a job. Tasks of an array that run have one each, those
// that wait one together; of some tasks each has its own.
func rowsOf(c *compat.Call, p *compat.Place, w *api.Workload, some []int) []row {
	number := strconv.FormatInt(w.Number, 10)
	var all []api.Task
	if a := compat.Last(w); a != nil {
		all = a.Tasks
	}
	whole := row{c: c, p: p, w: w, id: number, state: terms.StateOf(w), tasks: all, since: terms.Used(w, c.Now()), count: compat.Count(w), task: -1}
	if array, _, task, is := terms.Member(w); is {
		whole.id = fmt.Sprintf("%d_%d", array, task)
	}
	if cli.Document(w).Array == nil {
		return []row{whole}
	}
	var out []row
	numbers := terms.Numbers(w)
	begun := map[int]bool{}
	for _, t := range all {
		r := whole
		r.id, r.tasks, r.count, r.task = fmt.Sprintf("%s_%d", number, terms.NumberIn(numbers, t.Index)), []api.Task{t}, 1, t.Index
		begun[t.Index] = t.State != "pending"
		switch t.State {
		case "running":
			r.state, r.since = terms.States[lifecycle.Running], c.Now().Sub(cmp.Or(compat.At(t.StartedAt), c.Now()))
		case "starting":
			r.state = terms.States[lifecycle.Starting]
		case "stopping":
			r.state = terms.States[lifecycle.Terminating]
		default:
			continue // it waits, or is over
		}
		if some == nil || slices.Contains(some, t.Index) {
			out = append(out, r)
		}
	}
	if cli.Ended(w) {
		return []row{whole}
	}
	heldTasks, done := heldIn(w), compat.DoneBefore(w)
	for _, held := range []bool{true, false} {
		var rest, places []int
		for i := range compat.Count(w) {
			if !begun[i] && !done[i] && !slices.Contains(w.Canceled, i) && (some == nil || slices.Contains(some, i)) && heldTasks[i] == held {
				rest, places = append(rest, terms.NumberIn(numbers, i)), append(places, i)
			}
		}
		if len(rest) == 0 {
			continue
		}
		r := whole
		r.state, r.tasks, r.since, r.held = terms.Pending, nil, 0, held
		if c.Bool("array") || some != nil {
			for k, i := range rest {
				r.id, r.count, r.task = fmt.Sprintf("%s_%d", number, i), 1, places[k]
				out = append(out, r)
			}
			continue
		}
		r.id, r.count = number+"_["+terms.Fold(rest)+"]", len(rest)
		out = append([]row{r}, out...)
	}
	return out
}

// titles are what fields are called.
var titles = map[byte]string{
	'A': "JOBID", 'F': "ARRAY_JOB_ID", 'i': "JOBID", 'j': "NAME", 'u': "USER", 'P': "PARTITION", 't': "ST", 'T': "STATE", 'M': "TIME", 'l': "TIME_LIMIT",
	'L': "TIME_LEFT", 'D': "NODES", 'C': "CPUS", 'b': "TRES_PER_NODE", 'm': "MIN_MEMORY", 'N': "NODELIST", 'R': "NODELIST(REASON)",
	'r': "REASON", 'S': "START_TIME", 'e': "END_TIME", 'V': "SUBMIT_TIME", 'p': "PRIORITY", 'Q': "PRIORITY", 'a': "ACCOUNT", 'q': "QOS",
	'k': "COMMENT", 'o': "COMMAND", 'Z': "WORK_DIR", 'Y': "SCHEDNODES",
	'B': "EXEC_HOST", 'c': "MIN_CPUS", 'd': "MIN_TMP_DISK", 'E': "DEPENDENCY", 'f': "FEATURES", 'g': "GROUP", 'G': "GROUP", 'h': "OVER_SUBSCRIBE", 'H': "SOCKETS_PER_NODE",
	'I': "CORES_PER_SOCKET", 'J': "THREADS_PER_CORE", 'K': "ARRAY_TASK_ID", 'n': "REQ_NODES", 'O': "CONTIGUOUS", 's': "", 'U': "UID", 'v': "RESERVATION", 'w': "WCKEY",
	'W': "LICENSES", 'x': "EXC_NODES", 'X': "CORE_SPEC", 'y': "NICE", 'z': "S:C:T",
	tasksLetter: "TASKS", tresLetter: "TRES_ALLOC", perTaskLetter: "CPUS_PER_TASK", waitedLetter: "PENDING_TIME", restartsLetter: "RESTART_COUNT", exitLetter: "EXIT_CODE",
	stdoutLetter: "STDOUT", stderrLetter: "STDERR", clusterLetter: "CLUSTER", batchLetter: "BATCH_FLAG",
}

func title(letter byte) (string, bool) {
	if t, ok := restOf(letter); ok {
		return t, true
	}
	t, ok := titles[letter]
	return t, ok
}

func (r *row) nodes() []string {
	return compat.Nodes(&api.Attempt{Tasks: r.tasks})
}

func (r *row) value(letter byte) (string, bool) {
	w, d := r.w, cli.Document(r.w)
	switch letter {
	case 'i':
		return r.id, true
	case 'A':
		if r.task >= 0 { // each is a job of its own
			return strconv.FormatInt(w.Number-d.SlurmJobs()+1+int64(r.task), 10), true
		}
		return strconv.FormatInt(w.Number, 10), true
	case 'F':
		if array, _, _, is := terms.Member(w); is {
			return strconv.FormatInt(array, 10), true
		}
		return strconv.FormatInt(w.Number, 10), true
	case 'j':
		return terms.Name(w), true
	case 'u':
		return w.User, true
	case 'a':
		return w.Project, true
	case 'P':
		return terms.Partition(r.p, w), true
	case 't':
		return r.state.Short, true
	case 'T':
		return r.state.Long, true
	case 'M':
		return terms.Span(r.since), true
	case 'l':
		return terms.Limit(w), true
	case 'L':
		if d.MaxDuration.Std() > 0 {
			return terms.Span(max(d.MaxDuration.Std()-r.since, 0)), true
		}
		return "UNLIMITED", true
	case 'D':
		return strconv.Itoa(r.nodeCount()), true
	case 'C':
		first := d.Needs(0).CPU.Milli() - d.Resources.CPU.Milli() // what it has more, or less
		if r.task >= 0 || d.Array != nil {
			first = 0
		}
		return strconv.FormatInt(max((d.Resources.CPU.Milli()*int64(r.count)+first)/1000, 1), 10), true
	case 'm':
		return d.Resources.Memory.String(), true
	case 'q':
		return terms.QOS(w), true
	case 'p', 'Q':
		return strconv.Itoa(w.Priority), true
	}
	if _, ok := restOf(letter); ok {
		return "N/A", true
	}
	if text, ok := r.more(letter); ok {
		return text, true
	}
	return r.rare(letter)
}

// nodeCount is how many nodes a gang has; anything else is on one.
func (r *row) nodeCount() int {
	if lifecycle.Kind(r.w.Kind).Ranked() {
		return r.count
	}
	return 1
}

// reason is why it waits or how it ended. Of the tasks of an array that wait while
// others run, the server is not asked.
func (r *row) reason() string {
	w, d := r.w, cli.Document(r.w)
	if r.held {
		return "JobHeldUser"
	}
	if r.state != terms.Pending || w.Pending != nil || d.Array == nil {
		return terms.Reason(w)
	}
	active := 0
	if a := compat.Last(w); a != nil {
		for _, t := range a.Tasks {
			active += core.Bit(core.TaskState(t.State).Held())
		}
	}
	switch most := d.Array.Parallelism; {
	case most > 0 && active >= most:
		return "JobArrayTaskLimit"
	case slices.ContainsFunc(d.After, func(a spec.Dependency) bool { return a.PerTask }):
		return "Dependency"
	case active > 0:
		return "Resources"
	default:
		return terms.Reason(w)
	}
}

func (r *row) more(letter byte) (string, bool) {
	w, d := r.w, cli.Document(r.w)
	switch letter {
	case 'b':
		if w.GPUs == 0 {
			return "N/A", true
		}
		kind := ""
		if d.Resources.GPU.Type != "" {
			kind = ":" + d.Resources.GPU.Type
		}
		return fmt.Sprintf("gres/gpu%s:%d", kind, max(d.Resources.GPU.Devices(), 1)), true
	case 'N':
		return terms.Hosts(r.nodes()), true
	case 'R':
		if nodes := r.nodes(); len(nodes) > 0 && r.state != terms.Pending {
			return terms.Hosts(nodes), true
		}
		return "(" + r.reason() + ")", true
	case 'r':
		return r.reason(), true
	case 'S':
		if at := start(w); !at.IsZero() {
			return terms.Instant(at, "N/A"), true
		}
		return "N/A", true
	case 'e':
		return terms.Instant(end(w), "N/A"), true
	case 'V':
		return terms.Instant(time.Time(w.CreatedAt), "N/A"), true
	case 'k':
		return cmp.Or(d.Annotations["comment"], "(null)"), true
	case 'o':
		return commandOf(d), true
	case 'Z':
		return d.Workdir, true
	case 'Y':
		return "(null)", true
	}
	return "", false
}

// start is when a job started, or is expected to.
func start(w *api.Workload) time.Time {
	if w.Pending != nil {
		return compat.At(w.Pending.EstimatedStart)
	}
	if a := compat.Last(w); a != nil {
		return compat.At(a.StartedAt)
	}
	return compat.At(w.StartedAt)
}

// end is when it ended, or must have.
func end(w *api.Workload) time.Time {
	a := compat.Last(w)
	switch {
	case w.EndedAt != nil:
		return compat.At(w.EndedAt)
	case a != nil && a.RunningAt != nil && cli.Document(w).MaxDuration > 0:
		return compat.At(a.RunningAt).Add(cli.Document(w).MaxDuration.Std())
	}
	return time.Time{}
}

// sorted puts lines in the order of --sort.
func sorted(c *compat.Call, rows []row) error {
	var order []field
	var down []bool
	for _, text := range c.List("sort") {
		name := strings.TrimLeft(text, "+-")
		if len(name) != 1 || titles[name[0]] == "" {
			return cli.Wrong(fmt.Sprintf("--sort: there is no field %q", text), "letters as in --format, like -p,i")
		}
		order, down = append(order, field{letter: name[0]}), append(down, strings.HasPrefix(text, "-"))
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for i, f := range order {
			x, _ := a.value(f.letter)
			y, _ := b.value(f.letter)
			n := compare(x, y)
			if down[i] {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return 0
	})
	return nil
}

// compare takes numbers for numbers.
func compare(a, b string) int {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err1 == nil && err2 == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// heldIn are the indexes of the tasks of an array that somebody keeps from starting.
func heldIn(w *api.Workload) map[int]bool {
	all, err := spec.ParseIndexes(w.HeldTasks)
	if err != nil {
		return nil // none is
	}
	out := map[int]bool{}
	for _, i := range all {
		out[i] = true
	}
	return out
}
