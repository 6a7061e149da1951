package runai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// podFlags choose a pod.
var podFlags = []compat.Flag{{Names: "pod", Arg: "POD", Does: "the pod, by its name or number"}, {Names: "name", Arg: "NAME", Does: "the workload, instead of the first word"}}

// connected waits until a workload runs and connects this terminal to it.
func connected(c *compat.Call, w *api.Workload) error {
	ctx := c.Context
	if c.Given("pod-running-timeout") {
		d, err := time.ParseDuration(c.Text("pod-running-timeout"))
		if err != nil || d <= 0 {
			return cli.Wrong(fmt.Sprintf("--pod-running-timeout: %q is not a length of time", c.Text("pod-running-timeout")), "like 5m")
		}
		limit, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		now, err := c.Until(limit, w, func(w *api.Workload) bool { return cli.Ended(w) || w.Tasks.Running > 0 })
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return cli.Conflict(fmt.Sprintf("%s does not run after %s; it is %s", w.Name, d, c.Situation(now)), "runai attach "+w.Name+" connects to it later")
		}
		if err != nil {
			return err
		}
	}
	return c.Interact(ctx, w)
}

func logs(f family) *compat.Command {
	return &compat.Command{
		Use: "logs [NAME]", Short: "Output of a workload", Most: 1, Names: true,
		Flags: append(slices.Clone(podFlags),
			compat.Flag{Names: "instance i", Arg: "POD", Does: "the same as --pod"},
			compat.Flag{Names: "container c", Arg: "NAME", Void: "a pod has one container here."},
			compat.Flag{Names: "follow f", Does: "go on until it has ended"},
			compat.Flag{Names: "limit-bytes", Arg: "N", Does: "at most so many bytes"},
			compat.Flag{Names: "previous", Does: "the attempt before the latest"},
			compat.Flag{Names: "since", Arg: "AGE", Does: "only what was written since, like 10m"},
			compat.Flag{Names: "since-time", Arg: "INSTANT", Does: "the same, as an instant"},
			compat.Flag{Names: "tail t", Arg: "N", Does: "only the last lines; -1: all"},
			compat.Flag{Names: "timestamps", Does: "before each line when it was written"},
			compat.Flag{Names: "wait-timeout", Arg: "TIME", Does: "wait so long until it has started"}),
		Run: func(c *compat.Call) error { return showLogs(c, f) },
	}
}

func showLogs(c *compat.Call, f family) error {
	if c.Given("since") && c.Given("since-time") {
		return cli.Wrong("--since contradicts --since-time", "leave one of them out")
	}
	if c.First() == "job" || c.First() == "jobs" {
		c.Args = c.Args[1:]
	}
	w, args, err := entered(c, f)
	if err != nil {
		return err
	}
	if since := cmp.Or(c.Text("since"), c.Text("since-time")); since != "" {
		args = append(args, "--since", since)
	}
	if c.Given("tail") {
		n, err := c.Int("tail", -1)
		if err != nil {
			return err
		}
		if n >= 0 {
			args = append(args, "--tail", strconv.Itoa(n))
		}
	}
	for _, flag := range []string{"follow", "previous", "timestamps"} {
		if c.Bool(flag) {
			args = append(args, "--"+flag)
		}
	}
	line := append([]string{"logs", w.ID, "--project", w.Project}, args...)
	if !c.Given("limit-bytes") {
		return c.Muster(c.Context, line...)
	}
	n, err := c.Int("limit-bytes", 0)
	if err != nil {
		return err
	}
	if n < 0 {
		return cli.Wrong("--limit-bytes is negative", "leave it out to see all")
	}
	return c.Limited(int64(n), func() error { return c.Muster(c.Context, line...) })
}

// begun waits for the start of a workload as long as --wait-timeout says.
func begun(c *compat.Call, w *api.Workload) (*api.Workload, error) {
	if !c.Given("wait-timeout") {
		return w, nil
	}
	d, err := time.ParseDuration(c.Text("wait-timeout"))
	if err != nil || d <= 0 {
		return nil, cli.Wrong(fmt.Sprintf("--wait-timeout: %q is not a length of time", c.Text("wait-timeout")), "like 5m")
	}
	limit, cancel := context.WithTimeout(c.Context, d)
	defer cancel()
	now, err := c.Until(limit, w, func(w *api.Workload) bool { return cli.Ended(w) || w.StartedAt != nil })
	if errors.Is(err, context.DeadlineExceeded) && c.Context.Err() == nil {
		return nil, cli.Conflict(fmt.Sprintf("%s has not started after %s; it is %s", w.Name, d, c.Situation(now)), "runai describe job "+w.Name+" says why")
	}
	return now, err
}

