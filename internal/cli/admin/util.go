package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/spec"
)

// NewUtil makes the command util.
func NewUtil(s *session.Session) *cobra.Command {
	var t session.TableFlags
	var noUsers bool
	var only string
	cmd := &cobra.Command{
		Use:     "util",
		Aliases: []string{"utilization"},
		Short:   "What the nodes hold, who runs and who waits",
		Example: "  muster util\n  muster util --cluster east",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if only != "" {
				return utilOf(cmd.Context(), s, t, only, noUsers)
			}
			return Util(cmd.Context(), s, t, noUsers)
		},
	}
	t.Register(cmd)
	cmd.Flags().BoolVar(&noUsers, "hide-users", false, "leave out who")
	cmd.Flags().StringVar(&only, "cluster", "", "only this cluster: its nodes, who runs there and who may")
	_ = cmd.RegisterFlagCompletionFunc("cluster", s.CompleteClusters)
	return cmd
}

// utilMost is how many workloads of each sort are listed.
const utilMost = 50

var (
	ActivePhases = []string{"Starting", "Running", "Restarting", "Terminating"}
	QueuedPhases = []string{"Queued", "Reserved", "Inadmissible", "Backoff"}
)

// Util prints how much of each cluster is used and what waits for it.
func Util(ctx context.Context, s *session.Session, t session.TableFlags, noUsers bool) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	cluster, err := c.Cluster(ctx)
	if err != nil {
		return err
	}
	if s.Machine() {
		return s.Document(cluster)
	}
	if s.Format() == "name" || s.Format() == "csv" {
		return session.Print(s, t, session.Table[api.Node]{Columns: printers.NodeColumns(), Items: cluster.Nodes, Name: func(n api.Node) string { return n.Name }})
	}
	if clusters, err := c.Clusters(ctx); err == nil && len(clusters.Items) > 1 { // older servers do not tell
		if err := clusterUse(s, clusters.Items, s.Moments(t), session.TableFlags{NoHeaders: t.NoHeaders}); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(s.IO.Out); err != nil {
			return err
		}
	}
	if err := poolUse(s, cluster.Pools, session.TableFlags{NoHeaders: t.NoHeaders}); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.IO.Out); err != nil {
		return err
	}
	if err := utilNodes(s, cluster.Nodes, t); err != nil {
		return err
	}
	active, err := c.Workloads(ctx, client.ListOptions{Phases: ActivePhases, Limit: utilMost, Summary: true})
	if err != nil {
		return err
	}
	queued, err := c.Workloads(ctx, client.ListOptions{Phases: QueuedPhases, Limit: utilMost, Summary: true})
	if err != nil {
		return err
	}
	m := s.Moments(t)
	if err := utilWorkloads(s, "Active", active, activeColumns(m, noUsers), t, cluster.Running); err != nil {
		return err
	}
	slices.SortStableFunc(queued.Items, func(a, b api.Workload) int { return QueuePlace(a) - QueuePlace(b) })
	return utilWorkloads(s, "Queued", queued, QueuedColumns(m, noUsers), t, cluster.Waiting)
}

