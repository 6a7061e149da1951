package sky

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

const noController = "the server itself sees to jobs: server.log in its data directory says how."

// jobs is sky jobs: work that has no cluster of its own.
func jobs() *compat.Command {
	flags := slices.Clone(taskFlags)
	return &compat.Command{Use: "jobs", Also: "job", Short: "Managed jobs", Sub: []*compat.Command{
		{
			Use: "launch [-n NAME] [FILE | COMMAND…]", Short: "Submit a job, or the jobs of a pipeline, and follow it", Most: compat.All, Run: launchJob,
			Flags: append(flags, compat.Flag{Names: "cluster c", Arg: "NAME", Void: "a managed job has no cluster: -n names it."}, compat.Flag{Names: "job-recovery", Arg: "WAY", Void: "what was taken away is tried again wherever there is room."},
				compat.Flag{Names: "priority", Arg: "N", Void: "numbers of SkyPilot mean nothing here: write priority in a document of muster's."}, compat.Flag{Names: "pool p", Arg: "NAME", Void: "there are no pools of workers.", Refused: true}, compat.Flag{Names: "num-jobs", Arg: "N", Void: "write an array in a document of muster's.", Refused: true}, compat.Flag{Names: "detach-setup s", Void: "setup is a part of the job."}, compat.Flag{Names: "retry-until-up r", Void: "a job waits until there is room for it."}),
		},
		{
			Use: "queue", Short: "List managed jobs", Run: jobQueue,
			Flags: []compat.Flag{{Names: "skip-finished s", Does: "only those that have not ended"}, {Names: "all a verbose v", Does: "all of them, instead of the latest 50"}, {Names: "all-users u", Does: "those of everybody"}, {Names: "refresh r", Void: "what is listed is always current."}, {Names: "limit l", Arg: "N", Does: "at most so many"}},
		},
		{
			Use: "logs [JOB]", Short: "Output of a managed job, by default the latest", Most: 1, Run: jobLogs,
			Flags: []compat.Flag{{Names: "name n", Arg: "NAME", Does: "the job of that name"}, {Names: "follow", Does: "go on until it has ended, which is the default"}, {Names: "no-follow", Does: "only what there is"}, {Names: "tail", Arg: "N", Does: "only the last lines"}, {Names: "controller", Void: noController, Refused: true}, {Names: "refresh r", Void: "what is shown is always current."}, {Names: "sync-down s", Void: "muster logs --all-tasks shows what each node wrote.", Refused: true}},
		},
		{
			Use: "cancel [JOB…]", Short: "End managed jobs", Most: compat.All, Run: cancelJobs,
			Flags: []compat.Flag{yes, {Names: "name n", Arg: "NAME", Does: "the job of that name"}, {Names: "all a", Does: "all of one's own"}, {Names: "all-users u", Does: "those of everybody"}, {Names: "async", Does: "do not wait"}, {Names: "pool p", Arg: "NAME", Void: "there are no pools of workers.", Refused: true}},
		},
		{Use: "dashboard", Short: "muster ui opens the pages.", Void: "muster ui opens the pages."},
		{Use: "pool", Short: "there are no pools of workers.", Void: "there are no pools of workers: muster pool list shows those of nodes."},
	}}
}

// managed are the managed jobs, newest first.
func managed(c *compat.Call, all bool) ([]api.Workload, error) {
	me := ""
	if !all {
		me = c.Me()
	}
	return c.Pages(c.Context, client.ListOptions{Labels: map[string]string{managedLabel: "true"}}, 0, func(w *api.Workload) bool { return me == "" || w.User == me })
}

func launchJob(c *compat.Call) error {
	docs, err := tasks(c, words(c), true)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if doc.Kind.Interactive() {
			return cli.Wrong("the task has no command: a managed job ends by itself", "write run:, or sky launch -c NAME for a cluster to work on")
		}
		doc.Labels = source.Set(doc.Labels, managedLabel, "true")
		if doc.Name == "" && doc.NamePrefix == "" {
			doc.NamePrefix = "sky-cmd"
		}
	}
	var ws []api.Workload
	if len(docs) > 1 {
		ws, err = c.Together(c.Context, docs, c.Bool("dryrun"))
	} else {
		var w *api.Workload
		if w, err = c.Submit(c.Context, docs[0], c.Bool("dryrun")); err == nil {
			ws = []api.Workload{*w}
		}
	}
	if err != nil {
		return err
	}
	last := &ws[len(ws)-1]
	if c.Bool("dryrun") {
		c.Say("Dryrun finished: %s would be accepted.", last.Name)
		return nil
	}
	if _, err := fmt.Fprintf(c.Out(), "✓ Managed job submitted, ID: %d\n", last.Number); err != nil {
		return err
	}
	if !c.Bool("detach-run") {
		err = followed(c, last, fmt.Sprintf("Managed job finished: %d (status: %%s).", last.Number))
	}
	c.Say("\n📋 Useful Commands\nManaged Job ID: %d\n├── To cancel the job:\t\tsky jobs cancel %d\n├── To stream job logs:\t\tsky jobs logs %d\n└── To view all managed jobs:\tsky jobs queue", last.Number, last.Number, last.Number)
	return err
}

