package sky

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// The exit codes of sky for how a job stands (docs.skypilot.co, sky logs).
const (
	failed      = 100
	notFinished = 101
	notFound    = 102
	cancelled   = 103
)

// job is a job of a cluster.
type job struct {
	api.Workload
	id int
}

func (j job) word() string { return word(lifecycle.Phase(j.Phase)) }

// clusterJobs are the jobs of clusters by their names, oldest first; of one cluster where
// it is named. Those of others are left out unless all is said.
func clusterJobs(c *compat.Call, name string, all bool) (map[string][]job, error) {
	me := ""
	if !all {
		me = c.Me()
	}
	o := client.ListOptions{}
	if name != "" {
		o.Labels = map[string]string{clusterLabel: name}
	}
	ws, err := c.Pages(c.Context, o, 0, func(w *api.Workload) bool { return me == "" || w.User == me })
	out := map[string][]job{}
	for _, w := range slices.Backward(ws) {
		labels := cli.Document(&w).Labels
		if lifecycle.Phase(w.Phase) == lifecycle.Deleting { // sky down has forgotten it
			continue
		}
		if cluster := labels[clusterLabel]; cluster != "" {
			id, _ := strconv.Atoi(labels[jobLabel])
			out[cluster] = append(out[cluster], job{w, id})
		}
	}
	return out, err
}

// live are the jobs that have not ended.
func live(jobs []job) []job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return cli.Ended(&j.Workload) })
}

// launch is sky launch.
func launch(c *compat.Call) error {
	docs, err := tasks(c, words(c), true)
	if err != nil {
		return err
	}
	if len(docs) != 1 {
		return cli.Wrong(fmt.Sprintf("the file holds %d tasks", len(docs)), "sky jobs launch runs a pipeline")
	}
	name := c.Text("cluster")
	if name == "" {
		name = "sky-" + strconv.FormatInt(c.Now().UnixMilli()%0xffff, 16)
		if u, err := user.Current(); err == nil {
			name += "-" + u.Username
		}
	}
	if !clusterName(name) {
		return cli.Wrong(fmt.Sprintf("Cluster name %q is invalid", name), "it begins with a letter and has letters, digits, '-', '_' and '.', at most 63")
	}
	all, err := clusterJobs(c, name, true)
	if err != nil {
		return err
	}
	return submit(c, docs[0], name, all[name])
}

// clusterName reports whether a cluster may be called so.
func clusterName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)) {
			return false
		}
	}
	return len(name) <= 63 && !strings.HasSuffix(name, "-") && !strings.HasSuffix(name, "_") && !strings.HasSuffix(name, ".")
}

// words are what a command line runs, with what stands behind --.
func words(c *compat.Call) []string { return append(slices.Clone(c.Args), c.After...) }

// execute is sky exec.
func execute(c *compat.Call) error {
	rest := words(c)
	name := c.Text("cluster")
	if name == "" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if name == "" || len(rest) == 0 {
		return cli.Wrong("sky exec needs a cluster and what is to run", "sky exec CLUSTER FILE, or sky exec CLUSTER COMMAND")
	}
	all, err := clusterJobs(c, name, true)
	if err != nil {
		return err
	}
	jobs := all[name]
	if len(jobs) == 0 {
		return missing(name)
	}
	first := cli.Document(&jobs[0].Workload)
	docs, err := tasks(c, rest, first.Image != "") // what setup has left in a container went with it
	if err != nil {
		return err
	}
	if len(docs) != 1 {
		return cli.Wrong(fmt.Sprintf("the file holds %d tasks", len(docs)), "sky jobs launch runs a pipeline")
	}
	inherit(docs[0], first)
	return submit(c, docs[0], name, jobs)
}

