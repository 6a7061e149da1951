package slurm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/face"
)

const (
	usualFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
	longFormat  = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
	startFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
)

// Squeue is squeue.
func Squeue() *face.Command {
	return &face.Command{
		Use: "squeue", Short: "Jobs that wait and run", Loose: true,
		Long: `Lists jobs. Fields of --format: %A %F %i id, %j name, %u user, %P partition, %t %T
state, %M time used, %l limit, %L time left, %D nodes, %C CPUs, %b GPUs, %m memory,
%N nodes by name, %R nodes or why it waits, %r why, %S start, %e end, %V submitted,
%p %Q priority, %a account (the project), %q QOS, %k comment, %o command, %Z directory, %Y.`,
		Flags: []face.Flag{
			{Names: "account A", Arg: "NAMES", Many: true, Does: "only jobs of these projects"},
			{Names: "all a", Void: "every job is always listed."},
			{Names: "array r", Does: "a line for each task of an array"},
			{Names: "clusters M", Arg: "NAMES", Many: true, Does: "only jobs in these clusters"},
			{Names: "format o", Arg: "FORMAT", Does: "fields, such as \"%i %j %T\""},
			{Names: "Format O", Arg: "FIELDS", Void: "the long names of fields are not known; --format has the same fields by letter.", Refused: true},
			{Names: "noheader h", Does: "no line of titles"},
			{Names: "iterate i", Arg: "SECONDS", Does: "list again and again"},
			{Names: "jobs j", Arg: "IDS", Many: true, Does: "only these jobs, ended ones too"},
			{Names: "json", Does: "as JSON"},
			{Names: "yaml", Does: "as YAML"},
			{Names: "long l", Does: "with the time limit and whole words"},
			{Names: "licenses L", Arg: "NAMES", Void: "there are no licenses to wait for."},
			{Names: "local", Void: "there is one server for all clusters."},
			{Names: "federation", Void: "there is one server for all clusters."},
			{Names: "sibling", Void: "there is one server for all clusters."},
			{Names: "me", Does: "only one's own"},
			{Names: "name n", Arg: "NAMES", Many: true, Does: "only jobs of these names"},
			{Names: "noconvert", Void: "numbers are never rounded."},
			{Names: "nodelist w", Arg: "NODES", Many: true, Does: "only jobs on these nodes"},
			{Names: "partition p", Arg: "NAMES", Many: true, Does: "only jobs in these pools"},
			{Names: "priority P", Void: "a job in several pools has one line."},
			{Names: "qos q", Arg: "NAMES", Many: true, Does: "only jobs of these priorities"},
			{Names: "reservation R", Arg: "NAME", Void: "there are no reservations in advance."},
			{Names: "sort S", Arg: "FIELDS", Many: true, Does: "by these fields, by letter; - in front turns one around"},
			{Names: "start", Does: "when waiting jobs are expected to start"},
			{Names: "states t", Arg: "STATES", Many: true, Does: "only jobs in these states; all: ended ones too"},
			{Names: "steps s", Arg: "IDS", Bare: "all", Void: "a job's steps are not recorded: what srun starts in it is seen in its log.", Refused: true},
			{Names: "hide", Void: "every pool is visible."},
			{Names: "user u", Arg: "NAMES", Many: true, Does: "only jobs of these users"},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			{Names: "usage", Void: "--help says it."},
			versionFlag,
		},
		Run: func(c *face.Call) error {
			if done, err := asked(c); done {
				return err
			}
			every, err := c.Int("iterate", 0)
			if err != nil {
				return err
			}
			if err := squeue(c); err != nil || every < 1 {
				return err
			}
			tick := time.NewTicker(time.Duration(every) * time.Second)
			defer tick.Stop()
			for {
				select {
				case <-c.Context.Done():
					return context.Cause(c.Context)
				case <-tick.C:
					if err := squeue(c); err != nil {
						return err
					}
				}
			}
		},
	}
}

func squeue(c *face.Call) error {
	format := c.Text("format")
	switch {
	case c.Given("format"):
	case c.Bool("start"):
		format = startFormat
	case c.Bool("long"):
		format = longFormat
	default:
		format = usualFormat
	}
	fields, after, err := parse(format)
	if err != nil {
		return err
	}
	p, err := face.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	ws, err := listed(c, p)
	if err != nil {
		return err
	}
	for _, f := range []string{"json", "yaml"} {
		if c.Bool(f) {
			if ws == nil {
				ws = []api.Workload{}
			}
			return c.Body(f, api.WorkloadList{Items: ws})
		}
	}
	var rows []row
	for i := range ws {
		rows = append(rows, rowsOf(c, p, &ws[i])...)
	}
	if err := sorted(c, rows); err != nil {
		return err
	}
	if c.Bool("long") {
		if _, err := fmt.Fprintln(c.Out(), c.Now().Local().Format("Mon Jan 02 15:04:05 2006")); err != nil {
			return err
		}
	}
	if !c.Bool("noheader") {
		if err := write(c, fields, after, title); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if err := write(c, fields, after, r.value); err != nil {
			return err
		}
	}
	return nil
}