// utilOf is muster util of one cluster.
func utilOf(ctx context.Context, s *session.Session, t session.TableFlags, cluster string, noUsers bool) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	info, err := c.ClusterInfo(ctx, cluster)
	if err != nil {
		return err
	}
	nodes, err := nodesOf(ctx, s, c, cluster)
	if err != nil {
		return err
	}
	switch {
	case s.Machine():
		return s.Document(struct {
			Cluster *api.ClusterInfo `json:"cluster"`
			Nodes   []api.Node       `json:"nodes"`
		}{info, nodes})
	case s.Format() == "name" || s.Format() == "csv":
		return session.Print(s, t, session.Table[api.Node]{Columns: printers.NodeColumns(), Items: nodes, Name: func(n api.Node) string { return n.Name }})
	}
	if err := clusterUse(s, []api.ClusterInfo{*info}, s.Moments(t), session.TableFlags{NoHeaders: t.NoHeaders}); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.IO.Out); err != nil {
		return err
	}
	if err := utilNodes(s, nodes, t); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, n := range nodes {
		there[n.Name] = true
	}
	active, err := some(ctx, c, ActivePhases, func(w *api.Workload) bool {
		return len(w.Attempts) > 0 && slices.ContainsFunc(w.Attempts[len(w.Attempts)-1].Tasks, func(t api.Task) bool { return there[t.Node] && t.EndedAt == nil })
	})
	if err != nil {
		return err
	}
	queued, err := some(ctx, c, QueuedPhases, func(w *api.Workload) bool {
		var doc spec.Document
		return json.Unmarshal(w.Spec, &doc) != nil || len(doc.Clusters) == 0 || slices.Contains(doc.Clusters, cluster)
	})
	if err != nil {
		return err
	}
	m := s.Moments(t)
	if err := utilWorkloads(s, "Active", active, activeColumns(m, noUsers), t, info.Workloads); err != nil {
		return err
	}
	slices.SortStableFunc(queued.Items, func(a, b api.Workload) int { return QueuePlace(a) - QueuePlace(b) })
	return utilWorkloads(s, "Queued", queued, QueuedColumns(m, noUsers), t, 0)
}

// some are the first workloads in phases that fit, as many as are listed.
func some(ctx context.Context, c *client.Client, phases []string, fit func(*api.Workload) bool) (*api.WorkloadList, error) {
	out := &api.WorkloadList{}
	for o := (client.ListOptions{Phases: phases, Limit: 4 * utilMost}); ; {
		page, err := c.Workloads(ctx, o)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			switch {
			case !fit(&page.Items[i]):
			case len(out.Items) == utilMost:
				out.Next = page.Items[i].ID // there is one more
				return out, nil
			default:
				out.Items = append(out.Items, page.Items[i])
			}
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			return out, nil
		}
	}
}

// QueuePlace orders what waits; who has no place in a queue comes last.
func QueuePlace(w api.Workload) int {
	if w.Pending == nil || w.Pending.Position == 0 {
		return 1 << 30
	}
	return w.Pending.Position
}

func utilNodes(s *session.Session, nodes []api.Node, t session.TableFlags) error {
	cols := []session.Column[api.Node]{
		{Title: "NODE", Cell: func(n api.Node) string { return n.Name }, Tone: utilTone},
		{Title: "POOL", Cell: func(n api.Node) string { return n.Pool }},
		{Title: "STATUS", Cell: printers.NodeStatus, Tone: printers.NodeTone},
		{Title: "GPU", Cell: func(n api.Node) string { return printers.Devices(n.Devices) }},
		{Title: "FREE", Cell: func(n api.Node) string { return amount.Thousandths(n.GPU.Total - n.GPU.Used) }, Tone: utilTone},
		{Title: "USED", Cell: func(n api.Node) string { return amount.Thousandths(n.GPU.Used) }},
		{Title: "TOTAL", Cell: func(n api.Node) string { return amount.Thousandths(n.GPU.Total) }},
		{Title: "CPU", Cell: func(n api.Node) string {
			return amount.Thousandths(n.CPU.Used) + "/" + amount.Thousandths(n.CPU.Total)
		}},
		{Title: "MEMORY", Cell: func(n api.Node) string { return printers.Size(n.Memory.Used) + "/" + printers.Size(n.Memory.Total) }},
		{Title: "TASKS", Cell: func(n api.Node) string { return strconv.Itoa(n.Tasks) }},
	}
	if slices.ContainsFunc(nodes, func(n api.Node) bool { return n.Backend != "" && n.Backend != nodes[0].Backend }) {
		cols = slices.Insert(cols, 1, session.Column[api.Node]{Title: "CLUSTER", Cell: func(n api.Node) string { return n.Backend }})
	}
	return session.Print(s, t, session.Table[api.Node]{Items: nodes, Columns: cols})
}