// inherit gives a job what its cluster was launched with, where it does not say itself.
func inherit(doc, from *spec.Document) {
	if doc.Resources.Equal(spec.Resources{}) {
		doc.Resources = from.Resources
		doc.Env["SKYPILOT_NUM_GPUS_PER_NODE"] = from.Env["SKYPILOT_NUM_GPUS_PER_NODE"]
	}
	if doc.Image == "" {
		doc.Image, doc.Volumes = from.Image, append(doc.Volumes, from.Volumes...)
	}
	if len(doc.Init) == 0 && doc.Image != "" {
		doc.Init = from.Init
	}
	if doc.Workdir == "" {
		doc.Workdir = from.Workdir
	}
}

func missing(name string) error {
	return cli.Missing(fmt.Sprintf("Cluster %q does not exist", name), "sky status lists clusters; sky launch -c "+name+" makes it")
}

// submit submits a job of a cluster, and follows it unless it is not to be.
func submit(c *compat.Call, doc *spec.Document, cluster string, jobs []job) error {
	id := 1
	for _, j := range jobs {
		id = max(id, j.id+1)
	}
	labelled(doc, cluster, id, cmp.Or(c.Text("name"), cluster))
	w, err := c.Submit(c.Context, doc, c.Bool("dryrun"))
	if err != nil {
		return err
	}
	if c.Bool("dryrun") {
		c.Say("Dryrun finished: %s would be accepted.", w.Name)
		return nil
	}
	if lifecycle.Kind(w.Kind).Interactive() { // a task without a command
		_, err := fmt.Fprintf(c.Out(), "✓ Cluster launched: %s.\n", cluster)
		c.Say("muster exec -it %s -- bash opens a shell in it.", w.Name)
		return err
	}
	if _, err := fmt.Fprintf(c.Out(), "✓ Job submitted, ID: %d\n", id); err != nil {
		return err
	}
	if c.Bool("detach-run") {
		hints(c, cluster, id)
		return nil
	}
	err = followed(c, w, "Job finished (status: %s).")
	hints(c, cluster, id)
	return err
}

func hints(c *compat.Call, cluster string, id int) {
	c.Say("\n📋 Useful Commands\nJob ID: %d\n├── To cancel the job:\t\tsky cancel %s %d\n├── To stream job logs:\t\tsky logs %s %d\n└── To view job queue:\t\tsky queue %s", id, cluster, id, cluster, id, cluster)
	c.Say("\nCluster name: %s\n├── To submit a job:\t\tsky exec %s yaml_file\n├── To stop the cluster:\tsky stop %s\n└── To teardown the cluster:\tsky down %s", cluster, cluster, cluster, cluster)
}

// followed shows what a job writes until it has ended, and ends as sky does.
func followed(c *compat.Call, w *api.Workload, text string) error {
	if err := c.Muster(c.Context, "logs", "--follow", w.ID, "--project", w.Project); err != nil && c.Context.Err() != nil {
		return err
	}
	w, err := c.Until(c.Context, w, cli.Ended)
	if err != nil {
		return err
	}
	state := word(lifecycle.Phase(w.Phase))
	mark := map[bool]string{true: "✓", false: "⨯"}[state == "SUCCEEDED"]
	if _, err := fmt.Fprintln(c.Out(), mark+" "+fmt.Sprintf(text, state)); err != nil {
		return err
	}
	return ended(w)
}

// ended is the exit code of a job.
func ended(w *api.Workload) error {
	switch word(lifecycle.Phase(w.Phase)) {
	case "SUCCEEDED":
		return nil
	case "CANCELLED":
		return cli.Exit(cancelled)
	case "FAILED":
		return cli.Exit(failed)
	}
	return cli.Exit(notFinished)
}

// chosenJob is the job that words name: the latest of a cluster, or that of an id.
func chosenJob(c *compat.Call) (job, error) {
	name, err := c.Need("a cluster")
	if err != nil {
		return job{}, err
	}
	all, err := clusterJobs(c, name, true)
	if err != nil {
		return job{}, err
	}
	jobs := all[name]
	if len(jobs) == 0 {
		return job{}, missing(name)
	}
	if len(c.Args) < 2 {
		return jobs[len(jobs)-1], nil
	}
	for _, j := range jobs {
		if strconv.Itoa(j.id) == c.Args[1] {
			return j, nil
		}
	}
	c.Say("Job %s not found on cluster %q: sky queue %s lists its jobs", c.Args[1], name, name)
	return job{}, cli.Exit(notFound)
}

