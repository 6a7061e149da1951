package mcli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

func describeRun() *compat.Command {
	return &compat.Command{
		Use: "run [NAME]", Also: "runs r", Short: "Everything about a run, by default the latest", Most: 1, Names: true,
		Flags: []compat.Flag{outputFlag, {Names: "no-yaml", Does: "without the configuration"}, {Names: "yaml-only", Does: "only the configuration"}},
		Run:   func(c *compat.Call) error { return describe(c, runKinds) },
	}
}

func describeDeployment() *compat.Command {
	return &compat.Command{
		Use: "deployment [NAME]", Also: "deployments", Short: "Everything about a deployment, by default the latest", Most: 1, Names: true,
		Flags: []compat.Flag{outputFlag, {Names: "no-yaml", Does: "without the configuration"}, {Names: "yaml-only", Does: "only the configuration"}},
		Run:   func(c *compat.Call) error { return describe(c, deploymentKinds) },
	}
}

func describe(c *compat.Call, kinds []string) error {
	w, err := found(c, c.First(), kinds)
	if err != nil {
		return err
	}
	if f := c.Text("output"); f == "json" || f == "yaml" {
		return c.Body(f, w)
	}
	d := document.WithoutKept(cli.Document(w))
	config, err := cli.YAML(d)
	if kept := keptConfiguration(w); len(kept) > 0 { // as it was written
		config, err = yaml.MarshalWithOptions(yaml.MapSlice(kept), yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
	}
	if err != nil {
		return err
	}
	if c.Bool("yaml-only") {
		_, err := fmt.Fprint(c.Out(), string(config))
		return err
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	parts := []func() error{
		func() error { return facts(c, "Run Details", details(w, d, p)) },
		func() error { return facts(c, "Compute Requests", compute(w, d, p)) },
		func() error { return facts(c, "Run Metadata", pairsOf(w, d)) },
		func() error { return nodeTable(c, w) },
		func() error { return eventLog(c, w) },
	}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	if c.Bool("no-yaml") {
		return nil
	}
	_, err = fmt.Fprintf(c.Out(), "Submitted Run Configuration\n%s", config)
	return err
}

// facts prints pairs below a heading; nothing where there are none.
func facts(c *compat.Call, heading string, pairs [][]string) error {
	if len(pairs) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(c.Out(), heading); err != nil {
		return err
	}
	if err := c.Table(nil, pairs); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.Out())
	return err
}

func details(w *api.Workload, d *spec.Document, p *compat.Place) [][]string {
	st := w.Statuses[dialect]
	out := [][]string{{"Run Name", name(w)}}
	add := func(key, value string) {
		if value != "" {
			out = append(out, []string{key, value})
		}
	}
	add("Parent Run Name", parent(w))
	add("Run ID", w.ID)
	add("Last Resumption ID", fmt.Sprintf("%s-%d", w.ID, w.Attempt))
	add("User", w.User)
	add("Cluster", p.Cluster(w))
	add("Image", cmp.Or(w.Image, d.Image, "none: a process of the machine"))
	add("Priority", priorityWord(w.Priority))
	add("Status", compat.Upper(st.Status))
	add("Preemptible", strconv.FormatBool(w.Preemptible))
	add("Reason", st.Reason)
	add("Watchdog", map[bool]string{true: "on", false: "off"}[watched(d)])
	add("Max Retries", strconv.Itoa(d.Retry.Limit))
	if limit := d.MaxDuration.Std(); limit > 0 {
		text := fmt.Sprintf("%d seconds", int(limit.Seconds()))
		if at := eta(w); !at.IsZero() {
			text += " (expires " + clock(at) + ")"
		}
		add("Max Duration", text)
	}
	return out
}

// parent is the run that submitted a run: what the Python SDK keeps, and the
// parent_name of a file, are annotations.
func parent(w *api.Workload) string {
	d := cli.Document(w)
	return cmp.Or(d.Annotations[document.KeptParent], d.Annotations["parent-name"], d.Labels["parent"])
}

// watched reports whether failures are tried again as the watchdog does.
func watched(d *spec.Document) bool {
	return d.Retry.Limit > 0 && (d.Retry.System == nil || *d.Retry.System > 0)
}

func compute(w *api.Workload, d *spec.Document, p *compat.Place) [][]string {
	out := [][]string{{"Cluster", compat.Dash(p.Cluster(w))}}
	if w.GPUs > 0 {
		out = append(out, []string{"GPU Type", compat.Dash(p.Product(w))})
	}
	return append(out, [][]string{
		{"GPUs", amount.GPUs(w.GPUs)},
		{"CPUs", d.Resources.CPU.String()},
		{"Nodes", strconv.Itoa(nodeCount(w))},
	}...)
}

// pairsOf is what a run keeps with it.
func pairsOf(w *api.Workload, d *spec.Document) [][]string {
	var out [][]string
	for k := range w.Metadata {
		out = append(out, []string{k, metadata(w, k)})
	}
	for _, m := range []map[string]string{d.Annotations, d.Labels} {
		for k, v := range m {
			out = append(out, []string{k, v})
		}
	}
	slices.SortFunc(out, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return out
}

func nodeTable(c *compat.Call, w *api.Workload) error {
	a := compat.Last(w)
	if a == nil || len(a.Tasks) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(c.Out(), "Run Nodes"); err != nil {
		return err
	}
	var rows [][]string
	for _, t := range a.Tasks {
		rows = append(rows, []string{strconv.Itoa(t.Index), compat.Dash(t.Node), taskWord(&t), compat.Dash(taskReason(&t))})
	}
	if err := c.Table([]string{"Rank", "Node Name", "Status", "Reason"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.Out())
	return err
}

// taskWord is the state of a task in words for runs.
func taskWord(t *api.Task) string {
	switch t.State {
	case "succeeded":
		return "Completed"
	case "stopping":
		return "Terminating"
	case "lost":
		return "Stopped"
	}
	return compat.Upper(t.State)
}

func taskReason(t *api.Task) string {
	if t.ExitCode != nil && *t.ExitCode != 0 {
		return strconv.Itoa(*t.ExitCode)
	}
	return t.Reason
}

// eventLog tells the run's history in the platform's words.
func eventLog(c *compat.Call, w *api.Workload) error {
	var rows [][]string
	begun := map[int]bool{}
	for i := range w.Transitions {
		t := &w.Transitions[i]
		events := eventsOf(c, w, t, i == 0)
		if began := (event{t.Attempt, beginning(t.Attempt)}); slices.Contains(events, began) {
			begun[t.Attempt] = true
		} else if !begun[t.Attempt] && endedAtOnce(w, t) {
			events = append([]event{began}, events...)
		}
		for _, e := range events {
			rows = append(rows, []string{clock(time.Time(t.At)), strconv.Itoa(e.attempt), e.text})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(c.Out(), "Run Event Log"); err != nil {
		return err
	}
	if err := c.Table([]string{"Time", "Resumption", "Event"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.Out())
	return err
}

// event is a line of the log, and the resumption that it is about.
type event struct {
	attempt int
	text    string
}

// eventsOf is what a step means in the platform's words. How an attempt ended is
// told of that attempt, and the next one begins in the queue.
func eventsOf(c *compat.Call, w *api.Workload, t *api.Transition, first bool) []event {
	if first {
		return []event{{t.Attempt, "Run created"}}
	}
	to, again := lifecycle.Phase(t.To), event{t.Attempt, "Run placed back in the scheduling queue"}
	one := func(text string) []event { return []event{{t.Attempt, text}} }
	switch {
	case t.From == t.To:
		return nil
	case to == lifecycle.Running && t.From != string(lifecycle.Restarting) && !inPlace(w, t):
		return one(beginning(t.Attempt))
	case to == lifecycle.Completed:
		return one("Run completed successfully")
	case to == lifecycle.Failed, to == lifecycle.Backoff:
		return one(failedText(w, t))
	case to == lifecycle.Preempted:
		return one("Run was preempted")
	case to == lifecycle.Lost:
		return one("Run was stopped due to node failure")
	case to == lifecycle.Stopped, to == lifecycle.Canceled, to == lifecycle.TimedOut:
		return one(c.Reword(stoppedText(t)))
	case to == lifecycle.Submitted, to == lifecycle.Queued && t.From == string(lifecycle.Backoff):
		return []event{again}
	case t.From == string(lifecycle.Terminating) && to.InQueue():
		text := "Run was preempted"
		if stoppedFor(lifecycle.Reason(t.Reason)) != "Preempted" {
			text = "Run was stopped due to node failure"
		}
		return []event{{max(t.Attempt-1, 0), text}, again}
	}
	return nil
}

func beginning(attempt int) string {
	if attempt > 0 {
		return "Run resumed"
	}
	return "Run started"
}

// endedAtOnce reports whether a step ends an attempt whose command ran: one that
// began and ended between two looks was never seen running.
func endedAtOnce(w *api.Workload, t *api.Transition) bool {
	switch lifecycle.Phase(t.To) {
	case lifecycle.Completed, lifecycle.Failed, lifecycle.Backoff:
		return t.Attempt < len(w.Attempts) && w.Attempts[t.Attempt].ExitCode != nil
	}
	return false
}

// inPlace reports whether a step to Running is that of a task which was started
// again where it was: its resumption has begun before.
func inPlace(w *api.Workload, t *api.Transition) bool {
	for i := range w.Transitions {
		o := &w.Transitions[i]
		if o.Seq >= t.Seq {
			return false
		}
		if o.Attempt == t.Attempt && o.To == string(lifecycle.Running) {
			return true
		}
	}
	return false
}

// stoppedText says also what for, where that is not simply that somebody did.
func stoppedText(t *api.Transition) string {
	switch r := lifecycle.Reason(t.Reason); {
	case slices.Contains(overTime, r), r == lifecycle.ReasonStoppedByUser:
		if t.Message != "" {
			return "Run stopped: " + t.Message
		}
	}
	return "Run stopped"
}

func failedText(w *api.Workload, t *api.Transition) string {
	text := "Run failed"
	if t.Attempt < len(w.Attempts) {
		if code := w.Attempts[t.Attempt].ExitCode; code != nil && *code != 0 {
			text += fmt.Sprintf(" with exit code %d", *code)
		}
	}
	text += "; see mcli logs " + w.Name
	if t.Attempt > 0 {
		text += fmt.Sprintf(" --resumption %d", t.Attempt)
	}
	return text
}

func describeCluster() *compat.Command {
	return &compat.Command{
		Use: "cluster [NAME]", Also: "clusters c", Short: "What a cluster is made of", Most: 1, Flags: []compat.Flag{outputFlag},
		Run: func(c *compat.Call) error {
			p, err := compat.Places(c.Context, c.Tool)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(p.Clusters, func(cl api.ClusterInfo) bool { return cl.Name == c.First() || c.First() == "" })
			if i < 0 {
				return cli.Missing(fmt.Sprintf("there is no cluster %q", c.First()), "mcli get clusters lists them")
			}
			cl := p.Clusters[i]
			if f := c.Text("output"); f == "json" || f == "yaml" {
				return c.Body(f, cl)
			}
			return clusterFacts(c, p, cl)
		},
	}
}

func clusterFacts(c *compat.Call, p *compat.Place, cl api.ClusterInfo) error {
	err := facts(c, "Cluster Details", [][]string{
		{"Name", cl.Name}, {"ID", cl.Name},
		{"Allowed Submission Types", "TRAINING, INTERACTIVE, INFERENCE"},
		{"Cloud Provider", cl.Kind},
		{"Is Multitenant", "true"},
		{"Priority and Preemption Enabled", "true"},
		{"Multinode Training Enabled", strconv.FormatBool(cl.Nodes.Total > 1)},
		{"Fractional Training Enabled", "true"},
		{"Total Nodes", strconv.Itoa(cl.Nodes.Total)},
		{"Total GPUs", amount.Thousandths(cl.GPU.Total)},
	})
	if err != nil {
		return err
	}
	for _, in := range instances(p, cl.Name) {
		n := in.nodes[0]
		err := facts(c, "Instance "+in.name(), [][]string{
			{"GPUs per node", strconv.Itoa(in.gpus)}, {"CPUs per node", amount.Thousandths(n.CPU.Total)},
			{"RAM per node", fmt.Sprintf("%d GB", n.Memory.Total>>30)}, {"Nodes", strconv.Itoa(len(in.nodes))},
		})
		if err != nil {
			return err
		}
	}
	var rows [][]string
	for _, in := range instances(p, cl.Name) {
		for _, n := range in.nodes {
			alive := "Alive"
			if !n.Ready {
				alive = "Dead"
			}
			rows = append(rows, []string{n.Name, in.name(), alive, strconv.FormatBool(n.Ready && !n.Cordoned && !n.CutOff)})
		}
	}
	return c.Table([]string{"Name", "Instance", "Status", "Schedulable"}, rows)
}
