package runai

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
	"github.com/musterhq/muster/internal/core/amount"
)

var allFlag = compat.Flag{Names: "all-projects A all", Does: "of all projects"}

// listFlags are flags of lists; those of the second age choose a format.
func listFlags(second bool) []compat.Flag {
	flags := []compat.Flag{
		allFlag,
		{Names: "output o", Arg: "FORMAT", Does: "json, yaml, name or wide"},
		{Names: "status", Arg: "STATUS", Many: true, Does: "only those in this status"},
		{Names: "limit", Arg: "N", Does: "at most so many"},
	}
	if second {
		flags = append(flags, []compat.Flag{
			{Names: "json", Does: "as JSON"}, {Names: "yaml", Does: "as YAML"}, {Names: "table", Does: "as a table (the default)"},
			{Names: "no-headers", Does: "no line of titles"},
			{Names: "offset", Arg: "N", Does: "leave out so many"},
			{Names: "type", Arg: "TYPE", Many: true, Does: "only of this type"},
			{Names: "framework", Arg: "NAME", Does: "only of this framework"},
			{Names: "sort", Arg: "COLUMN", Void: "newer ones come first."},
		}...)
	}
	return flags
}

// column of a list.
type column struct {
	title string
	cell  func(w *api.Workload, now time.Time) string
}

// jobColumns are those of runai list jobs.
var jobColumns = []column{
	{"NAME", func(w *api.Workload, _ time.Time) string { return w.Name }},
	{"STATUS", func(w *api.Workload, _ time.Time) string { return status(w, oldWords) }},
	{"AGE", func(w *api.Workload, now time.Time) string { return cli.Age(now.Sub(time.Time(w.CreatedAt))) }},
	{"NODE", func(w *api.Workload, _ time.Time) string { return node(w) }},
	{"IMAGE", func(w *api.Workload, _ time.Time) string { return compat.Dash(image(w)) }},
	{"TYPE", func(w *api.Workload, _ time.Time) string { return sort(w) }},
	{"PROJECT", func(w *api.Workload, _ time.Time) string { return w.Project }},
	{"USER", func(w *api.Workload, _ time.Time) string { return w.User }},
	{"GPUs Allocated (Requested)", func(w *api.Workload, _ time.Time) string { return gpus(w) }},
	{"PODs Running (Pending)", func(w *api.Workload, _ time.Time) string { return pods(w) }},
	{"SERVICE URL(S)", func(w *api.Workload, _ time.Time) string { return url(w) }},
}

// workloadColumns are those of the lists of the second age.
var workloadColumns = []column{
	{"Workload", func(w *api.Workload, _ time.Time) string { return w.Name }},
	{"Type", func(w *api.Workload, _ time.Time) string { return sortName(w) }},
	{"Status", func(w *api.Workload, _ time.Time) string { return status(w, newWords) }},
	{"Project", func(w *api.Workload, _ time.Time) string { return w.Project }},
	{"Preemptible", func(w *api.Workload, _ time.Time) string {
		return map[bool]string{true: "Yes", false: "No"}[w.Preemptible]
	}},
	{"Running/Req.Pods", func(w *api.Workload, _ time.Time) string {
		return fmt.Sprintf("%d/%d", w.Tasks.Running, compat.Count(w))
	}},
	{"GPU Alloc.", func(w *api.Workload, _ time.Time) string { return allocated(w) }},
	{"Age", func(w *api.Workload, now time.Time) string { return cli.Age(now.Sub(time.Time(w.CreatedAt))) }},
}

// list prints the workloads of a family, by project and name.
func list(c *compat.Call, f family, columns []column) error {
	ws, err := chosen(c, f, columns[0].title == "NAME")
	if err != nil {
		return err
	}
	format := formatOf(c)
	switch format {
	case "", "table", "wide":
	case "name":
		for _, w := range ws {
			if _, err := fmt.Fprintln(c.Out(), w.Name); err != nil {
				return err
			}
		}
		return nil
	default:
		return c.Body(format, api.WorkloadList{Items: ws})
	}
	var titles []string
	for _, col := range columns {
		titles = append(titles, col.title)
	}
	if c.Bool("no-headers") {
		titles = nil
	}
	var rows [][]string
	for i := range ws {
		var row []string
		for _, col := range columns {
			row = append(row, col.cell(&ws[i], c.Now()))
		}
		rows = append(rows, row)
	}
	return c.Table(titles, rows)
}

