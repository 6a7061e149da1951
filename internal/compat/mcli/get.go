package mcli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

var outputFlag = compat.Flag{Names: "output o", Arg: "FORMAT", Does: "table, name, json or yaml"}

func getRuns() *compat.Command {
	return &compat.Command{
		Use: "runs [NAME|GLOB…]", Also: "run r", Short: "List runs, newest first", Most: compat.All, Names: true,
		Flags: append(slices.Clone(chooseFlags),
			compat.Flag{Names: "latest l", Does: "only the newest"},
			compat.Flag{Names: "limit", Arg: "N", Does: "at most so many, 50 by default; none: all"},
			compat.Flag{Names: "include-deleted", Does: "also deleted ones"},
			compat.Flag{Names: "ids", Does: "a column with their ids"},
			compat.Flag{Names: "expanded", Does: "every resumption; else the latest 3"},
			compat.Flag{Names: "metadata m", Arg: "KEY", Many: true, Does: "a column with this metadata"},
			outputFlag),
		Run: func(c *compat.Call) error {
			limit, err := limitOf(c)
			if err != nil {
				return err
			}
			ws, err := chosen(c, runKinds, limit)
			if err != nil {
				return err
			}
			return listRuns(c, ws)
		},
	}
}

// limitOf is how many are listed; 0: all.
func limitOf(c *compat.Call) (int, error) {
	switch {
	case c.Bool("latest"):
		return 1, nil
	case strings.EqualFold(c.Text("limit"), "none"):
		return 0, nil
	}
	n, err := c.Int("limit", 50)
	if err == nil && n < 1 {
		err = cli.Wrong(fmt.Sprintf("--limit: %d is not a number of runs", n), "1 or more; none is all")
	}
	return n, err
}

// shown prints a list in the format of -o; table is told to do it itself.
func shown(c *compat.Call, names []string, body any, table func() error) error {
	switch format := c.Text("output"); format {
	case "", "table":
		return table()
	case "name":
		for _, n := range names {
			if _, err := fmt.Fprintln(c.Out(), n); err != nil {
				return err
			}
		}
		return nil
	default:
		return c.Body(format, body)
	}
}

func listRuns(c *compat.Call, ws []api.Workload) error {
	names := make([]string, len(ws))
	for i := range ws {
		names[i] = ws[i].Name
	}
	if ws == nil {
		ws = []api.Workload{}
	}
	return shown(c, names, api.WorkloadList{Items: ws}, func() error {
		if len(ws) == 0 {
			c.Say("No runs found.")
			return nil
		}
		return runTable(c, ws)
	})
}

func runTable(c *compat.Call, ws []api.Workload) error {
	place, err := placesFor(c, ws)
	if err != nil {
		return err
	}
	some := func(f func(*api.Workload) bool) bool {
		return slices.ContainsFunc(ws, func(w api.Workload) bool { return f(&w) })
	}
	users := some(func(w *api.Workload) bool { return w.User != ws[0].User })
	clusters := place != nil && len(place.Clusters) > 1
	again := some(func(w *api.Workload) bool { return len(w.Attempts) > 1 })
	etas := some(func(w *api.Workload) bool { return !eta(w).IsZero() })
	titles := []string{"NAME"}
	add := func(when bool, title string) {
		if when {
			titles = append(titles, title)
		}
	}
	add(c.Bool("ids"), "ID")
	add(users, "USER")
	add(clusters, "CLUSTER")
	add(true, "NODES")
	add(true, "INSTANCE")
	add(again, "RESUMPTION")
	titles = append(titles, "STATUS", "START TIME", "END TIME")
	add(etas, "ETA")
	titles = append(titles, c.All("metadata")...)
	var rows [][]string
	for i := range ws {
		w := &ws[i]
		for _, r := range resumptions(w, c.Bool("expanded")) {
			latest := r == len(w.Attempts)-1 || len(w.Attempts) == 0
			row := []string{name(w)}
			cell := func(when bool, text string) {
				if when {
					row = append(row, text)
				}
			}
			cell(c.Bool("ids"), w.ID)
			cell(users, w.User)
			cell(clusters, clusterOf(place, w))
			cell(true, strconv.Itoa(nodeCount(w)))
			cell(true, instance(place, w))
			cell(again, strconv.Itoa(r))
			start, end := span(w, r)
			row = append(row, statusAt(w, r), clock(start), clock(end))
			when := time.Time{}
			if latest {
				when = eta(w)
			}
			cell(etas, clock(when))
			for _, key := range c.All("metadata") {
				row = append(row, metadata(w, key))
			}
			rows = append(rows, row)
		}
	}
	return c.Table(titles, rows)
}

// placesFor asks where nodes are, where the table shows what depends on it.
func placesFor(c *compat.Call, ws []api.Workload) (*compat.Place, error) {
	if !slices.ContainsFunc(ws, func(w api.Workload) bool { return w.GPUs > 0 }) {
		client, err := c.Connect(c.Context)
		if err != nil {
			return nil, err
		}
		list, err := client.Clusters(c.Context)
		if err != nil || len(list.Items) < 2 {
			return nil, err
		}
	}
	return compat.Places(c.Context, c.Tool)
}

