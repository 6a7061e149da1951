package runai

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

func describe(use, also string, f family, words string) *compat.Command {
	flags := append([]compat.Flag{
		{Names: "name", Arg: "NAME", Does: "the workload, instead of the word behind the command"},
		{Names: "output o", Arg: "FORMAT", Does: "json, yaml or wide"},
	}, formatFlags[:3]...)
	for _, part := range []string{"general", "compute", "pods", "events", "networks"} {
		flags = append(flags, compat.Flag{Names: part, Void: "everything is always shown."})
	}
	return &compat.Command{Use: use, Also: also, Short: "Everything about a workload", Most: 1, Names: true, Flags: flags, Run: func(c *compat.Call) error {
		w, err := named(c, f)
		if err != nil {
			return err
		}
		if done, err := as(c, w); done {
			return err
		}
		return facts(c, w, words)
	}}
}

func facts(c *compat.Call, w *api.Workload, words string) error {
	d := cli.Document(w)
	gpuMemory := "-"
	if m := d.Resources.GPU.Memory; m > 0 {
		gpuMemory = m.String()
	}
	parallelism, completions := "1", "1"
	if a := d.Array; a != nil {
		completions = strconv.Itoa(compat.Count(w))
		if parallelism = completions; a.Parallelism > 0 {
			parallelism = strconv.Itoa(a.Parallelism)
		}
	}
	kind := sort(w)
	if words == newWords {
		kind = sortName(w)
	}
	of := func(b bool) string { return strconv.FormatBool(b) }
	rows := [][]string{
		{"Name:", w.Name},
		{"Namespace:", "runai-" + w.Project},
		{"Type:", kind},
		{"Status:", status(w, words)},
		{"Training Duration:", duration(w, c.Now())},
		{"GPUs:", amount.GPUs(gpusOf(w))},
		{"Total Requested GPUs:", amount.GPUs(w.GPUs)},
		{"Allocated GPUs:", allocated(w)},
		{"Allocated GPUs memory:", gpuMemory},
		{"Running PODs:", strconv.Itoa(w.Tasks.Running)},
		{"Pending PODs:", strconv.Itoa(waiting(w))},
		{"Parallelism:", parallelism},
		{"Completions:", completions},
		{"Succeeded PODs:", strconv.Itoa(w.Tasks.Succeeded)},
		{"Failed PODs:", strconv.Itoa(failedPods(w))},
		{"Is Distributed Workload:", of(lifecycle.Kind(w.Kind).Ranked())},
		{"Created By CLI:", of(!lifecycle.Kind(w.Kind).Foreign())},
		{"Service URL(s):", url(w)},
		{"Command Line:", line(w)},
	}
	if w.Pending != nil && len(w.Pending.Reasons) > 0 {
		rows = append(rows, []string{"Waits For:", c.Reword(w.Pending.Reasons[0].Message)})
	}
	if err := c.Table(nil, rows); err != nil {
		return err
	}
	if err := podTable(c, w); err != nil {
		return err
	}
	return events(c, w)
}

// gpusOf is what a job asks for that is one: of a gang all of it, else what each
// of its pods gets.
func gpusOf(w *api.Workload) float64 {
	if cli.Document(w).Gang() {
		return w.GPUs
	}
	return w.GPUs / float64(max(compat.Count(w), 1))
}

// line is what a workload runs, in one line.
func line(w *api.Workload) string {
	d := cli.Document(w)
	text := strings.Join(strings.Fields(d.Command.String()), " ")
	if len(d.Args) > 0 {
		text = strings.TrimSpace(text + " " + strings.Join(d.Args, " "))
	}
	return text
}

// duration is how long a workload has run, over all its attempts.
func duration(w *api.Workload, now time.Time) string {
	var sum time.Duration
	for _, a := range w.Attempts {
		if a.RunningAt == nil {
			continue
		}
		end := now
		if a.EndedAt != nil {
			end = compat.At(a.EndedAt)
		}
		sum += max(end.Sub(compat.At(a.RunningAt)), 0)
	}
	return cli.Age(sum)
}

func podTable(c *compat.Call, w *api.Workload) error {
	a := compat.Last(w)
	if a == nil || len(a.Tasks) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(c.Out(), "\nPods:"); err != nil {
		return err
	}
	var rows [][]string
	for i := range a.Tasks {
		t := &a.Tasks[i]
		age := "-"
		if t.PlacedAt != nil {
			age = cli.Age(c.Now().Sub(compat.At(t.PlacedAt)))
		}
		rows = append(rows, []string{pod(w, t), podStatus(t), strings.ToUpper(sort(w)), age, compat.Dash(t.Node)})
	}
	return c.Table([]string{"POD", "STATUS", "TYPE", "AGE", "NODE"}, rows)
}