func write(c *face.Call, fields []field, after string, value func(byte) (string, bool)) error {
	text, err := line(fields, after, value)
	if err == nil {
		_, err = fmt.Fprintln(c.Out(), text)
	}
	return err
}

// listed are the jobs that flags select, in the order of their priority and
// age.
func listed(c *face.Call, p *face.Place) ([]api.Workload, error) {
	if ids := c.List("jobs"); len(ids) > 0 {
		found, err := jobs(c, ids)
		var out []api.Workload
		for _, w := range found {
			out = append(out, *w)
		}
		return out, err
	}
	wanted, ended, err := wantedStates(c.List("states"))
	if err != nil {
		return nil, err
	}
	users := c.List("user")
	if c.Bool("me") {
		if _, err := c.Connect(c.Context); err != nil {
			return nil, err
		}
		users = append(users, c.Me())
	}
	one := func(flag, value string) bool {
		list := c.List(flag)
		return len(list) == 0 || slices.Contains(list, value)
	}
	ws, err := c.Pages(c.Context, client.ListOptions{Live: !ended}, 0, func(w *api.Workload) bool {
		return (len(users) == 0 || slices.Contains(users, w.User)) && (one("name", name(w)) || one("name", w.Name)) && one("account", w.Project) &&
			one("qos", qos(w)) && one("clusters", p.Cluster(w)) &&
			(!c.Given("partition") || slices.ContainsFunc(strings.Split(partition(p, w), ","), func(s string) bool { return one("partition", s) })) &&
			(!c.Given("nodelist") || slices.ContainsFunc(face.Nodes(face.Last(w)), func(s string) bool { return one("nodelist", s) })) &&
			(len(wanted) == 0 || slices.Contains(wanted, stateOf(w).long)) &&
			(!c.Bool("start") || stateOf(w) == pending)
	})
	slices.SortStableFunc(ws, func(a, b api.Workload) int {
		return cmp.Or(cmp.Compare(group(&a), group(&b)), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Number, b.Number))
	})
	return ws, err
}

// group puts what waits first, as squeue does.
func group(w *api.Workload) int {
	if stateOf(w) == pending {
		return 0
	}
	return 1
}

func wantedStates(words []string) (long []string, ended bool, err error) {
	for _, text := range words {
		if strings.EqualFold(text, "all") {
			return nil, true, nil
		}
		i := slices.IndexFunc(knownStates(), func(s state) bool { return strings.EqualFold(s.long, text) || strings.EqualFold(s.short, text) })
		if i < 0 {
			var all []string
			for _, s := range knownStates() {
				all = append(all, s.long+" ("+s.short+")")
			}
			return nil, false, cli.Wrong(fmt.Sprintf("Invalid job state specified: %s", text), "one of "+strings.Join(all, ", ")+", all")
		}
		long, ended = append(long, knownStates()[i].long), true
	}
	return long, ended, nil
}

// row is one line: a job, or some tasks of an array.
type row struct {
	c     *face.Call
	p     *face.Place
	w     *api.Workload
	id    string
	state state
	tasks []api.Task
	since time.Duration
	count int // tasks that it stands for
}

// rowsOf are the lines of a job. Tasks of an array that run have one each, those
// that wait one together.
func rowsOf(c *face.Call, p *face.Place, w *api.Workload) []row {
	number := strconv.FormatInt(w.Number, 10)
	var all []api.Task
	if a := face.Last(w); a != nil {
		all = a.Tasks
	}
	whole := row{c: c, p: p, w: w, id: number, state: stateOf(w), tasks: all, since: used(w, c.Now()), count: face.Count(w)}
	if cli.Document(w).Array == nil {
		return []row{whole}
	}
	var out []row
	begun := map[int]bool{}
	for _, t := range all {
		r := whole
		r.id, r.tasks, r.count = fmt.Sprintf("%s_%d", number, t.Index), []api.Task{t}, 1
		begun[t.Index] = t.State != "pending"
		switch t.State {
		case "running":
			r.state, r.since = states[lifecycle.Running], c.Now().Sub(cmp.Or(face.At(t.StartedAt), c.Now()))
		case "starting":
			r.state = states[lifecycle.Starting]
		case "stopping":
			r.state = states[lifecycle.Terminating]
		default:
			continue // it waits, or is over
		}
		out = append(out, r)
	}
	var rest []int
	for i := range face.Count(w) {
		if !begun[i] {
			rest = append(rest, i)
		}
	}
	if cli.Ended(w) {
		return []row{whole}
	}
	if len(rest) > 0 && c.Bool("array") {
		for _, i := range rest {
			r := whole
			r.id, r.state, r.tasks, r.count, r.since = fmt.Sprintf("%s_%d", number, i), pending, nil, 1, 0
			out = append(out, r)
		}
	} else if len(rest) > 0 {
		r := whole
		r.id, r.state, r.tasks, r.count, r.since = number+"_["+indexes(rest)+"]", pending, nil, len(rest), 0
		out = append([]row{r}, out...)
	}
	return out
}