// recent is for how long a job that has ended is still listed: the platform
// deletes them by itself after 30 days.
const recent = 30 * 24 * time.Hour

func chosen(c *compat.Call, f family, old bool) ([]api.Workload, error) {
	o := client.ListOptions{Project: project(c), Kinds: f.kinds, Since: c.Now().Add(-recent)}
	if c.Bool("all-projects") {
		o.Project = ""
	}
	limit, err := c.Int("limit", 0)
	if err != nil {
		return nil, err
	}
	offset, err := c.Int("offset", 0)
	if err != nil {
		return nil, err
	}
	if limit < 0 || offset < 0 {
		return nil, cli.Wrong("--limit and --offset are not negative", "leave them out to see all")
	}
	words := newWords
	if old {
		words = oldWords
	} else if limit == 0 {
		limit = 50
	}
	switch formatOf(c) {
	case "", "table", "wide", "name":
		o.Table = true
	}
	statuses, types := c.List("status"), c.List("type")
	o.Deleted = slices.ContainsFunc(statuses, func(s string) bool { return strings.EqualFold(s, "deleted") })
	most := 0
	if limit > 0 {
		most = limit + offset
	}
	ws, err := c.Pages(c.Context, o, most, func(w *api.Workload) bool {
		return f.holds(w) && (len(statuses) == 0 || slices.ContainsFunc(statuses, func(s string) bool {
			return strings.EqualFold(s, status(w, words)) || strings.EqualFold(s+"ed", status(w, words))
		})) &&
			(len(types) == 0 || slices.ContainsFunc(types, func(t string) bool {
				return strings.EqualFold(t, w.Kind) || strings.EqualFold(t, sortName(w)) || strings.EqualFold(t, sort(w))
			})) &&
			(!c.Given("framework") || strings.EqualFold(c.Text("framework"), cli.Document(w).Framework))
	})
	if err != nil {
		return nil, err
	}
	ws = ws[min(offset, len(ws)):]
	if limit > 0 {
		ws = ws[:min(limit, len(ws))]
	}
	if ws == nil {
		ws = []api.Workload{}
	}
	if old {
		slices.SortStableFunc(ws, func(a, b api.Workload) int {
			return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Name, b.Name))
		})
	}
	return ws, nil
}

var formatFlags = []compat.Flag{{Names: "json", Does: "as JSON"}, {Names: "yaml", Does: "as YAML"}, {Names: "table", Does: "as a table (the default)"}, {Names: "output o", Arg: "FORMAT", Does: "json or yaml"}}

// formatOf is the format that flags ask for; "": a table.
func formatOf(c *compat.Call) string {
	for _, f := range []string{"yaml", "json"} {
		if c.Bool(f) {
			return f
		}
	}
	return c.Text("output")
}

// as prints a body where another format than a table is asked for.
func as(c *compat.Call, body any) (bool, error) {
	format := formatOf(c)
	if format == "" || format == "table" || format == "wide" {
		return false, nil
	}
	return true, c.Body(format, body)
}

func listProjects(use string) *compat.Command {
	return &compat.Command{Use: use, Also: "project", Short: "List projects", Flags: formatFlags, Run: func(c *compat.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		list, err := conn.Projects.List(c.Context)
		if err != nil {
			return err
		}
		if done, err := as(c, list); done {
			return err
		}
		current := cmp.Or(project(c), "default")
		var rows [][]string
		for _, p := range list.Items {
			name := p.Name
			if name == current {
				name += " (default)"
			}
			rows = append(rows, []string{
				name, compat.Dash(p.Parent), deserved(p), compat.Dash(p.TimeLimit["workspace"]),
				compat.Dash(strings.Join(p.NodeTypes["workspace"], ",")), compat.Dash(strings.Join(p.NodeTypes["training"], ",")),
			})
		}
		return c.Table([]string{"PROJECT", "DEPARTMENT", "DESERVED GPUs", "INT LIMIT", "INT AFFINITY", "TRAIN AFFINITY"}, rows)
	}}
}

