package inspect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/spec"
)

type metricsOptions struct {
	table    session.TableFlags
	scope    session.Scope
	node     string
	all      bool
	watch    bool
	interval string
	options  client.MetricsOptions
}

// NewMetrics makes the command metrics.
func NewMetrics(s *session.Session) *cobra.Command {
	o := &metricsOptions{}
	cmd := &cobra.Command{
		Use:   "metrics [WORKLOAD]",
		Short: "What each rank and GPU of a workload used, as it went",
		Long: `Shows what every task of a workload uses and has used: cores, memory, and how
each of its GPUs fares; and which rank the others are likely to wait for. The
server keeps a day of it by itself.`,
		Example: `  muster metrics train-moons
  muster metrics train-moons -w --since 10m
  muster metrics --node gpu-a01
  muster metrics --cluster                 GPUs held and busy, and what waits
  muster metrics train-moons -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			if (len(args) > 0 || len(o.options.Tasks) > 0) && (o.node != "" || o.all) || o.node != "" && o.all {
				return session.UsageError("a workload, --node and --cluster are three things to ask for", "ask for one of them")
			}
			return metrics(cmd.Context(), s, o, session.FirstName(args))
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	o.table.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.node, "node", "", "a node instead of a workload")
	f.BoolVar(&o.all, "cluster", false, "all GPUs, and what waits, instead of a workload")
	f.BoolVarP(&o.watch, "watch", "w", false, "show it again and again, until the workload has ended, or Ctrl-C")
	f.StringVar(&o.interval, "every", "5s", "with --watch: how often")
	f.StringVar(&o.options.Since, "since", "1h", "how far back: 30m, or an instant; a day at most")
	f.StringVar(&o.options.Until, "until", "", "until this instant")
	f.StringVar(&o.options.Step, "step", "", "length of a step, like 1m")
	f.IntVar(&o.options.Attempt, "attempt", -1, "number of the attempt; default: the latest that has begun")
	f.IntSliceVar(&o.options.Tasks, "task", nil, "only these tasks, by index")
	f.IntSliceVar(&o.options.Tasks, "rank", nil, "the same as --task")
	_ = cmd.RegisterFlagCompletionFunc("node", s.CompleteNodes)
	return cmd
}

func metrics(ctx context.Context, s *session.Session, o *metricsOptions, name string) error {
	every, err := spec.ParseDuration(o.interval)
	if err != nil || every.Std() < 200*time.Millisecond {
		return session.UsageError(fmt.Sprintf("--every: %q is not a length of time of 200ms or more", o.interval), "like 5s")
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	var w *api.Workload
	if o.node == "" && !o.all {
		if w, err = s.Resolve(ctx, c, o.scope, name); err != nil {
			return err
		}
	}
	line := o.watch && s.Format() == "json" // one for each look
	if line {
		s.Output = "jsonl"
	}
	for begun := false; ; begun = true {
		if begun && w != nil {
			if w, err = c.Workload(ctx, w.Project, w.ID); err != nil {
				return err
			}
		}
		m, err := measured(ctx, s, c, o, w)
		if err != nil {
			return err
		}
		separator := "\n"
		switch {
		case s.Format() == "yaml":
			separator = "---\n"
		case s.Machine():
			separator = ""
		case o.watch && s.IO.OutTerminal:
			separator, begun = "\x1b[H\x1b[2J", true
		}
		if begun {
			if _, err := io.WriteString(terminal.Bare(s.IO.Out), separator); err != nil {
				return err
			}
		}
		if line {
			err = s.Document(m)
		} else {
			err = showMetrics(s, o, w, m)
		}
		if err != nil || !o.watch || w != nil && printers.Ended(w) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every.Std()):
		}
	}
}

func measured(ctx context.Context, s *session.Session, c *client.Client, o *metricsOptions, w *api.Workload) (*api.Metrics, error) {
	switch {
	case w != nil:
		return c.WorkloadMetrics(ctx, w.Project, w.ID, o.options)
	case o.node != "":
		return c.Nodes.Metrics(ctx, o.node, o.options)
	default:
		return c.Metrics(ctx, o.options)
	}
}

func showMetrics(s *session.Session, o *metricsOptions, w *api.Workload, m *api.Metrics) error {
	if !s.IO.OutTerminal || s.Format() != "table" {
		return session.Print(s, o.table, session.Table[api.MetricSeries]{Columns: metricColumns(w != nil), Items: m.Series, Name: func(x api.MetricSeries) string { return x.Metric }, Body: m})
	}
	title := "cluster"
	switch {
	case w != nil:
		title = fmt.Sprintf("%s · %s", w.Name, printers.PhaseWord(w))
	case o.node != "":
		title = "node " + o.node
	}
	span := session.TimeOf(m.To).Sub(session.TimeOf(m.From))
	if _, err := fmt.Fprintf(s.IO.Out, "%s · %s in steps of %s\n", title, session.Age(span), session.Age(time.Duration(m.Step*float64(time.Second)))); err != nil {
		return err
	}
	if err := s.Grid(metricGrid(m, w != nil, o.all, s.IO.Width)); err != nil {
		return err
	}
	if x := m.Slowest; x != nil {
		tone, note := session.ToneDim, "least: "
		if x.Behind {
			tone, note = session.ToneWait, "slowest: "
		}
		if _, err := fmt.Fprintln(s.IO.Out, s.Paint(true, tone, note+x.Message)); err != nil {
			return err
		}
	}
	for _, text := range m.Missing {
		s.Say("%s", s.Paint(s.IO.ErrTerminal, session.ToneDim, "not known: "+text))
	}
	return nil
}

// metricColumns are the columns in a pipe: a line for each series.
func metricColumns(tasks bool) []session.Column[api.MetricSeries] {
	number := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	all := []session.Column[api.MetricSeries]{
		{Title: "NODE", Cell: func(x api.MetricSeries) string { return printers.OrDash(x.Node) }},
		{Title: "GPU", Cell: func(x api.MetricSeries) string { return indexOf(x.Index) }},
		{Title: "PROJECT", Cell: func(x api.MetricSeries) string { return printers.OrDash(x.Project) }},
		{Title: "METRIC", Cell: func(x api.MetricSeries) string { return x.Metric }},
		{Title: "LAST", Cell: func(x api.MetricSeries) string { return number(x.Last) }},
		{Title: "MEAN", Cell: func(x api.MetricSeries) string { return number(x.Mean) }},
		{Title: "MIN", Cell: func(x api.MetricSeries) string { return number(x.Min) }},
		{Title: "MAX", Cell: func(x api.MetricSeries) string { return number(x.Max) }},
	}
	if !tasks {
		return all
	}
	return append([]session.Column[api.MetricSeries]{
		{Title: "TASK", Cell: func(x api.MetricSeries) string { return indexOf(x.Task) }},
		{Title: "ROLE", Cell: func(x api.MetricSeries) string { return printers.OrDash(x.Role) }},
	}, all...)
}

func indexOf(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// metricRow is what a terminal shows in one line: a GPU, or what has none.
type metricRow struct {
	task, node, gpu, project string
	of                       map[string]*api.MetricSeries
}

// metricRows puts series of the same thing together, in their order.
func metricRows(m *api.Metrics, cluster bool) []metricRow {
	var rows []metricRow
	at := map[string]int{}
	for i := range m.Series {
		x := &m.Series[i]
		r := metricRow{task: indexOf(x.Task), node: printers.OrDash(x.Node), gpu: indexOf(x.Index), project: x.Project, of: map[string]*api.MetricSeries{}}
		if x.Role != "" && x.Task != nil {
			r.task += " " + x.Role
		}
		key := strings.Join([]string{r.task, r.node, x.Device, x.Project}, "\x00")
		if cluster {
			key += x.Metric // each in its own line
		}
		k, ok := at[key]
		if !ok && x.Device != "" { // a task's or node's first GPU stands beside its cores
			if p, there := at[strings.Join([]string{r.task, r.node, "", ""}, "\x00")]; there && rows[p].gpu == "-" {
				rows[p].gpu, k, ok = r.gpu, p, true
				at[key] = p
			}
		}
		if !ok {
			k, at[key] = len(rows), len(rows)
			rows = append(rows, r)
		}
		rows[k].of[x.Metric] = x
	}
	return rows
}

// metricGrid is the table of a terminal, with a sparkline for each figure that
// there is room for.
func metricGrid(m *api.Metrics, tasks, cluster bool, width int) session.Grid {
	rows := metricRows(m, cluster)
	if cluster {
		return clusterGrid(rows, width)
	}
	kinds := []struct {
		title, metric string
		most          func(*api.MetricSeries) float64
		text          func(float64) string
	}{
		{"GPU USE", "gpu_utilization_ratio", func(*api.MetricSeries) float64 { return 1 }, func(v float64) string { return fmt.Sprintf("%3.0f %%", 100*v) }},
		{"GPU MEMORY", "gpu_memory_bytes", nil, func(v float64) string { return printers.Size(int64(v)) }},
		{"CORES", "cpu_cores", highest, func(v float64) string { return fmt.Sprintf("%5.1f", v) }},
		{"MEMORY", "memory_bytes", highest, func(v float64) string { return printers.Size(int64(v)) }},
		{"WATTS", "gpu_power_watts", nil, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
		{"°C", "gpu_temperature_celsius", nil, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
	}
	kinds = slices.DeleteFunc(kinds, func(k struct {
		title, metric string
		most          func(*api.MetricSeries) float64
		text          func(float64) string
	}) bool {
		return !slices.ContainsFunc(m.Series, func(x api.MetricSeries) bool { return x.Metric == k.metric })
	})
	lines := min(max((width-60)/2, 8), 40) // of two sparklines at most
	g := session.Grid{Whole: true}
	if tasks {
		g.Titles = []string{"TASK"}
	}
	g.Titles = append(g.Titles, "NODE", "GPU")
	for _, k := range kinds {
		g.Titles = append(g.Titles, k.title)
	}
	for _, r := range rows {
		var line []session.Cell
		if tasks {
			line = append(line, session.Cell{Text: r.task})
		}
		line = append(line, session.Cell{Text: r.node}, session.Cell{Text: r.gpu})
		for _, k := range kinds {
			x := r.of[k.metric]
			if x == nil || x.Last == nil {
				line = append(line, session.Cell{Text: ""})
				continue
			}
			text := k.text(*x.Last)
			if t := r.of["gpu_memory_total_bytes"]; k.metric == "gpu_memory_bytes" && t != nil && t.Last != nil {
				text += "/" + printers.Size(int64(*t.Last))
			}
			if k.most != nil {
				text = terminal.Spark(x.Values, lines, k.most(x)) + " " + text
			}
			line = append(line, session.Cell{Text: text})
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// highest is the scale of what has no natural end.
func highest(x *api.MetricSeries) float64 {
	if x.Max == nil {
		return 0
	}
	return *x.Max
}

// clusterGrid has a line for each series of the whole and of projects; what is
// counted in GPUs has one scale.
func clusterGrid(rows []metricRow, width int) session.Grid {
	most := map[bool]float64{}
	unit := func(metric string) bool { return strings.HasPrefix(metric, "gpus") }
	for _, r := range rows {
		for metric, x := range r.of {
			most[unit(metric)] = max(most[unit(metric)], highest(x))
		}
	}
	g := session.Grid{Titles: []string{"OF", "WHAT", "", "NOW", "MEAN", "MAX"}, Whole: true}
	for _, r := range rows {
		for metric, x := range r.of {
			text := func(v *float64) string {
				if v == nil {
					return "-"
				}
				return strconv.FormatFloat(*v, 'f', -1, 64)
			}
			mean := "-"
			if x.Mean != nil {
				mean = fmt.Sprintf("%.1f", *x.Mean)
			}
			g.Rows = append(g.Rows, []session.Cell{
				{Text: cmp.Or(r.project, "all")}, {Text: strings.ReplaceAll(metric, "_", " ")},
				{Text: terminal.Spark(x.Values, min(max(width-60, 10), 60), most[unit(metric)])}, {Text: text(x.Last)}, {Text: mean}, {Text: text(x.Max)},
			})
		}
	}
	return g
}