// indexes folds numbers: 1,3-5.
func indexes(ns []int) string {
	var names []string
	for _, n := range ns {
		names = append(names, strconv.Itoa(n))
	}
	return strings.Trim(hosts(names), "[]")
}

// titles are what fields are called.
var titles = map[byte]string{
	'A': "JOBID", 'F': "ARRAY_JOB_ID", 'i': "JOBID", 'j': "NAME", 'u': "USER", 'P': "PARTITION", 't': "ST", 'T': "STATE", 'M': "TIME", 'l': "TIME_LIMIT",
	'L': "TIME_LEFT", 'D': "NODES", 'C': "CPUS", 'b': "TRES_PER_NODE", 'm': "MIN_MEMORY", 'N': "NODELIST", 'R': "NODELIST(REASON)",
	'r': "REASON", 'S': "START_TIME", 'e': "END_TIME", 'V': "SUBMIT_TIME", 'p': "PRIORITY", 'Q': "PRIORITY", 'a': "ACCOUNT", 'q': "QOS",
	'k': "COMMENT", 'o': "COMMAND", 'Z': "WORK_DIR", 'Y': "SCHEDNODES",
}

func title(letter byte) (string, bool) { t, ok := titles[letter]; return t, ok }

// qos is the name of a job's priority.
func qos(w *api.Workload) string { return cli.Document(w).Priority.String() }

func (r *row) nodes() []string {
	return face.Nodes(&api.Attempt{Tasks: r.tasks})
}

func (r *row) value(letter byte) (string, bool) {
	w, d := r.w, cli.Document(r.w)
	switch letter {
	case 'i':
		return r.id, true
	case 'A', 'F':
		return strconv.FormatInt(w.Number, 10), true
	case 'j':
		return name(w), true
	case 'u':
		return w.User, true
	case 'a':
		return w.Project, true
	case 'P':
		return partition(r.p, w), true
	case 't':
		return r.state.short, true
	case 'T':
		return r.state.long, true
	case 'M':
		return span(r.since), true
	case 'l':
		return limit(w), true
	case 'L':
		if d.MaxDuration.Std() > 0 {
			return span(max(d.MaxDuration.Std()-r.since, 0)), true
		}
		return "UNLIMITED", true
	case 'D':
		return strconv.Itoa(r.nodeCount()), true
	case 'C':
		return strconv.FormatInt(max(d.Resources.CPU.Milli()*int64(r.count)/1000, 1), 10), true
	case 'm':
		return d.Resources.Memory.String(), true
	case 'q':
		return qos(w), true
	case 'p', 'Q':
		return strconv.Itoa(w.Priority), true
	}
	return r.more(letter)
}

// nodeCount is how many nodes a gang has; anything else is on one.
func (r *row) nodeCount() int {
	if r.w.Kind == string(lifecycle.Distributed) {
		return r.count
	}
	return 1
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
		return hosts(r.nodes()), true
	case 'R':
		if nodes := r.nodes(); len(nodes) > 0 && r.state != pending {
			return hosts(nodes), true
		}
		return "(" + reason(w) + ")", true
	case 'r':
		return reason(w), true
	case 'S':
		if at := start(w); !at.IsZero() {
			return instant(at, "N/A"), true
		}
		return "N/A", true
	case 'e':
		return instant(end(w), "N/A"), true
	case 'V':
		return instant(time.Time(w.CreatedAt), "N/A"), true
	case 'k':
		return cmp.Or(d.Annotations["comment"], "(null)"), true
	case 'o':
		return d.Command.String(), true
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
		return face.At(w.Pending.EstimatedStart)
	}
	if a := face.Last(w); a != nil {
		return face.At(a.StartedAt)
	}
	return face.At(w.StartedAt)
}

// end is when it ended, or must have.
func end(w *api.Workload) time.Time {
	a := face.Last(w)
	switch {
	case w.EndedAt != nil:
		return face.At(w.EndedAt)
	case a != nil && a.RunningAt != nil && cli.Document(w).MaxDuration > 0:
		return face.At(a.RunningAt).Add(cli.Document(w).MaxDuration.Std())
	}
	return time.Time{}
}

// sorted puts lines in the order of --sort.
func sorted(c *face.Call, rows []row) error {
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
