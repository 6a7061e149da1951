// Package accounting is what Slurm has to tell of jobs that ran, and of who may
// run them: sacct, sstat, seff and sacctmgr.
package accounting

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/table"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/spec"
)

const (
	usualAccounts = "jobid,jobname,partition,account,alloccpus,state,exitcode"
	briefAccounts = "jobid,state,exitcode"
	longAccounts  = "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode," +
		"maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem," +
		"consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,alloctres," +
		"tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutmax," +
		"tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,tresusageouttot"
)

// Sacct is sacct.
func Sacct() *compat.Command {
	return &compat.Command{
		Use: "sacct", Words: &terms.Words, Short: "Jobs that run, wait and have ended, with what they used", Loose: true,
		Long: `Lists jobs of today, or those that are named. A job's batch script is its step
.batch, and what srun starts in it are .0, .1 and so on; the first 500 of a script
are kept. Memory and CPU time are those that were sampled of all that ran then: what
ended before anybody looked has none. sacct --helpformat lists the fields.`,
		Flags: []compat.Flag{
			{Names: "accounts A", Arg: "NAMES", Many: true, Does: "only jobs of these projects"},
			{Names: "allclusters L", Void: "every cluster is always listed."},
			{Names: "allocations X", Does: "jobs, without their steps"},
			{Names: "allusers a", Does: "everybody's jobs"},
			{Names: "associations x", Arg: "IDS", Void: "there are no such ids: -A and -u select projects and users.", Refused: true},
			{Names: "batch-script B", Void: "muster get JOB -o yaml shows the script of a job.", Refused: true},
			{Names: "brief b", Does: "ids, states and exit codes"},
			{Names: "clusters M", Arg: "NAMES", Many: true, Does: "only jobs in these clusters"},
			{Names: "completion c", Void: "there is one record of jobs."},
			{Names: "constraints C", Arg: "FEATURES", Void: "what nodes a job asks for is in its document: muster get JOB -o yaml.", Refused: true},
			{Names: "delimiter", Arg: "TEXT", Does: "between fields of -p and -P, instead of |"},
			{Names: "duplicates D", Does: "former attempts of a job, too"},
			{Names: "endtime E", Arg: "TIME", Does: "only jobs that were there before"},
			{Names: "env-vars", Void: "the environment of a job is kept secret.", Refused: true},
			{Names: "federation", Void: "there is one server for all clusters."},
			{Names: "file f", Arg: "FILE", Void: "the server keeps the record of jobs.", Refused: true},
			{Names: "flags F", Arg: "FLAGS", Void: "which pass of the scheduler started a job is not recorded.", Refused: true},
			{Names: "format o fields", Arg: "FIELDS", Does: "fields, such as \"JobID%20,State,MaxRSS\""},
			{Names: "group g gid", Arg: "GROUPS", Void: "the server knows users, not groups.", Refused: true},
			{Names: "helpformat e", Does: "list the fields"},
			{Names: "jobs j", Arg: "IDS", Many: true, Does: "only these jobs and steps, of whatever day"},
			{Names: "json", Does: "as JSON"},
			{Names: "yaml", Does: "as YAML"},
			{Names: "local", Void: "there is one server for all clusters."},
			{Names: "long l", Does: "with most fields"},
			{Names: "name", Arg: "NAMES", Many: true, Does: "only jobs of these names"},
			{Names: "ncpus I", Arg: "MIN[-MAX]", Does: "only jobs of so many CPUs"},
			{Names: "nnodes i", Arg: "MIN[-MAX]", Does: "only jobs of so many nodes"},
			{Names: "noconvert", Does: "sizes in megabytes and kilobytes, however large"},
			{Names: "nodelist N", Arg: "NODES", Many: true, Does: "only jobs that ran on one of these nodes"},
			{Names: "noheader n", Does: "no lines of titles"},
			{Names: "parsable p", Does: "fields with | between them and at the end"},
			{Names: "parsable2 P", Does: "fields with | between them"},
			{Names: "partition r", Arg: "NAMES", Many: true, Does: "only jobs in these pools"},
			{Names: "qos q", Arg: "NAMES", Many: true, Does: "only jobs of these priorities"},
			{Names: "reason R", Arg: "REASONS", Many: true, Does: "only jobs that wait, or ended, for one of these reasons"},
			{Names: "starttime S", Arg: "TIME", Does: "only jobs that were there since; by default midnight"},
			{Names: "state s", Arg: "STATES", Many: true, Does: "only jobs in these states, at the time of -S and -E"},
			{Names: "timelimit-max K", Arg: "TIME", Does: "only jobs with a limit of at most this"},
			{Names: "timelimit-min k", Arg: "TIME", Does: "only jobs with a limit of at least this, or of this"},
			{Names: "truncate T", Does: "begin and end no times outside of -S and -E"},
			{Names: "units", Arg: "K|M|G|T|P", Does: "sizes in this unit"},
			{Names: "usage", Void: "--help says it."},
			{Names: "use-local-uid", Void: "ids of users are always those of this machine."},
			{Names: "user u uid", Arg: "NAMES", Many: true, Does: "only jobs of these users"},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			{Names: "wckeys W", Arg: "KEYS", Void: "there are no such keys.", Refused: true},
			{Names: "whole-hetjob", Arg: "YES", Bare: "yes", Void: "a job has one group of nodes."},
			terms.Version,
		},
		Run: sacct,
	}
}