// podStatus is the status of a pod as Kubernetes would print it.
func podStatus(t *api.Task) string {
	if t.Waiting != "" {
		return t.Waiting
	}
	switch t.State {
	case "pending":
		return "Pending"
	case "starting":
		return "ContainerCreating"
	case "succeeded":
		return "Succeeded"
	case "stopping":
		return "Terminating"
	case "failed":
		if t.Reason == string(lifecycle.ReasonOutOfMemory) {
			return "OOMKilled"
		}
		return "Error"
	case "lost":
		return "Unknown"
	}
	return "Running"
}

func describeNodes(c *compat.Call) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Nodes.List(c.Context)
	if err != nil {
		return err
	}
	busy, err := utilizations(c, conn)
	if err != nil {
		return err
	}
	found := false
	for _, n := range list.Items {
		if c.First() != "" && n.Name != c.First() {
			continue
		}
		if found {
			if _, err := fmt.Fprintln(c.Out()); err != nil {
				return err
			}
		}
		found = true
		err := c.Table(nil, [][]string{
			{"Name:", n.Name}, {"Status:", nodeStatus(n)}, {"Node Pool:", n.Pool},
			{"CPU:", amount.Thousandths(n.CPU.Used) + " of " + amount.Thousandths(n.CPU.Total)},
			{"Memory:", bytes(n.Memory.Used) + " of " + bytes(n.Memory.Total)},
			{"GPUs:", amount.Thousandths(n.GPU.Used) + " of " + amount.Thousandths(n.GPU.Total) + " allocated"},
			{"Pods:", strconv.Itoa(n.Tasks)},
		})
		if err != nil {
			return err
		}
		if err := gpuTable(c, n, busy[n.Name]); err != nil {
			return err
		}
	}
	if !found && c.First() != "" {
		return cli.Missing(fmt.Sprintf("there is no node %q", c.First()), "runai list nodes lists them")
	}
	return nil
}

// utilizations is how busy each GPU was when it was last looked at, by node and
// identity.
func utilizations(c *compat.Call, conn *client.Client) (map[string]map[string]string, error) {
	held, err := conn.Nodes.Holdings(c.Context)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, n := range held.Nodes {
		out[n.Name] = map[string]string{}
		for _, d := range n.Devices {
			if d.Utilization != nil {
				out[n.Name][d.ID] = fmt.Sprintf("%.0f%%", *d.Utilization*100)
			}
		}
	}
	return out, nil
}

// gpuTable is the GPUs of a node. What of their memory is in use, and since when
// they are idle, the server does not tell.
func gpuTable(c *compat.Call, n api.Node, busy map[string]string) error {
	if len(n.Devices) == 0 {
		return nil
	}
	var rows [][]string
	for _, d := range n.Devices {
		rows = append(rows, []string{fmt.Sprintf("%d (%s)", d.Index, d.Product), fmt.Sprintf("%d%%", d.Used/10), cmp.Or(busy[d.ID], "-"), bytes(d.Memory), "-", "-"})
	}
	return c.Table([]string{"GPU", "ALLOCATED", "UTILIZATION", "MEMORY", "MEMORY USAGE", "IDLE TIME"}, rows)
}

func topNodes(c *compat.Call) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Nodes.List(c.Context)
	if err != nil {
		return err
	}
	percent := func(a api.Amount) string {
		if a.Total == 0 {
			return "-"
		}
		return fmt.Sprintf("%d%%", a.Used*100/a.Total)
	}
	var rows [][]string
	for _, n := range list.Items {
		rows = append(rows, []string{n.Name, nodeStatus(n), amount.Thousandths(n.GPU.Total), percent(n.GPU), amount.Thousandths(n.CPU.Total), percent(n.CPU), bytes(n.Memory.Total), percent(n.Memory)})
	}
	if err := c.Table([]string{"NAME", "STATUS", "GPU CAPACITY", "GPU ALLOCATED", "CPU CAPACITY", "CPU ALLOCATED", "MEMORY CAPACITY", "MEMORY ALLOCATED"}, rows); err != nil {
		return err
	}
	if !c.Bool("details") {
		return nil
	}
	busy, err := utilizations(c, conn)
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		if _, err := fmt.Fprintf(c.Out(), "\n%s: CPU %s of %s, memory %s of %s\n", n.Name, amount.Thousandths(n.CPU.Used), amount.Thousandths(n.CPU.Total), bytes(n.Memory.Used), bytes(n.Memory.Total)); err != nil {
			return err
		}
		if err := gpuTable(c, n, busy[n.Name]); err != nil {
			return err
		}
	}
	return nil
}

func topJobs(c *compat.Call) error {
	ws, err := chosen(c, family{}, true)
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range ws {
		w := &ws[i]
		if cli.Ended(w) {
			continue
		}
		cpu := cli.Document(w).Resources.CPU.Milli() * int64(w.Tasks.Running)
		rows = append(rows, []string{w.Name, w.Project, w.User, gpus(w), compat.Hours(w.GPUSeconds), amount.Thousandths(cpu), duration(w, c.Now())})
	}
	return c.Table([]string{"NAME", "PROJECT", "USER", "GPUs Allocated (Requested)", "GPU HOURS", "CPU", "RUNNING"}, rows)
}