// logs is sky logs.
func logs(c *compat.Call) error {
	j, err := chosenJob(c)
	if err != nil {
		return err
	}
	if c.Bool("status") {
		if _, err := fmt.Fprintf(c.Out(), "Job %d: %s\n", j.id, j.word()); err != nil {
			return err
		}
		return ended(&j.Workload)
	}
	return shown(c, &j.Workload, "Job finished (status: %s).")
}

// shown are the logs of a workload, as flags say.
func shown(c *compat.Call, w *api.Workload, text string) error {
	n, err := c.Int("tail", 0)
	if err != nil {
		return err
	}
	if c.Bool("no-follow") || n > 0 || cli.Ended(w) {
		args := []string{"logs", w.ID, "--project", w.Project}
		if n > 0 {
			args = append(args, "--tail", strconv.Itoa(n))
		}
		if compat.Count(w) > 1 {
			args = append(args, "--all-tasks")
		}
		if !c.Bool("no-follow") && !cli.Ended(w) {
			args = append(args, "--follow")
		}
		if err := c.Muster(c.Context, args...); err != nil {
			return err
		}
		if w, err = c.Until(c.Context, w, func(*api.Workload) bool { return true }); err != nil {
			return err
		}
		if c.Bool("no-follow") && !cli.Ended(w) {
			return cli.Exit(notFinished)
		}
		return ended(w)
	}
	return followed(c, w, text)
}

// queue is sky queue.
func queue(c *compat.Call) error {
	all, err := clusterJobs(c, "", c.Bool("all-users"))
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(all))
	if len(c.Args) > 0 {
		names = names[:0]
		for _, name := range c.Args {
			if len(all[name]) == 0 {
				return missing(name)
			}
			names = append(names, name)
		}
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintf(c.Out(), "\nJob queue of cluster %s\n", name); err != nil {
			return err
		}
		var rows [][]string
		for _, j := range slices.Backward(all[name]) {
			if c.Bool("skip-finished") && cli.Ended(&j.Workload) {
				continue
			}
			w := &j.Workload
			rows = append(rows, []string{strconv.Itoa(j.id), w.Name, w.User, ago(c, time.Time(w.CreatedAt)), ago(c, compat.At(compat.Begun(w))), took(c, w), asked(p, w), j.word(), "muster logs " + w.Name})
		}
		if err := c.Table([]string{"ID", "NAME", "USER", "SUBMITTED", "STARTED", "DURATION", "RESOURCES", "STATUS", "LOG"}, rows); err != nil {
			return err
		}
	}
	return nil
}

func ago(c *compat.Call, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return cli.Age(c.Now().Sub(at)) + " ago"
}

// took is how long a job has run.
func took(c *compat.Call, w *api.Workload) string {
	begun, over := compat.At(compat.Begun(w)), compat.At(w.EndedAt)
	if begun.IsZero() {
		return "-"
	}
	if over.IsZero() {
		over = c.Now()
	}
	return cli.Age(over.Sub(begun))
}

// asked is what a job asks for, as sky has it: 2x [A100:8].
func asked(p *compat.Place, w *api.Workload) string {
	r := cli.Document(w).Resources
	text := "CPU:" + cmp.Or(r.CPU.String(), "1")
	if n := r.GPU.Devices(); n > 0 {
		text = cmp.Or(strings.ToUpper(r.GPU.Type), p.Product(w), "GPU") + ":" + strconv.Itoa(n)
	}
	return fmt.Sprintf("%dx [%s]", compat.Count(w), text)
}

