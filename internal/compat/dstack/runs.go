package dstack

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// run is the workload of that name.
func run(c *compat.Call) (*api.Workload, error) {
	name, err := c.Need("a run")
	if err != nil {
		return nil, err
	}
	w, err := c.Find(c.Context, c.Text("project"), name)
	if err != nil && cli.CodeOf(err) == cli.CodeOf(cli.Missing("", "")) {
		return nil, cli.Missing(fmt.Sprintf("Run %s not found", name), "dstack ps -a lists runs")
	}
	return w, err
}

// ps is dstack ps.
func ps(c *compat.Call) error {
	for {
		if err := listed(c); err != nil || !c.Bool("watch") {
			return err
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-time.After(2 * time.Second):
		}
	}
}

func listed(c *compat.Call) error {
	n, err := c.Int("last", 0)
	if err != nil || n < 0 {
		return cli.Wrong(fmt.Sprintf("--last: %q is not a number from 1", c.Text("last")), "like 5")
	}
	name := c.First()
	ws, err := c.Pages(c.Context, client.ListOptions{Project: c.Text("project")}, n, func(w *api.Workload) bool {
		return !lifecycle.Kind(w.Kind).Foreign() && (name == "" || w.Name == name)
	})
	if err != nil {
		return err
	}
	if name != "" && len(ws) == 0 {
		return cli.Missing(fmt.Sprintf("Run %s not found", name), "dstack ps -a lists runs")
	}
	if live := slices.DeleteFunc(slices.Clone(ws), func(w api.Workload) bool { return cli.Ended(&w) }); !c.Bool("all") && n == 0 && name == "" && len(live) > 0 {
		ws = live
	} else if !c.Bool("all") && n == 0 && name == "" && len(ws) > 1 {
		ws = ws[:1] // the last that has ended
	}
	switch {
	case c.Bool("json") || c.Text("format") == "json":
		return c.Body("json", map[string]any{"project": cmp.Or(c.Text("project"), "default"), "runs": objects(ws)})
	case c.Given("format") && c.Text("format") != "plain":
		return cli.Wrong(fmt.Sprintf("--format: %q is not a format", c.Text("format")), "plain or json")
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range ws {
		w := &ws[i]
		rows = append(rows, []string{w.Name, compat.Dash(p.Cluster(w)), strings.Join(needs(cli.Document(w)), " "), "-", state(w), cli.Age(c.Now().Sub(time.Time(w.CreatedAt))) + " ago"})
		if a := compat.Last(w); a != nil && c.Bool("verbose") && len(a.Tasks) > 1 {
			for _, t := range a.Tasks {
				rows = append(rows, []string{fmt.Sprintf("   job=%d", t.Index), compat.Dash(t.Node), "", "-", t.State, ""})
			}
		}
	}
	return c.Table([]string{"NAME", "BACKEND", "RESOURCES", "PRICE", "STATUS", "SUBMITTED"}, rows)
}

// state is where a run is, with its exit code once it has one.
func state(w *api.Workload) string {
	text := word(lifecycle.Phase(w.Phase))
	if a := compat.Last(w); a != nil && a.ExitCode != nil && cli.Ended(w) && text != "terminated" {
		return fmt.Sprintf("exited (%d)", *a.ExitCode)
	}
	return text
}

func objects(ws []api.Workload) []map[string]any {
	out := []map[string]any{}
	for i := range ws {
		w := &ws[i]
		o := map[string]any{"id": w.ID, "run_name": w.Name, "project_name": w.Project, "user": w.User, "status": word(lifecycle.Phase(w.Phase)), "submitted_at": time.Time(w.CreatedAt).UTC().Format(time.RFC3339)}
		var jobs []map[string]any
		if a := compat.Last(w); a != nil {
			for _, t := range a.Tasks {
				jobs = append(jobs, map[string]any{"job_num": t.Index, "status": t.State, "instance": t.Node})
			}
			if a.ExitCode != nil {
				o["exit_status"] = *a.ExitCode
			}
		}
		o["jobs"] = jobs
		out = append(out, o)
	}
	return out
}

// task is the task that --job or --replica names, as muster's own flag.
func task(c *compat.Call) ([]string, error) {
	for _, flag := range []string{"job", "replica"} {
		if n, err := c.Int(flag, -1); err != nil {
			return nil, err
		} else if n > 0 {
			return []string{"--task", strconv.Itoa(n)}, nil
		}
	}
	return nil, nil
}

// logs is dstack logs.
func logs(c *compat.Call) error {
	w, err := run(c)
	if err != nil {
		return err
	}
	more, err := task(c)
	if err != nil {
		return err
	}
	if c.Given("since") {
		more = append(more, "--since", c.Text("since"))
	}
	if c.Bool("attach") {
		return followed(c, w, more...)
	}
	return c.Muster(c.Context, append([]string{"logs", w.ID, "--project", w.Project}, more...)...)
}

// attach is dstack attach.
func attach(c *compat.Call) error {
	w, err := run(c)
	if err != nil {
		return err
	}
	if cli.Ended(w) {
		return cli.Conflict(fmt.Sprintf("Run %s has ended: %s", w.Name, state(w)), "dstack logs "+w.Name+" shows what it wrote")
	}
	more, err := task(c)
	if err != nil {
		return err
	}
	for _, port := range cli.Document(w).Ports {
		c.Say("port %d: muster port-forward %s %d opens it here", port.Port, w.Name, port.Port)
	}
	return followed(c, w, more...)
}

// stop is dstack stop.
func stop(c *compat.Call) error {
	w, err := run(c)
	if err != nil {
		return err
	}
	if cli.Ended(w) {
		_, err := fmt.Fprintf(c.Out(), "Run %s is already finished\n", w.Name)
		return err
	}
	if !c.Bool("yes") {
		if ok, err := c.Confirm("stop", "--yes", []api.Workload{*w}); !ok {
			return err
		}
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	o := api.StopOptions{}
	if c.Bool("abort") {
		o.GracePeriod = "0s"
	}
	if _, err := conn.Stop(c.Context, w.Project, w.ID, o); err != nil {
		if p := (*api.Problem)(nil); !errors.As(err, &p) || p.Code != "illegal_phase" { // else it has ended meanwhile
			return err
		}
	}
	_, err = fmt.Fprintf(c.Out(), "Stopping %s...\n", w.Name)
	return err
}

// remove is dstack delete: of the run that a configuration names.
func remove(c *compat.Call) error {
	file, t, err := configuration(c)
	if err != nil {
		return err
	}
	switch kind(t) {
	case "fleet", "volume", "gateway":
		c.Say("%s: a %s is not kept here: there is nothing to delete.", file, kind(t))
		return nil
	}
	doc, err := read(c, file, t)
	if err != nil {
		return err
	}
	w, err := ofThatName(c, doc)
	switch {
	case err != nil:
		return err
	case doc.Name == "":
		return cli.Wrong(file+" names no run", "write name:")
	case w == nil:
		return cli.Missing(fmt.Sprintf("Run %s does not exist", doc.Name), "dstack ps -a lists runs")
	}
	if !c.Bool("yes") {
		if ok, err := c.Confirm("delete", "--yes", []api.Workload{*w}); !ok {
			return err
		}
	}
	if err := replaced(c, w); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "Run %s deleted\n", w.Name)
	return err
}

// metrics is dstack metrics.
func metrics(c *compat.Call) error {
	w, err := run(c)
	if err != nil {
		return err
	}
	return c.Muster(c.Context, "top", w.ID, "--project", w.Project)
}

// setDefault is dstack project set-default.
func setDefault(c *compat.Call) error {
	name, err := c.Need("a project")
	if err != nil {
		return err
	}
	path, err := c.Keep("project", name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "OK: %s is the project, as %s says\n", name, path)
	return err
}

// offerFlags choose nodes.
var offerFlags = []compat.Flag{
	{Names: "gpu", Arg: "SPEC", Does: "only nodes with such GPUs: a name"}, {Names: "max-offers", Arg: "N", Does: "at most so many"}, {Names: "json", Does: "as JSON"}, {Names: "format", Arg: "FORMAT", Does: "plain or json"},
	{Names: "cpu", Arg: "SPEC", Void: "all nodes are listed, with what they have."}, {Names: "memory", Arg: "SPEC", Void: "all nodes are listed, with what they have."}, {Names: "disk", Arg: "SPEC", Void: "disk is neither counted nor limited."}, {Names: "backend b", Arg: "NAME", Many: true, Void: noCloud}, {Names: "region r", Arg: "NAME", Many: true, Void: noCloud},
	{Names: "group-by", Arg: "FIELDS", Void: "each node has a line."}, {Names: "spot", Void: noPrice}, {Names: "on-demand", Void: noPrice}, {Names: "spot-auto", Void: noPrice}, {Names: "max-price", Arg: "PRICE", Void: noPrice}, {Names: "profile", Arg: "NAME", Void: "there are no profiles."},
}

// offer lists nodes.
func offer(c *compat.Call) error {
	most, err := c.Int("max-offers", 50)
	if err != nil {
		return err
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	wanted, _, _ := strings.Cut(strings.ToLower(c.Text("gpu")), ":")
	var rows [][]string
	var list []map[string]any
	for _, n := range p.All.Nodes {
		text := fmt.Sprintf("%dxCPU, %dGB", n.CPU.Total/1000, n.Memory.Total>>30)
		product := ""
		if len(n.Devices) > 0 {
			product = n.Devices[0].Product
			text += fmt.Sprintf(", %dx%s", len(n.Devices), product)
			if m := n.Devices[0].Memory >> 30; m > 0 {
				text += fmt.Sprintf(" (%dGB)", m)
			}
		}
		if len(rows) == most || wanted != "" && !strings.Contains(strings.ToLower(product), wanted) {
			continue
		}
		free := map[bool]string{true: "idle", false: "busy"}[n.Ready && !n.Cordoned && n.GPU.Used < max(n.GPU.Total, 1)]
		rows = append(rows, []string{strconv.Itoa(len(rows) + 1), n.Backend, n.Pool, n.Name, text, "no", "-", free})
		list = append(list, map[string]any{"backend": n.Backend, "region": n.Pool, "instance_type": n.Name, "availability": free, "gpus": len(n.Devices), "gpu": product, "cpus": n.CPU.Total / 1000, "memory_mib": n.Memory.Total >> 20})
	}
	if c.Bool("json") || c.Text("format") == "json" {
		return c.Body("json", map[string]any{"offers": list, "total_offers": len(list)})
	}
	if len(rows) == 0 {
		c.Say("No matching instance offers available: dstack offer lists all nodes.")
		return nil
	}
	return c.Table([]string{"#", "BACKEND", "REGION", "INSTANCE TYPE", "RESOURCES", "SPOT", "PRICE", ""}, rows)
}

// fleets lists nodes as instances.
func fleets(c *compat.Call) error {
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return err
	}
	var rows [][]string
	for i, n := range p.All.Nodes {
		status := map[bool]string{true: "idle", false: "busy"}[n.CPU.Used == 0]
		if !n.Ready {
			status = "unreachable"
		}
		rows = append(rows, []string{n.Pool, strconv.Itoa(i), n.Backend, fmt.Sprintf("cpu=%d mem=%dGB gpu=%d", n.CPU.Total/1000, n.Memory.Total>>30, len(n.Devices)), "-", status})
	}
	return c.Table([]string{"FLEET", "INSTANCE", "BACKEND", "RESOURCES", "PRICE", "STATUS"}, rows)
}
