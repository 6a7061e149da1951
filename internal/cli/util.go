package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/spec"
)

func newUtil(s *session) *cobra.Command {
	var t tableFlags
	var noUsers bool
	var only string
	cmd := &cobra.Command{
		Use:     "util",
		Aliases: []string{"utilization"},
		Short:   "What the nodes hold, who runs and who waits",
		Example: "  muster util\n  muster util --cluster east",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if only != "" {
				return s.utilOf(cmd.Context(), t, only, noUsers)
			}
			return s.util(cmd.Context(), t, noUsers)
		},
	}
	t.register(cmd)
	cmd.Flags().BoolVar(&noUsers, "hide-users", false, "leave out who")
	cmd.Flags().StringVar(&only, "cluster", "", "only this cluster: its nodes, who runs there and who may")
	_ = cmd.RegisterFlagCompletionFunc("cluster", s.completeClusters)
	return cmd
}

// utilMost is how many workloads of each sort are listed.
const utilMost = 50

var (
	activePhases = []string{"Starting", "Running", "Restarting", "Terminating"}
	queuedPhases = []string{"Queued", "Reserved", "Inadmissible", "Backoff"}
)

func (s *session) util(ctx context.Context, t tableFlags, noUsers bool) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	cluster, err := c.Cluster(ctx)
	if err != nil {
		return err
	}
	if s.machine() {
		return s.document(cluster)
	}
	if s.format() == "name" || s.format() == "csv" {
		return print(s, t, table[api.Node]{columns: nodeColumns(), items: cluster.Nodes, name: func(n api.Node) string { return n.Name }})
	}
	if clusters, err := c.Clusters(ctx); err == nil && len(clusters.Items) > 1 { // older servers do not tell
		if err := s.clusterUse(clusters.Items, s.moments(t), tableFlags{noHeaders: t.noHeaders}); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(s.io.Out); err != nil {
			return err
		}
	}
	if err := s.poolUse(cluster.Pools, tableFlags{noHeaders: t.noHeaders}); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.io.Out); err != nil {
		return err
	}
	if err := s.utilNodes(cluster.Nodes, t); err != nil {
		return err
	}
	active, err := c.Workloads(ctx, client.ListOptions{Phases: activePhases, Limit: utilMost, Summary: true})
	if err != nil {
		return err
	}
	queued, err := c.Workloads(ctx, client.ListOptions{Phases: queuedPhases, Limit: utilMost, Summary: true})
	if err != nil {
		return err
	}
	m := s.moments(t)
	if err := s.utilWorkloads("Active", active, activeColumns(m, noUsers), t, cluster.Running); err != nil {
		return err
	}
	slices.SortStableFunc(queued.Items, func(a, b api.Workload) int { return queuePlace(a) - queuePlace(b) })
	return s.utilWorkloads("Queued", queued, queuedColumns(m, noUsers), t, cluster.Waiting)
}

// utilOf is muster util of one cluster.
func (s *session) utilOf(ctx context.Context, t tableFlags, cluster string, noUsers bool) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	info, err := c.ClusterInfo(ctx, cluster)
	if err != nil {
		return err
	}
	nodes, err := s.nodesOf(ctx, c, cluster)
	if err != nil {
		return err
	}
	switch {
	case s.machine():
		return s.document(struct {
			Cluster *api.ClusterInfo `json:"cluster"`
			Nodes   []api.Node       `json:"nodes"`
		}{info, nodes})
	case s.format() == "name" || s.format() == "csv":
		return print(s, t, table[api.Node]{columns: nodeColumns(), items: nodes, name: func(n api.Node) string { return n.Name }})
	}
	if err := s.clusterUse([]api.ClusterInfo{*info}, s.moments(t), tableFlags{noHeaders: t.noHeaders}); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.io.Out); err != nil {
		return err
	}
	if err := s.utilNodes(nodes, t); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, n := range nodes {
		there[n.Name] = true
	}
	active, err := some(ctx, c, activePhases, func(w *api.Workload) bool {
		return len(w.Attempts) > 0 && slices.ContainsFunc(w.Attempts[len(w.Attempts)-1].Tasks, func(t api.Task) bool { return there[t.Node] && t.EndedAt == nil })
	})
	if err != nil {
		return err
	}
	queued, err := some(ctx, c, queuedPhases, func(w *api.Workload) bool {
		var doc spec.Document
		return json.Unmarshal(w.Spec, &doc) != nil || len(doc.Clusters) == 0 || slices.Contains(doc.Clusters, cluster)
	})
	if err != nil {
		return err
	}
	m := s.moments(t)
	if err := s.utilWorkloads("Active", active, activeColumns(m, noUsers), t, info.Workloads); err != nil {
		return err
	}
	slices.SortStableFunc(queued.Items, func(a, b api.Workload) int { return queuePlace(a) - queuePlace(b) })
	return s.utilWorkloads("Queued", queued, queuedColumns(m, noUsers), t, 0)
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

// queuePlace orders what waits; who has no place in a queue comes last.
func queuePlace(w api.Workload) int {
	if w.Pending == nil || w.Pending.Position == 0 {
		return 1 << 30
	}
	return w.Pending.Position
}