// status is sky status.
func status(c *compat.Call) error {
	all, err := clusterJobs(c, "", c.Bool("all-users"))
	if err != nil {
		return err
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(all))
	if len(c.Args) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !compat.Matches(c.Args, name) })
		if len(names) == 0 {
			return missing(c.Args[0])
		}
	}
	if c.Bool("ip") || c.Bool("endpoints") || c.Given("endpoint") {
		return addresses(c, names, all)
	}
	if _, err := fmt.Fprintln(c.Out(), "Clusters"); err != nil {
		return err
	}
	var rows [][]string
	for _, name := range names {
		jobs := all[name]
		last := &jobs[len(jobs)-1].Workload
		rows = append(rows, []string{name, cmp.Or(p.Cluster(last), "Muster"), asked(p, &jobs[0].Workload), clusterState(jobs), "-", ago(c, time.Time(jobs[0].CreatedAt))})
	}
	if len(rows) == 0 {
		_, err = fmt.Fprintln(c.Out(), "No existing clusters.")
	} else {
		err = c.Table([]string{"NAME", "INFRA", "RESOURCES", "STATUS", "AUTOSTOP", "LAUNCHED"}, rows)
	}
	if err != nil || c.Bool("no-show-managed-jobs") || len(c.Args) > 0 {
		return err
	}
	ms, err := managed(c, c.Bool("all-users"))
	if err != nil {
		return err
	}
	running := 0
	for i := range ms {
		if !cli.Ended(&ms[i]) {
			running++
		}
	}
	_, err = fmt.Fprintf(c.Out(), "\nManaged jobs\n%s\n", map[bool]string{true: "No in-progress managed jobs.", false: fmt.Sprintf("%d in progress: sky jobs queue", running)}[running == 0])
	return err
}

// clusterState is UP of a cluster that takes jobs, STOPPED of one whose last job was
// ended, and INIT where its first waits.
func clusterState(jobs []job) string {
	last := jobs[len(jobs)-1]
	switch {
	case len(jobs) == 1 && last.word() == "PENDING":
		return "INIT"
	case len(live(jobs)) == 0 && last.word() == "CANCELLED":
		return "STOPPED"
	}
	return "UP"
}

// addresses are where the first node of a cluster is, and its ports.
func addresses(c *compat.Call, names []string, all map[string][]job) error {
	if len(names) != 1 {
		return cli.Wrong("one cluster is needed", "sky status --ip CLUSTER")
	}
	jobs := live(all[names[0]])
	if len(jobs) == 0 {
		return cli.Conflict(fmt.Sprintf("Cluster %q runs no job, and has no address", names[0]), "sky exec submits one")
	}
	w := &jobs[len(jobs)-1].Workload
	host := "127.0.0.1"
	if nodes := compat.Nodes(compat.Last(w)); len(nodes) > 0 {
		host = nodes[0]
	}
	if c.Bool("ip") {
		_, err := fmt.Fprintln(c.Out(), host)
		return err
	}
	for _, port := range cli.Document(w).Ports {
		number := strconv.Itoa(port.Port)
		switch {
		case c.Given("endpoint") && c.Text("endpoint") == number:
			_, err := fmt.Fprintln(c.Out(), host+":"+number)
			return err
		case !c.Given("endpoint"):
			if _, err := fmt.Fprintf(c.Out(), "%s: %s:%s\n", number, host, number); err != nil {
				return err
			}
		}
	}
	if c.Given("endpoint") {
		return cli.Missing(fmt.Sprintf("Port %s is not exposed on cluster %q", c.Text("endpoint"), names[0]), "write resources.ports")
	}
	return nil
}

// overFlags are of commands that end clusters.
var overFlags = []compat.Flag{yes, {Names: "all a", Does: "all of one's own"}, {Names: "all-users u", Does: "those of everybody"}, {Names: "async", Does: "do not wait"}}

// clusters are those that words or --all mean.
func clusters(c *compat.Call) (map[string][]job, error) {
	if len(c.Args) == 0 && !c.Bool("all") && !c.Bool("all-users") {
		return nil, cli.Wrong(c.Path+" needs a cluster", c.Path+" CLUSTER, or "+c.Path+" --all")
	}
	all, err := clusterJobs(c, "", len(c.Args) > 0 || c.Bool("all-users"))
	if err != nil || len(c.Args) == 0 {
		return all, err
	}
	out := map[string][]job{}
	for _, pattern := range c.Args {
		found := false
		for name, jobs := range all {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				out[name], found = jobs, true
			}
		}
		if !found {
			return nil, missing(pattern)
		}
	}
	return out, nil
}

