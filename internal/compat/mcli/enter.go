package mcli

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

var connectFlags = []compat.Flag{
	{Names: "rank node-rank", Arg: "N", Does: "the node, 0 by default"},
	{Names: "command", Arg: "COMMAND", Does: "run this instead of a shell"},
	{Names: "tmux", Does: "a shell in a tmux session of the run, which is made if there is none"},
}

func connect() *compat.Command {
	return &compat.Command{
		Use: "connect [RUN]", Short: "A shell in a run, by default the latest", Most: 1, Names: true, Flags: connectFlags,
		Run: func(c *compat.Call) error {
			w, err := found(c, c.First(), runKinds)
			if err != nil {
				return err
			}
			return enter(c, w)
		},
	}
}

// enter waits until a run runs and connects to it.
func enter(c *compat.Call, w *api.Workload) error {
	rank, err := c.Int("rank", 0)
	if err != nil {
		return err
	}
	runs := func(w *api.Workload) bool {
		return cli.Ended(w) || w.Phase == string(lifecycle.Running) && running(w, rank)
	}
	if !runs(w) {
		c.Say("%s is %s: %s", w.Name, status(w), waiting(w.Statuses[dialect].Status))
		if w, err = c.Until(c.Context, w, runs); err != nil {
			return err
		}
	}
	if cli.Ended(w) {
		return cli.Conflict(fmt.Sprintf("%s is %s", w.Name, status(w)), "mcli run -r "+w.Name+" runs it again")
	}
	args := []string{"exec", w.ID, "--project", w.Project, "--rank", strconv.Itoa(rank)}
	switch {
	case c.Given("command") && c.Bool("tmux"):
		return cli.Wrong("--command contradicts --tmux", "leave one of them out")
	case c.Given("command"):
		args = append(args, "--", "sh", "-c", c.Text("command"))
	case c.Bool("tmux"):
		args = append(args, "-i", "-t", "--", "tmux", "new-session", "-A", "-s", "mcli")
	}
	return c.Muster(c.Context, args...)
}

func running(w *api.Workload, rank int) bool {
	a := compat.Last(w)
	if a == nil {
		return false
	}
	for _, t := range a.Tasks {
		if t.Index == rank && t.State == "running" {
			return true
		}
	}
	return false
}

func interactive() *compat.Command {
	return &compat.Command{
		Use: "interactive [HOURS]", Also: "int", Short: "A run that waits for so many hours, and a shell in it", Most: 1,
		Long: `Submits a run that sleeps for the time given and connects to it. Without --image
it is a process of the machine.`,
		Flags: append([]compat.Flag{
			{Names: "hours max-duration", Arg: "HOURS", Does: "how long it lasts"},
			{Names: "gpus", Arg: "N", Does: "GPUs"},
			{Names: "gpu-type", Arg: "TYPE", Does: "their type"},
			{Names: "cluster platform", Arg: "NAME", Does: "the cluster"},
			{Names: "cpus", Arg: "N", Does: "CPU cores, 1 by default"},
			{Names: "image", Arg: "IMAGE", Does: "its image"},
			{Names: "name", Arg: "NAME", Does: "its name; default: interactive-TYPE-GPUS"},
			{Names: "no-connect", Does: "only submit it"},
			{Names: "reconnect r", Arg: "RUN", Bare: latest, Does: "connect to one that there is, by default the latest"},
		}, connectFlags...),
		Run: submitInteractive,
	}
}

// latest stands for --reconnect without a name.
const latest = "@last"

func submitInteractive(c *compat.Call) error {
	if c.Given("reconnect") {
		name := c.Text("reconnect")
		if name == latest {
			name = c.First() // --reconnect NAME, as people write it too
		}
		w, err := found(c, name, []string{string(lifecycle.Workspace)})
		if err != nil {
			return err
		}
		return enter(c, w)
	}
	text := cmp.Or(c.Text("hours"), c.First())
	hours, err := strconv.ParseFloat(text, 64)
	if err != nil || !(hours > 0) || hours > 1e6 {
		return cli.Wrong(fmt.Sprintf("%q is not a number of hours", text), "mcli interactive 2 --gpus 1 lasts two hours")
	}
	gpus, err := c.Int("gpus", 0)
	if err != nil {
		return err
	}
	kind := cmp.Or(c.Text("gpu-type"), "gpu")
	if gpus == 0 {
		kind = "cpu"
	}
	seconds := max(int(hours*3600), 1)
	doc, err := cli.Edit(&spec.Document{Command: spec.ShellCommand("sleep " + strconv.Itoa(seconds))}, []string{
		"kind=workspace", "restart=never", "name=" + compat.Name(cmp.Or(c.Text("name"), fmt.Sprintf("interactive-%s-%d", kind, gpus))),
		"resources.cpu=" + cmp.Or(c.Text("cpus"), "1"), fmt.Sprintf("maxDuration=%ds", seconds+60),
	})
	if err != nil {
		return err
	}
	w, err := submit(c, doc)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Out(), "Run %s submitted.\n", w.Name); err != nil {
		return err
	}
	if c.Bool("no-connect") {
		c.Say("mcli connect %s opens a shell in it", w.Name)
		return nil
	}
	return enter(c, w)
}