// utilTone is red where nothing is free and green where something is.
func utilTone(n api.Node) session.Tone {
	free, total := n.GPU.Total-n.GPU.Used, n.GPU.Total
	if total == 0 {
		free, total = n.CPU.Total-n.CPU.Used, n.CPU.Total
	}
	switch {
	case total == 0 || !n.Ready || n.CutOff:
		return session.ToneDim
	case free <= 0:
		return session.ToneBad
	default:
		return session.ToneGood
	}
}

func utilWorkloads(s *session.Session, title string, list *api.WorkloadList, cols []session.Column[api.Workload], t session.TableFlags, total int) error {
	if _, err := fmt.Fprintf(s.IO.Out, "\n%s: %d\n", title, max(total, len(list.Items))); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return nil
	}
	if err := session.Print(s, t, session.Table[api.Workload]{Items: list.Items, Columns: cols}); err != nil {
		return err
	}
	if list.Next != "" {
		s.Say("There are more; muster get -A --limit 0 lists all")
	}
	return nil
}

func activeColumns(m session.Moments, noUsers bool) []session.Column[api.Workload] {
	return withoutUsers(noUsers, []session.Column[api.Workload]{
		{Title: "NAME", Cell: func(w api.Workload) string { return w.Name }, Tone: func(api.Workload) session.Tone { return session.ToneBusy }},
		{Title: "USER", Cell: func(w api.Workload) string { return w.User }},
		{Title: "STATUS", Cell: func(w api.Workload) string { return printers.PhaseWord(&w) }, Tone: func(w api.Workload) session.Tone { return printers.ToneOf(w.Phase) }},
		{Title: "AGE", Cell: func(w api.Workload) string { return m.Ago(session.TimeOf(w.CreatedAt)) }},
		{Title: "GPUS", Cell: func(w api.Workload) string { return printers.Gpus(&w) }},
		{Title: "TASKS", Cell: func(w api.Workload) string { return printers.TaskSum(w.Tasks) }},
		{Title: "PRIORITY", Cell: func(w api.Workload) string { return spec.Priority(w.Priority).String() }},
		{Title: "PREEMPTIBLE", Cell: func(w api.Workload) string { return strconv.FormatBool(w.Preemptible) }},
	})
}

// QueuedColumns are the columns of what waits.
func QueuedColumns(m session.Moments, noUsers bool) []session.Column[api.Workload] {
	return withoutUsers(noUsers, []session.Column[api.Workload]{
		{Title: "POS", Cell: func(w api.Workload) string {
			if QueuePlace(w) == 1<<30 {
				return "-"
			}
			return strconv.Itoa(QueuePlace(w))
		}},
		{Title: "NAME", Cell: func(w api.Workload) string { return w.Name }, Tone: func(api.Workload) session.Tone { return session.ToneWait }},
		{Title: "USER", Cell: func(w api.Workload) string { return w.User }},
		{Title: "PROJECT", Cell: func(w api.Workload) string { return w.Project }},
		{Title: "AGE", Cell: func(w api.Workload) string { return m.Ago(session.TimeOf(w.CreatedAt)) }},
		{Title: "GPUS", Cell: func(w api.Workload) string { return printers.Gpus(&w) }},
		{Title: "PRIORITY", Cell: func(w api.Workload) string { return spec.Priority(w.Priority).String() }},
		{Title: "REASON", Cell: func(w api.Workload) string { return printers.OrDash(printers.Why(&w)) }},
		{Title: "ETA", Cell: func(w api.Workload) string { return printers.TimeOrETA(&w, m) }},
	})
}

func withoutUsers(yes bool, cols []session.Column[api.Workload]) []session.Column[api.Workload] {
	if !yes {
		return cols
	}
	return slices.DeleteFunc(cols, func(c session.Column[api.Workload]) bool { return c.Title == "USER" })
}