func sacct(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	if c.Bool("helpformat") {
		return table.Help(c, accountFields)
	}
	columns, err := table.Choose(accountFields, accountFormat(c), "sacct --helpformat lists the fields")
	if err != nil {
		return err
	}
	if err := checkUnits(c); err != nil {
		return err
	}
	w, err := windowOf(c)
	if err != nil {
		return err
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	entries, err := accounted(c, p, w)
	if err != nil {
		return err
	}
	if c.Bool("json") || c.Bool("yaml") {
		_, err := terms.Structured(c, accountsJSON(c, entries))
		return err
	}
	return table.Print(c, columns, entries)
}

func accountFormat(c *compat.Call) string {
	switch {
	case c.Given("format"):
		return c.Text("format")
	case c.Bool("brief"):
		return briefAccounts
	case c.Bool("long"):
		return longAccounts
	}
	return cmp.Or(c.Env("SACCT_FORMAT"), usualAccounts)
}

// window is what -S, -E and -s say.
type window struct {
	from, to time.Time
	states   []string
}

// windowOf has the documented defaults, which depend on -j and -s
// (slurm.schedmd.com/sacct.html, default time window).
func windowOf(c *compat.Call) (window, error) {
	now := c.Now()
	var w window
	for _, word := range c.List("state") {
		if strings.EqualFold(word, "all") {
			continue
		}
		i := slices.IndexFunc(terms.RecordedStates, func(s terms.State) bool { return strings.EqualFold(s.Long, word) || strings.EqualFold(s.Short, word) })
		if i < 0 {
			var all []string
			for _, s := range terms.RecordedStates {
				all = append(all, s.Long+" ("+s.Short+")")
			}
			return w, cli.Wrong(fmt.Sprintf("unrecognized job state value '%s'", word), "one of "+strings.Join(all, ", "))
		}
		w.states = append(w.states, terms.RecordedStates[i].Long)
	}
	byID, byState := len(c.List("jobs")) > 0, len(w.states) > 0
	switch {
	case byID:
	case byState:
		w.from = now
	default:
		w.from = table.Midnight(now)
	}
	w.to = now
	var ok bool
	if c.Given("starttime") {
		if w.from, ok = table.PastInstant(c.Text("starttime"), now); !ok {
			return w, noInstant("starttime", c.Text("starttime"))
		}
		if byState {
			w.to = w.from
		}
	}
	if c.Given("endtime") {
		if w.to, ok = table.PastInstant(c.Text("endtime"), now); !ok {
			return w, noInstant("endtime", c.Text("endtime"))
		}
	}
	if w.to.Before(w.from) {
		return w, cli.Wrong(fmt.Sprintf("Start time (%s) requested is after end time (%s)", terms.Instant(w.from, ""), terms.Instant(w.to, "")), "leave --endtime out for now")
	}
	return w, nil
}

func noInstant(flag, text string) error {
	return cli.Wrong(fmt.Sprintf("--%s: Invalid time specification: %s", flag, text), "like 2026-11-21, 2026-11-21T09:30:00, 09:30, 11/21, today or now-2days")
}

// holds reports whether a job was there in that time, in a state that is asked
// for.
func (w window) holds(e *entry, now time.Time) bool {
	overlaps := func(from, to time.Time) bool {
		return !from.IsZero() && !from.After(w.to) && (to.IsZero() || !to.Before(w.from))
	}
	if len(w.states) == 0 {
		return overlaps(e.submit, e.end)
	}
	return slices.ContainsFunc(w.states, func(s string) bool {
		switch s {
		case "PENDING":
			until := e.start
			if until.IsZero() {
				until = e.end
			}
			return overlaps(e.submit, until) && (until.IsZero() || until.Sub(e.submit) >= time.Second)
		case "RUNNING":
			return overlaps(e.start, e.end)
		}
		return e.state == s && overlaps(e.end, e.end)
	})
}

// accounted are the lines that flags select.
func accounted(c *compat.Call, p *compat.Place, w window) ([]*entry, error) {
	keep, err := accountFilter(c, p)
	if err != nil {
		return nil, err
	}
	var out []*entry
	add := func(all []*entry) {
		for _, e := range all {
			if w.holds(e, c.Now()) && (e.Step == "" || !c.Bool("allocations")) && keep.entry(e) {
				if c.Bool("truncate") {
					e.truncate(w)
				}
				out = append(out, e)
			}
		}
	}
	if ids := c.List("jobs"); len(ids) > 0 {
		for _, id := range ids {
			which, err := parseID(id)
			if err != nil {
				return nil, err
			}
			ws, tasks, err := which.find(c)
			if err != nil {
				return nil, err
			}
			for _, w := range ws {
				if !keep.job(w) {
					continue
				}
				add(slices.DeleteFunc(entriesOf(c, p, w, tasks), func(e *entry) bool { return which.step != "" && e.Step != which.step }))
			}
		}
		return once(out), nil
	}
	ws, err := c.Pages(c.Context, client.ListOptions{Before: w.to, Deleted: true}, 0, func(x *api.Workload) bool {
		return (x.EndedAt == nil || !compat.At(x.EndedAt).Before(w.from)) && keep.job(x)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(ws, func(a, b api.Workload) int { return cmp.Compare(a.Number, b.Number) })
	for i := range ws {
		add(entriesOf(c, p, &ws[i], nil))
	}
	return out, nil
}

// once leaves out lines that several ids name.
func once(entries []*entry) []*entry {
	seen := map[string]bool{}
	return slices.DeleteFunc(entries, func(e *entry) bool {
		key := fmt.Sprintf("%s/%d", e.id(), e.attempt)
		had := seen[key]
		seen[key] = true
		return had
	})
}

// jobID is what -j names: a job, tasks of an array, or a step of one of them.
type jobID struct {
	number, tasks, step string
}

func parseID(text string) (jobID, error) {
	var id jobID
	var rest string
	rest, id.step, _ = strings.Cut(text, ".")
	id.number, id.tasks, _ = strings.Cut(rest, "_")
	if n, err := strconv.ParseInt(id.number, 10, 64); err != nil || n < 1 {
		return id, cli.Wrong("Bad job/step specified: "+text, "ids are like 12, 12_3 or 12.batch; sacct -X lists those of today")
	}
	return id, nil
}

// find is the workload with which of its tasks are meant, or the workloads of an
// array's jobs; none where there is none, of which sacct says nothing.
func (id jobID) find(c *compat.Call) ([]*api.Workload, []int, error) {
	ws, err := terms.FindEach(c, id.number, id.tasks)
	if err != nil && cli.CodeOf(err) != cli.CodeOf(cli.Missing("", "")) {
		return nil, nil, err
	}
	if err != nil {
		if array, index, is := terms.ArrayOf(c, id.number, false); is && id.tasks == "" {
			return []*api.Workload{array}, []int{index}, nil
		}
		return nil, nil, nil
	}
	w := ws[0]
	if _, _, _, member := terms.Member(w); member || id.tasks == "" {
		return ws, nil, nil
	}
	given, err := spec.ParseIndexes(strings.TrimSuffix(strings.TrimPrefix(id.tasks, "["), "]"))
	if err != nil {
		return nil, nil, cli.Wrong("Bad job/step specified: "+id.number+"_"+id.tasks, "an array's tasks are named like 12_3 or 12_[1,4-6]")
	}
	numbers, tasks := terms.Numbers(w), []int{}
	for _, n := range given {
		if at := slices.Index(numbers, n); numbers != nil && at >= 0 {
			tasks = append(tasks, at)
		} else if numbers == nil && cli.Document(w).Array != nil {
			tasks = append(tasks, n)
		}
	}
	return ws, tasks, nil
}

// filter is which jobs are wanted.
type filter struct {
	job   func(*api.Workload) bool
	entry func(*entry) bool
}

func accountFilter(c *compat.Call, p *compat.Place) (filter, error) {
	users, err := accountUsers(c)
	if err != nil {
		return filter{}, err
	}
	nodes, err := between(c, "nnodes")
	if err != nil {
		return filter{}, err
	}
	cpus, err := between(c, "ncpus")
	if err != nil {
		return filter{}, err
	}
	limits, err := limitFilter(c)
	if err != nil {
		return filter{}, err
	}
	var hosts []string
	for _, text := range c.All("nodelist") {
		names, err := terms.Unfold(text)
		if err != nil {
			return filter{}, err
		}
		hosts = append(hosts, names...)
	}
	in := func(flag string, values ...string) bool {
		list := c.List(flag)
		return len(list) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	return filter{
		job: func(w *api.Workload) bool {
			return (len(users) == 0 || slices.Contains(users, w.User)) && in("accounts", w.Project) && in("name", terms.Name(w), w.Name) && in("qos", terms.QOS(w)) &&
				(len(c.List("clusters")) == 0 || in("clusters", "all", p.Cluster(w))) && in("partition", strings.Split(terms.Partition(p, w), ",")...) && in("reason", terms.Reason(w)) && limits(w)
		},
		entry: func(e *entry) bool {
			return nodes(e.NodeCount()) && cpus(e.CPUs()) && (len(hosts) == 0 || slices.ContainsFunc(e.nodes(), func(n string) bool { return slices.Contains(hosts, n) }))
		},
	}, nil
}

// accountUsers are those whose jobs are listed; none: everybody. Who names jobs
// means them, whosever they are.
func accountUsers(c *compat.Call) ([]string, error) {
	var users []string
	for _, text := range c.List("user") {
		if _, err := strconv.Atoi(text); err == nil {
			if u, err := user.LookupId(text); err == nil {
				text = u.Username
			}
		}
		users = append(users, text)
	}
	if len(users) > 0 || c.Bool("allusers") || len(c.List("jobs")) > 0 || os.Geteuid() == 0 {
		return users, nil
	}
	me, err := c.Own(c.Context)
	return []string{me}, err
}

// between reads MIN[-MAX].
func between(c *compat.Call, flag string) (func(int64) bool, error) {
	if !c.Given(flag) {
		return func(int64) bool { return true }, nil
	}
	first, last, ranged := strings.Cut(c.Text(flag), "-")
	least, err := strconv.ParseInt(first, 10, 64)
	most := least
	if err == nil && ranged {
		most, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil {
		return nil, cli.Wrong(fmt.Sprintf("--%s: %q is no number and no range", flag, c.Text(flag)), "like 4 or 2-8")
	}
	return func(n int64) bool { return n >= least && n <= most }, nil
}

func limitFilter(c *compat.Call) (func(*api.Workload) bool, error) {
	var bounds [2]time.Duration
	for i, flag := range []string{"timelimit-min", "timelimit-max"} {
		if !c.Given(flag) {
			continue
		}
		d, ok := slurm.TimeLimit(c.Text(flag))
		if !ok {
			return nil, cli.Wrong(fmt.Sprintf("--%s: %q is not a time limit", flag, c.Text(flag)), "like 30, 2:00:00 or 1-12")
		}
		bounds[i] = d.Std()
	}
	return func(w *api.Workload) bool {
		d := cli.Document(w).MaxDuration.Std()
		switch {
		case bounds[0] == 0: // -K alone is ignored, as documented
			return true
		case bounds[1] == 0:
			return d == bounds[0]
		}
		return d >= bounds[0] && d <= bounds[1]
	}, nil
}
