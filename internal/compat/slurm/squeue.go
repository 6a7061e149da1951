package slurm

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

const (
	usualFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
	longFormat  = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
	startFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
)

// Squeue is squeue.
func Squeue() *compat.Command {
	return &compat.Command{
		Use: "squeue", Words: &terms.Words, Short: "Jobs that wait and run", Loose: true,
		Long: `Lists jobs. Fields of --format: %A %F %i id, %j name, %u user, %P partition, %t %T
state, %M time used, %l limit, %L time left, %D nodes, %C CPUs, %b GPUs, %m memory,
%N nodes by name, %R nodes or why it waits, %r why, %S start, %e end, %V submitted,
%p %Q priority, %a account (the project), %q QOS, %k comment, %o command, %Z directory, %Y.
` + listing("squeue"),
		Flags: []compat.Flag{
			{Names: "account A", Arg: "NAMES", Many: true, Does: "only jobs of these projects"},
			{Names: "all a", Void: "every job is always listed."},
			{Names: "array r", Does: "a line for each task of an array"},
			{Names: "clusters M", Arg: "NAMES", Many: true, Does: "only jobs in these clusters"},
			{Names: "format o", Arg: "FORMAT", Does: "fields, such as \"%i %j %T\""},
			{Names: "Format O", Arg: "FIELDS", Does: "fields by their long names, such as \"JobID:10,Name,tres-per-node\""},
			{Names: "noheader h", Does: "no line of titles"},
			{Names: "iterate i", Arg: "SECONDS", Does: "list again and again"},
			{Names: "jobs j", Arg: "IDS", Many: true, Does: "only these jobs; with --states all ended ones too"},
			{Names: "json", Does: "as JSON"},
			{Names: "yaml", Does: "as YAML"},
			{Names: "long l", Does: "with the time limit and whole words"},
			{Names: "licenses L", Arg: "NAMES", Many: true, Does: "only jobs that ask for these licenses"},
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
			{Names: "reservation R", Arg: "NAME", Many: true, Does: "only jobs of these reservations"},
			{Names: "sort S", Arg: "FIELDS", Many: true, Does: "by these fields, by letter; - in front turns one around"},
			{Names: "start", Does: "when waiting jobs are expected to start"},
			{Names: "states t", Arg: "STATES", Many: true, Does: "only jobs in these states; all: ended ones too"},
			{Names: "steps s", Arg: "IDS", Bare: everyStep, Does: "steps that run: all, or those of these jobs, such as 12 or 12.0"},
			{Names: "hide", Void: "every pool is visible."},
			{Names: "user u", Arg: "NAMES", Many: true, Does: "only jobs of these users"},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			{Names: "usage", Void: "--help says it."},
			terms.Version,
		},
		Run: func(c *compat.Call) error {
			if done, err := terms.Asked(c); done {
				return err
			}
			return iterate(c, squeue)
		},
	}
}