func (s *session) utilNodes(nodes []api.Node, t tableFlags) error {
	cols := []column[api.Node]{
		{title: "NODE", cell: func(n api.Node) string { return n.Name }, tone: utilTone},
		{title: "POOL", cell: func(n api.Node) string { return n.Pool }},
		{title: "STATUS", cell: nodeStatus, tone: nodeTone},
		{title: "GPU", cell: func(n api.Node) string { return devices(n.Devices) }},
		{title: "FREE", cell: func(n api.Node) string { return thousandths(n.GPU.Total - n.GPU.Used) }, tone: utilTone},
		{title: "USED", cell: func(n api.Node) string { return thousandths(n.GPU.Used) }},
		{title: "TOTAL", cell: func(n api.Node) string { return thousandths(n.GPU.Total) }},
		{title: "CPU", cell: func(n api.Node) string { return thousandths(n.CPU.Used) + "/" + thousandths(n.CPU.Total) }},
		{title: "MEMORY", cell: func(n api.Node) string { return size(n.Memory.Used) + "/" + size(n.Memory.Total) }},
		{title: "TASKS", cell: func(n api.Node) string { return strconv.Itoa(n.Tasks) }},
	}
	if slices.ContainsFunc(nodes, func(n api.Node) bool { return n.Backend != "" && n.Backend != nodes[0].Backend }) {
		cols = slices.Insert(cols, 1, column[api.Node]{title: "CLUSTER", cell: func(n api.Node) string { return n.Backend }})
	}
	return print(s, t, table[api.Node]{items: nodes, columns: cols})
}

// utilTone is red where nothing is free and green where something is.
func utilTone(n api.Node) tone {
	free, total := n.GPU.Total-n.GPU.Used, n.GPU.Total
	if total == 0 {
		free, total = n.CPU.Total-n.CPU.Used, n.CPU.Total
	}
	switch {
	case total == 0 || !n.Ready || n.CutOff:
		return toneDim
	case free <= 0:
		return toneBad
	default:
		return toneGood
	}
}

func (s *session) utilWorkloads(title string, list *api.WorkloadList, cols []column[api.Workload], t tableFlags, total int) error {
	if _, err := fmt.Fprintf(s.io.Out, "\n%s: %d\n", title, max(total, len(list.Items))); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return nil
	}
	if err := print(s, t, table[api.Workload]{items: list.Items, columns: cols}); err != nil {
		return err
	}
	if list.Next != "" {
		s.say("There are more; muster get -A --limit 0 lists all")
	}
	return nil
}

func activeColumns(m moments, noUsers bool) []column[api.Workload] {
	return withoutUsers(noUsers, []column[api.Workload]{
		{title: "NAME", cell: func(w api.Workload) string { return w.Name }, tone: func(api.Workload) tone { return toneBusy }},
		{title: "USER", cell: func(w api.Workload) string { return w.User }},
		{title: "STATUS", cell: func(w api.Workload) string { return phaseWord(&w) }, tone: func(w api.Workload) tone { return toneOf(w.Phase) }},
		{title: "AGE", cell: func(w api.Workload) string { return m.ago(timeOf(w.CreatedAt)) }},
		{title: "GPUS", cell: func(w api.Workload) string { return gpus(&w) }},
		{title: "TASKS", cell: func(w api.Workload) string { return taskSum(w.Tasks) }},
		{title: "PRIORITY", cell: func(w api.Workload) string { return spec.Priority(w.Priority).String() }},
		{title: "PREEMPTIBLE", cell: func(w api.Workload) string { return strconv.FormatBool(w.Preemptible) }},
	})
}

func queuedColumns(m moments, noUsers bool) []column[api.Workload] {
	return withoutUsers(noUsers, []column[api.Workload]{
		{title: "POS", cell: func(w api.Workload) string {
			if queuePlace(w) == 1<<30 {
				return "-"
			}
			return strconv.Itoa(queuePlace(w))
		}},
		{title: "NAME", cell: func(w api.Workload) string { return w.Name }, tone: func(api.Workload) tone { return toneWait }},
		{title: "USER", cell: func(w api.Workload) string { return w.User }},
		{title: "PROJECT", cell: func(w api.Workload) string { return w.Project }},
		{title: "AGE", cell: func(w api.Workload) string { return m.ago(timeOf(w.CreatedAt)) }},
		{title: "GPUS", cell: func(w api.Workload) string { return gpus(&w) }},
		{title: "PRIORITY", cell: func(w api.Workload) string { return spec.Priority(w.Priority).String() }},
		{title: "REASON", cell: func(w api.Workload) string { return orDash(why(&w)) }},
		{title: "ETA", cell: func(w api.Workload) string { return timeOrETA(&w, m) }},
	})
}

func withoutUsers(yes bool, cols []column[api.Workload]) []column[api.Workload] {
	if !yes {
		return cols
	}
	return slices.DeleteFunc(cols, func(c column[api.Workload]) bool { return c.title == "USER" })
}