func exec(f family) *compat.Command {
	return &compat.Command{
		Use: "exec NAME [flags] [--] COMMAND…", Short: "Run a command in a workload", Most: 1, Stop: 2, Names: true,
		Flags: append(slices.Clone(podFlags),
			compat.Flag{Names: "container c", Arg: "NAME", Void: "a pod has one container here."},
			compat.Flag{Names: "stdin i", Does: "give it this standard input"},
			compat.Flag{Names: "tty t", Does: "give it a terminal"},
			compat.Flag{Names: "wait-timeout", Arg: "TIME", Does: "wait so long until it has started"}),
		Run: func(c *compat.Call) error {
			if len(c.After) == 0 {
				return cli.Wrong("there is no command", c.Path+" NAME -- COMMAND")
			}
			return enter(c, f, c.After)
		},
	}
}

func bash(f family) *compat.Command {
	return &compat.Command{
		Use: "bash NAME", Short: "A shell in a workload", Most: 1, Names: true,
		Flags: append(slices.Clone(podFlags),
			compat.Flag{Names: "container c", Arg: "NAME", Void: "a pod has one container here."},
			compat.Flag{Names: "wait-timeout", Arg: "TIME", Does: "wait so long until it has started"}),
		Run: func(c *compat.Call) error { return enter(c, f, []string{"bash"}) },
	}
}

// entered is the workload that is named, once it has begun, and the flags of
// muster's that choose its task.
func entered(c *compat.Call, f family) (w *api.Workload, flags []string, err error) {
	if w, err = named(c, f); err != nil {
		return nil, nil, err
	}
	if w, err = begun(c, w); err != nil {
		return nil, nil, err
	}
	flags, err = taskFlag(c, w)
	return w, flags, err
}

func enter(c *compat.Call, f family, command []string) error {
	w, args, err := entered(c, f)
	if err != nil {
		return err
	}
	args = append([]string{"exec", w.ID, "--project", w.Project}, args...)
	shell := len(command) == 1 && command[0] == "bash"
	if c.Bool("stdin") || shell {
		args = append(args, "-i")
	}
	if c.Bool("tty") || shell && c.Interactive() {
		args = append(args, "-t")
	}
	return c.Muster(c.Context, append(append(args, "--"), command...)...)
}

func attach(f family) *compat.Command {
	return &compat.Command{
		Use: "attach NAME", Short: "Connect to a workload's own terminal or streams", Most: 1, Names: true,
		Flags: append(slices.Clone(podFlags),
			compat.Flag{Names: "no-stdin", Does: "only watch"},
			compat.Flag{Names: "no-tty", Void: "whether it has a terminal its submission says."},
			compat.Flag{Names: "stdin i", Void: "what is typed is sent unless --no-stdin is given."},
			compat.Flag{Names: "tty t", Void: "whether it has a terminal its submission says."},
			compat.Flag{Names: "container c", Arg: "NAME", Void: "a pod has one container here."},
			compat.Flag{Names: "wait-timeout", Arg: "TIME", Does: "wait so long until it has started"}),
		Run: func(c *compat.Call) error {
			w, err := named(c, f)
			if err != nil {
				return err
			}
			if w, err = begun(c, w); err != nil {
				return err
			}
			args, err := taskFlag(c, w)
			if err != nil {
				return err
			}
			if c.Bool("no-stdin") {
				args = append(args, "--no-stdin")
			}
			return c.Muster(c.Context, append([]string{"attach", w.ID, "--project", w.Project}, args...)...)
		},
	}
}

func portForward(f family) *compat.Command {
	return &compat.Command{
		Use: "port-forward NAME [[LOCAL:]PORT…]", Short: "Reach ports of a workload from this machine", Most: compat.All, Names: true,
		Flags: append(slices.Clone(podFlags),
			compat.Flag{Names: "port", Arg: "LOCAL:PORT", Many: true, Does: "a port, as well as behind the name"},
			compat.Flag{Names: "address", Arg: "ADDRESS", Void: "it listens on 127.0.0.1 only."},
			compat.Flag{Names: "pod-running-timeout", Arg: "TIME", Void: "a workload that does not run has no ports; --wait-timeout of logs waits."}),
		Run: func(c *compat.Call) error {
			w, err := named(c, f)
			if err != nil {
				return err
			}
			args, err := taskFlag(c, w)
			if err != nil {
				return err
			}
			line := append([]string{"port-forward", w.ID, "--project", w.Project}, args...)
			return c.Muster(c.Context, append(append(line, c.Args[min(1, len(c.Args)):]...), c.All("port")...)...)
		},
	}
}