func squeue(c *compat.Call) error {
	format := c.Text("format")
	switch {
	case c.Given("format"):
	case c.Given("steps"):
		format = stepFormat
	case c.Bool("start"):
		format = startFormat
	case c.Bool("long"):
		format = longFormat
	default:
		format = usualFormat
	}
	fields, after, err := fieldsOf(c, "squeue", format)
	if err != nil {
		return err
	}
	if c.Given("steps") {
		return squeueSteps(c, fields, after)
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	tasks := map[string][]int{} // by workload, of which not all are asked for
	ws, err := listed(c, p, tasks)
	if err != nil {
		return err
	}
	var rows []row
	for i := range ws {
		rows = append(rows, rowsOf(c, p, &ws[i], tasks[ws[i].ID])...)
	}
	if wanted, _, err := wantedStates(c.List("states")); err == nil && len(wanted) > 0 {
		rows = slices.DeleteFunc(rows, func(r row) bool { return !slices.Contains(wanted, r.state.Long) })
	}
	if err := sorted(c, rows); err != nil {
		return err
	}
	if c.Bool("json") || c.Bool("yaml") {
		_, err := terms.Structured(c, jobsJSON(c, rows))
		return err
	}
	if c.Bool("long") {
		if _, err := fmt.Fprintln(c.Out(), c.Now().Local().Format("Mon Jan 02 15:04:05 2006")); err != nil {
			return err
		}
	}
	if !c.Bool("noheader") {
		if err := write(c.Out(), fields, after, title); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(c.Out()) // a line at a time is slow where there are thousands
	for _, r := range rows {
		if err := write(out, fields, after, r.value); err != nil {
			return err
		}
	}
	return out.Flush()
}

// listed are the jobs that flags select, in the order of their priority and
// age.
func listed(c *compat.Call, p *compat.Place, tasks map[string][]int) ([]api.Workload, error) {
	keep, ended, err := selected(c, p, "name", "states")
	if err != nil {
		return nil, err
	}
	if ids := c.List("jobs"); len(ids) > 0 {
		return named(c, ids, keep, tasks)
	}
	ws, err := c.Pages(c.Context, client.ListOptions{Live: !ended, Table: !c.Bool("json") && !c.Bool("yaml") && len(c.List("licenses"))+len(c.List("reservation")) == 0}, 0, func(w *api.Workload) bool {
		return keep(w) && asksFor(w, c.List("licenses")) && reservedIn(w, c.List("reservation")) && (!c.Bool("start") || terms.StateOf(w) == terms.Pending)
	})
	slices.SortStableFunc(ws, func(a, b api.Workload) int {
		return cmp.Or(cmp.Compare(group(&a), group(&b)), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Number, b.Number))
	})
	return ws, err
}

// named are the jobs of these ids that have not ended, or are in a state that
// is asked for. That a job is gone is how scripts see that it is done: of one
// that there never was, and of one alone that ended a while ago, Slurm says the
// same (slurm.schedmd.com/slurm.conf.html, MinJobAge).
// With them come the tasks of arrays that are meant where not all are.
func named(c *compat.Call, ids []string, keep func(*api.Workload) bool, tasks map[string][]int) ([]api.Workload, error) {
	wholes := map[string]bool{}
	defer func() {
		maps.DeleteFunc(tasks, func(id string, _ []int) bool { return wholes[id] })
	}()
	var out []api.Workload
	known := false
	for _, id := range ids {
		number, part, some := strings.Cut(id, "_")
		ws, err := terms.FindEach(c, number, part)
		if array, index, is := terms.TaskOf(c, id); err != nil && is {
			ws, part, some, err = []*api.Workload{array}, strconv.Itoa(terms.NumberIn(terms.Numbers(array), index)), true, nil
		}
		if cli.CodeOf(err) == cli.CodeOf(cli.Missing("", "")) && err != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, w := range ws {
			young := w.EndedAt == nil || c.Now().Sub(compat.At(w.EndedAt)) < minJobAge
			known = known || young
			if wanted := len(c.List("states")) > 0; !keep(w) || cli.Ended(w) && !wanted {
				continue
			}
			known = true
			given, err := []int(nil), error(nil)
			if some {
				if given, err = terms.Tasks(w, id, part); err != nil {
					return nil, err
				}
			}
			if given != nil {
				tasks[w.ID] = append(tasks[w.ID], given...)
			} else {
				wholes[w.ID] = true
			}
			if !slices.ContainsFunc(out, func(o api.Workload) bool { return o.ID == w.ID }) {
				out = append(out, *w)
			}
		}
	}
	if !known {
		return nil, cli.Missing("slurm_load_jobs error: Invalid job id specified", "squeue -t all lists jobs that have ended too")
	}
	return out, nil
}

// minJobAge is for how long a job that has ended is still known to Slurm where
// nobody has set MinJobAge.
const minJobAge = 300 * time.Second

// group puts what waits first, as squeue does.
func group(w *api.Workload) int {
	if terms.StateOf(w) == terms.Pending {
		return 0
	}
	return 1
}