// deserved is what a project is promised over all pools.
func deserved(p api.Project) string {
	sum, known := 0.0, false
	for _, q := range p.Pools {
		if q.GPU != nil && q.GPU.Quota != nil {
			sum, known = sum+*q.GPU.Quota, true
		}
	}
	if !known {
		return "unlimited"
	}
	return strconv.FormatFloat(sum, 'f', -1, 64)
}

func listDepartments() *compat.Command {
	return &compat.Command{Use: "list", Also: "ls", Short: "List departments", Flags: formatFlags, Run: func(c *compat.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		list, err := conn.Departments.List(c.Context)
		if err != nil {
			return err
		}
		if done, err := as(c, list); done {
			return err
		}
		var rows [][]string
		for _, p := range list.Items {
			rows = append(rows, []string{p.Name, deserved(p)})
		}
		return c.Table([]string{"DEPARTMENT", "DESERVED GPUs"}, rows)
	}}
}

func listNodes(use string) *compat.Command {
	return &compat.Command{Use: use, Also: "node", Short: "List nodes", Flags: formatFlags, Run: func(c *compat.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		list, err := conn.Nodes.List(c.Context)
		if err != nil {
			return err
		}
		if done, err := as(c, list); done {
			return err
		}
		var rows [][]string
		for _, n := range list.Items {
			rows = append(rows, []string{
				n.Name, nodeStatus(n), compat.Dash(n.Labels["internal-ip"]), "worker",
				amount.Thousandths(n.CPU.Total), amount.Thousandths(n.CPU.Used), bytes(n.Memory.Total), bytes(n.Memory.Used),
				compat.Dash(product(n)), strconv.Itoa(len(n.Devices)), amount.Thousandths(n.GPU.Total - n.GPU.Used),
			})
		}
		return c.Table([]string{"NAME", "STATUS", "IP", "ROLE", "CPU ALLOCATABLE", "CPU ALLOCATED", "MEMORY ALLOCATABLE", "MEMORY ALLOCATED", "GPU TYPE", "GPU ALLOCATABLE", "GPU FREE"}, rows)
	}}
}

func product(n api.Node) string {
	if len(n.Devices) == 0 {
		return ""
	}
	return n.Devices[0].Product
}

func nodeStatus(n api.Node) string {
	switch {
	case !n.Ready, n.CutOff:
		return "NotReady"
	case n.Draining, n.Cordoned:
		return "Ready,SchedulingDisabled"
	}
	return "Ready"
}

// bytes is an amount of memory for people.
func bytes(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}} {
		if n >= u.size {
			return compat.Number(float64(n)/float64(u.size)) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func listClusters(use string) *compat.Command {
	return &compat.Command{Use: use, Also: "cluster", Short: "List clusters", Flags: formatFlags, Run: func(c *compat.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		list, err := conn.Clusters(c.Context)
		if err != nil {
			return err
		}
		if done, err := as(c, list); done {
			return err
		}
		var rows [][]string
		for _, cl := range list.Items {
			rows = append(rows, []string{cl.Name, cmp.Or(project(c), "default")})
		}
		return c.Table([]string{"CLUSTER", "CURRENT PROJECT"}, rows)
	}}
}

func listPools() *compat.Command {
	return &compat.Command{Use: "list", Also: "ls", Short: "List node pools", Flags: formatFlags, Run: func(c *compat.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		list, err := conn.Pools.List(c.Context)
		if err != nil {
			return err
		}
		if done, err := as(c, list); done {
			return err
		}
		var rows [][]string
		for _, p := range list.Items {
			rows = append(rows, []string{p.Name, compat.Dash(p.Selector), strconv.Itoa(p.Nodes), amount.Thousandths(p.GPU.Total), amount.Thousandths(p.GPU.Used)})
		}
		return c.Table([]string{"NODE POOL", "LABEL", "NODES", "GPU DEVICES", "ALLOCATED GPUS"}, rows)
	}}
}