// sure asks whether something is meant.
func sure(c *compat.Call, what string, jobs []job) (bool, error) {
	if c.Bool("yes") || len(jobs) == 0 {
		return true, nil
	}
	ws := make([]api.Workload, len(jobs))
	for i, j := range jobs {
		ws[i] = j.Workload
	}
	return c.Confirm(what, "--yes", ws)
}

// stop is sky stop: what runs is ended, and the cluster stays listed.
func stop(c *compat.Call) error {
	return closing(c, "stopped", func(j job) bool { return !cli.Ended(&j.Workload) }, end)
}

// down is sky down.
func down(c *compat.Call) error {
	return closing(c, "terminated", func(job) bool { return true }, remove)
}

func closing(c *compat.Call, done string, which func(job) bool, do func(*compat.Call, []job) error) error {
	all, err := clusters(c)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(c.Out(), "No existing clusters.")
		return err
	}
	var chosen []job
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, j := range all[name] {
			if which(j) {
				chosen = append(chosen, j)
			}
		}
	}
	if ok, err := sure(c, strings.TrimPrefix(c.Path, "sky "), chosen); !ok {
		return err
	}
	if err := do(c, chosen); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, err := fmt.Fprintf(c.Out(), "Cluster %s %s.\n", name, done); err != nil {
			return err
		}
	}
	return nil
}

// end ends jobs, and waits until they have unless it is not to.
func end(c *compat.Call, jobs []job) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	var bad []error
	for i := range jobs {
		w := &jobs[i].Workload
		if cli.Ended(w) {
			continue
		}
		if _, err := conn.Stop(c.Context, w.Project, w.ID, api.StopOptions{}); err != nil {
			if p := (*api.Problem)(nil); errors.As(err, &p) && p.Code == "illegal_phase" { // it has ended meanwhile
				continue
			}
			bad = append(bad, fmt.Errorf("%s: %w", w.Name, err))
			continue
		}
		if !c.Bool("async") {
			if _, err := c.Until(c.Context, w, cli.Ended); err != nil {
				bad = append(bad, err)
			}
		}
	}
	return errors.Join(bad...)
}

// remove ends jobs and deletes them.
func remove(c *compat.Call, jobs []job) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	var bad []error
	for i := range jobs {
		if _, err := conn.Delete(c.Context, jobs[i].Project, jobs[i].ID); err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", jobs[i].Name, err))
		}
	}
	return errors.Join(bad...)
}

// cancel is sky cancel.
func cancel(c *compat.Call) error {
	name, err := c.Need("a cluster")
	if err != nil {
		return err
	}
	all, err := clusterJobs(c, name, true)
	if err != nil {
		return err
	}
	if len(all[name]) == 0 {
		return missing(name)
	}
	jobs := live(all[name])
	if ids := c.Args[1:]; len(ids) > 0 {
		var some []job
		for _, id := range ids {
			at := slices.IndexFunc(all[name], func(j job) bool { return strconv.Itoa(j.id) == id })
			if at < 0 {
				return cli.Missing(fmt.Sprintf("Job %s not found on cluster %q", id, name), "sky queue "+name+" lists its jobs")
			}
			some = append(some, all[name][at])
		}
		jobs = live(some)
	} else if len(jobs) > 1 && !c.Bool("all") {
		jobs = jobs[len(jobs)-1:] // the latest, as sky has it
	}
	if ok, err := sure(c, "cancel", jobs); !ok {
		return err
	}
	if err := end(c, jobs); err != nil {
		return err
	}
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = strconv.Itoa(j.id)
	}
	text := fmt.Sprintf("Cancelled job ID %s.", strings.Join(ids, ", "))
	if len(ids) == 0 {
		text = "No jobs cancelled."
	}
	_, err = fmt.Fprintln(c.Out(), text)
	return err
}