func jobQueue(c *compat.Call) error {
	ws, err := managed(c, c.Bool("all-users"))
	if err != nil {
		return err
	}
	most, err := c.Int("limit", 50)
	if err != nil {
		return err
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range ws {
		w := &ws[i]
		if c.Bool("skip-finished") && cli.Ended(w) || !c.Bool("all") && len(rows) == most {
			continue
		}
		rows = append(rows, []string{strconv.FormatInt(w.Number, 10), "-", w.Name, asked(p, w), ago(c, time.Time(w.CreatedAt)), took(c, w), took(c, w), strconv.Itoa(w.Attempt), word(lifecycle.Phase(w.Phase))})
	}
	if _, err := fmt.Fprintln(c.Out(), "Managed jobs"); err != nil {
		return err
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(c.Out(), "No in-progress managed jobs.")
		return err
	}
	return c.Table([]string{"ID", "TASK", "NAME", "REQUESTED", "SUBMITTED", "TOT. DURATION", "JOB DURATION", "#RECOVERIES", "STATUS"}, rows)
}

// called reports whether a managed job is called so: by its task's name, to which some
// letters were added.
func called(w *api.Workload, name string) bool {
	return w.Name == name || cli.Document(w).NamePrefix == name || strings.HasPrefix(w.Name, source.NameFrom(name, 45)+"-") && len(w.Name) == len(source.NameFrom(name, 45))+7
}

// chosenManaged are the managed jobs that words, --name or --all mean.
func chosenManaged(c *compat.Call) ([]api.Workload, error) {
	ws, err := managed(c, len(c.Args) > 0 || c.Given("name") || c.Bool("all-users"))
	if err != nil {
		return nil, err
	}
	if c.Given("name") {
		ws = slices.DeleteFunc(ws, func(w api.Workload) bool { return !called(&w, c.Text("name")) })
		if len(ws) == 0 {
			return nil, cli.Missing(fmt.Sprintf("No managed job is named %q", c.Text("name")), "sky jobs queue lists them")
		}
		return ws, nil
	}
	if len(c.Args) == 0 {
		return ws, nil
	}
	var out []api.Workload
	for _, id := range c.Args {
		at := slices.IndexFunc(ws, func(w api.Workload) bool { return strconv.FormatInt(w.Number, 10) == id })
		if at < 0 {
			return nil, cli.Missing(fmt.Sprintf("No managed job has the ID %q", id), "sky jobs queue lists them")
		}
		out = append(out, ws[at])
	}
	return out, nil
}

func jobLogs(c *compat.Call) error {
	ws, err := chosenManaged(c)
	if err != nil {
		return err
	}
	if len(ws) == 0 {
		c.Say("No managed jobs found.")
		return cli.Exit(notFound)
	}
	return shown(c, &ws[0], fmt.Sprintf("Managed job finished: %d (status: %%s).", ws[0].Number))
}

func cancelJobs(c *compat.Call) error {
	if len(c.Args) == 0 && !c.Given("name") && !c.Bool("all") && !c.Bool("all-users") {
		return cli.Wrong("sky jobs cancel needs a job", "sky jobs cancel ID, -n NAME, or --all")
	}
	ws, err := chosenManaged(c)
	if err != nil {
		return err
	}
	var some []job
	var ids []string
	for _, w := range ws {
		if !cli.Ended(&w) {
			some, ids = append(some, job{Workload: w}), append(ids, strconv.FormatInt(w.Number, 10))
		}
	}
	if ok, err := sure(c, "cancel", some); !ok {
		return err
	}
	if err := end(c, some); err != nil {
		return err
	}
	text := "Managed job(s) " + strings.Join(ids, ", ") + " cancelled."
	if len(ids) == 0 {
		text = "No running managed jobs to cancel."
	}
	_, err = fmt.Fprintln(c.Out(), text)
	return err
}

// serve is sky serve.
func serve() *compat.Command {
	return &compat.Command{Use: "serve", Short: "Services", Sub: []*compat.Command{
		{Use: "up [-n NAME] FILE", Short: "Submit a service", Most: compat.All, Flags: append([]compat.Flag{{Names: "service-name", Arg: "NAME", Does: "its name"}}, taskFlags...), Run: serveUp},
		{Use: "status [NAME…]", Short: "List services", Most: compat.All, Flags: []compat.Flag{{Names: "all a verbose v", Void: "there is nothing more to tell."}, {Names: "endpoint", Does: "print the address alone"}}, Run: serveStatus},
		{Use: "down [NAME…]", Short: "End services and forget them", Most: compat.All, Flags: []compat.Flag{yes, {Names: "all a", Does: "all of one's own"}, {Names: "purge p", Void: "there is nothing outside of the server to forget."}, {Names: "replica-id", Arg: "N", Void: "replicas are replaced by themselves.", Refused: true}}, Run: serveDown},
		{Use: "logs NAME [REPLICA]", Short: "Output of a service", Most: 2, Flags: []compat.Flag{{Names: "follow", Does: "go on, which is the default"}, {Names: "no-follow", Does: "only what there is"}, {Names: "tail", Arg: "N", Does: "only the last lines"}, {Names: "controller", Void: noController, Refused: true}, {Names: "load-balancer", Void: noController, Refused: true}}, Run: serveLogs},
		{Use: "update", Short: "muster update changes a service.", Void: "muster update NAME -f FILE changes a service, replica by replica."},
	}}
}

func serveUp(c *compat.Call) error {
	docs, err := tasks(c, words(c), true)
	if err != nil {
		return err
	}
	if len(docs) != 1 || !docs[0].Kind.Replicated() {
		return cli.Wrong("the file has no service", "write service: with a readiness_probe and replicas")
	}
	doc := docs[0]
	if name := cmp.Or(c.Text("service-name"), c.Text("name"), doc.NamePrefix, "sky-service"); name != "" {
		doc.Name, doc.NamePrefix = source.NameFrom(name, 52), ""
		doc.Labels = source.Set(doc.Labels, serviceLabel, doc.Name)
	}
	w, err := c.Submit(c.Context, doc, c.Bool("dryrun"))
	if err != nil || c.Bool("dryrun") {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "Service name: %s\n", w.Name)
	c.Say("├── To see detailed info:\tsky serve status %s\n├── To tear down the service:\tsky serve down %s\n└── To send requests to it:\tmuster port-forward %s", w.Name, w.Name, w.Name)
	return err
}

// services are those that sky serve up has made.
func services(c *compat.Call) ([]api.Workload, error) {
	ws, err := c.Pages(c.Context, client.ListOptions{Kinds: []string{string(lifecycle.Inference)}}, 0, func(w *api.Workload) bool {
		name := cli.Document(w).Labels[serviceLabel]
		return name != "" && (len(c.Args) == 0 || compat.Matches(c.Args[:1], w.Name) || slices.Contains(c.Args, w.Name))
	})
	if err == nil && len(ws) == 0 && len(c.Args) > 0 {
		return nil, cli.Missing(fmt.Sprintf("Service %q does not exist", c.Args[0]), "sky serve status lists services")
	}
	return ws, err
}

func serveStatus(c *compat.Call) error {
	ws, err := services(c)
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range ws {
		w := &ws[i]
		ready, all, state := 0, 0, "REPLICA_INIT"
		if w.Replicas != nil {
			ready, all = w.Replicas.Ready, w.Replicas.Wanted
		}
		switch {
		case cli.Ended(w):
			state = "SHUTTING_DOWN"
		case ready > 0:
			state = "READY"
		}
		rows = append(rows, []string{w.Name, took(c, w), state, fmt.Sprintf("%d/%d", ready, all), "muster port-forward " + w.Name})
	}
	if _, err := fmt.Fprintln(c.Out(), "Services"); err != nil {
		return err
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(c.Out(), "No live services.")
		return err
	}
	return c.Table([]string{"NAME", "UPTIME", "STATUS", "REPLICAS", "ENDPOINT"}, rows)
}

func serveDown(c *compat.Call) error {
	if len(c.Args) == 0 && !c.Bool("all") {
		return cli.Wrong("sky serve down needs a service", "sky serve down NAME, or --all")
	}
	ws, err := services(c)
	if err != nil {
		return err
	}
	some := make([]job, len(ws))
	for i, w := range ws {
		some[i] = job{Workload: w}
	}
	if ok, err := sure(c, "delete", some); !ok {
		return err
	}
	if err := remove(c, some); err != nil {
		return err
	}
	for _, w := range ws {
		if _, err := fmt.Fprintf(c.Out(), "Service %s is scheduled to be terminated.\n", w.Name); err != nil {
			return err
		}
	}
	return nil
}

func serveLogs(c *compat.Call) error {
	if _, err := c.Need("a service"); err != nil {
		return err
	}
	ws, err := services(c)
	if err != nil {
		return err
	}
	args := []string{"logs", ws[0].ID, "--project", ws[0].Project}
	if len(c.Args) > 1 {
		args = append(args, "--task", c.Args[1])
	}
	if c.Given("tail") {
		args = append(args, "--tail", c.Text("tail"))
	}
	if !c.Bool("no-follow") {
		args = append(args, "--follow")
	}
	return c.Muster(c.Context, args...)
}