func clusterOf(p *compat.Place, w *api.Workload) string {
	if p == nil {
		return "-"
	}
	return compat.Dash(p.Cluster(w))
}

// resumptions are the attempts that get a line, latest first.
func resumptions(w *api.Workload, all bool) []int {
	var out []int
	for i := max(len(w.Attempts), 1) - 1; i >= 0 && (all || len(out) < 3); i-- {
		out = append(out, i)
	}
	return out
}

// nodeCount is the number of tasks; an mpi launcher is no node of its own.
func nodeCount(w *api.Workload) int {
	d := cli.Document(w)
	if d.Kind.Ranked() && d.Framework == "mpi" && compat.Count(w) > 1 {
		return compat.Count(w) - 1
	}
	return compat.Count(w)
}

// instance is what each node has: 8x a100_80gb.
func instance(p *compat.Place, w *api.Workload) string {
	if w.GPUs == 0 {
		return "cpu"
	}
	return fmt.Sprintf("%dx %s", max(int(w.GPUs)/nodeCount(w), 1), cmp.Or(p.Product(w), "gpu"))
}

func name(w *api.Workload) string {
	if w.Phase == string(lifecycle.Deleted) {
		return w.Name + " (Deleted)"
	}
	return w.Name
}

// status is the word for where a run is, with its reason.
func status(w *api.Workload) string {
	st := w.Statuses[dialect]
	word := withReason(compat.Upper(st.Status), st.Reason)
	if p := w.Progress; p != nil && p.Total > 0 && w.Phase == string(lifecycle.Running) {
		part := min(max(float64(p.Step)/float64(p.Total), 0), 1)
		word += fmt.Sprintf(" %s (%d%%)", terminal.Bar(part, 4), int(part*100))
	}
	return word
}

func withReason(word, reason string) string {
	if reason == "" {
		return word
	}
	return word + " (" + reason + ")"
}

// statusAt is the same of an attempt; of one that is over, how it ended.
func statusAt(w *api.Workload, attempt int) string {
	if attempt >= len(w.Attempts)-1 {
		return status(w)
	}
	return endOf(&w.Attempts[attempt])
}

func endOf(a *api.Attempt) string {
	switch r := lifecycle.Reason(a.Reason); {
	case slices.Contains(requeued, r):
		return withReason("Stopped", stoppedFor(r))
	case r == lifecycle.ReasonStoppedByUser, r == lifecycle.ReasonDeletedByUser, r == lifecycle.ReasonRestartedByUser:
		return "Stopped"
	case slices.Contains(overTime, r):
		return "Stopped"
	case a.ExitCode != nil && *a.ExitCode != 0:
		return fmt.Sprintf("Failed (%d)", *a.ExitCode)
	case a.ExitCode != nil:
		return "Completed"
	case r != lifecycle.ReasonNone && a.StartedAt != nil:
		return withReason("Failed", a.Reason)
	}
	return "Stopped"
}

// requeued are reasons of attempts that were ended for another's sake, after which
// a run stands in the queue again.
var requeued = []lifecycle.Reason{
	lifecycle.ReasonPreempted, lifecycle.ReasonMoved, lifecycle.ReasonBelowMinimum, lifecycle.ReasonNodeLost, lifecycle.ReasonSystem, lifecycle.ReasonOutcomeUnknown,
}

// stoppedFor is which of the platform's two reasons that is.
func stoppedFor(r lifecycle.Reason) string {
	switch r {
	case lifecycle.ReasonNodeLost, lifecycle.ReasonSystem, lifecycle.ReasonOutcomeUnknown:
		return "Node Failure"
	}
	return "Preempted"
}

// overTime are reasons of attempts that a limit of time has ended.
var overTime = []lifecycle.Reason{lifecycle.ReasonMaxDuration, lifecycle.ReasonProjectTimeLimit, lifecycle.ReasonIdleLimit}

// span is from the entry into STARTING to the end of TERMINATING.
func span(w *api.Workload, attempt int) (start, end time.Time) {
	if attempt < len(w.Attempts) {
		a := &w.Attempts[attempt]
		return compat.At(a.StartedAt), compat.At(a.EndedAt)
	}
	return compat.At(w.StartedAt), compat.At(w.EndedAt)
}

// eta is when a run must have ended: its time limit, of the present attempt.
func eta(w *api.Workload) time.Time {
	a := compat.Last(w)
	if a == nil || a.EndedAt != nil {
		return time.Time{}
	}
	from := cmp.Or(a.RunningAt, a.StartedAt)
	if from == nil {
		return time.Time{}
	}
	limit := cli.Document(w).MaxDuration.Std() // read last: for most of a list it is not needed
	if limit <= 0 {
		return time.Time{}
	}
	return compat.At(from).Add(limit)
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// metadata is what a run keeps under a key; what it was submitted with are its
// annotations and labels.
func metadata(w *api.Workload, key string) string {
	if v, ok := w.Metadata[key]; ok {
		var text string
		if json.Unmarshal(v, &text) == nil {
			return compat.Dash(text)
		}
		return string(v)
	}
	d := cli.Document(w)
	return compat.Dash(cmp.Or(d.Annotations[key], d.Labels[key]))
}
