package runai

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// actFlags are those of delete, suspend and resume.
var actFlags = []compat.Flag{
	{Names: "all-projects A all", Does: "all of one's own; with names, in all projects"},
	{Names: "yes y", Does: "do not ask, where all of one's own are meant"},
	{Names: "name", Arg: "NAME", Many: true, Does: "a workload, as well as behind the command"},
}

// each does something to the workloads that are named, or to all of one's own.
func each(c *compat.Call, f family, live bool, verb, done string, do func(*client.Client, *api.Workload) error) error {
	names := append(slices.Clone(c.Args), c.All("name")...)
	if len(names) > 0 && slices.Contains([]string{"job", "jobs", "workload", "workloads"}, names[0]) {
		names = names[1:]
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	var ws []*api.Workload
	switch {
	case len(names) == 0 && c.Bool("all-projects"):
		me, err := c.Own(c.Context)
		if err != nil {
			return err
		}
		list, err := c.Pages(c.Context, client.ListOptions{User: me, Kinds: f.kinds, Live: live}, 0, f.holds)
		if err != nil {
			return err
		}
		if len(list) > 0 && !c.Bool("yes") {
			if ok, err := c.Confirm(verb, "--yes", list); !ok {
				return err
			}
		}
		for i := range list {
			ws = append(ws, &list[i])
		}
	case len(names) == 0:
		return cli.Wrong(c.Path+" needs the name of a workload", "runai workload list shows all")
	}
	where := project(c)
	if c.Bool("all-projects") {
		where = ""
	}
	for _, name := range names {
		if name == "" { // which is what a script's empty variable is
			return cli.Wrong(c.Path+": a name is empty", "runai workload list shows all")
		}
		w, err := find(c, f, where, name)
		if err != nil {
			return err
		}
		ws = append(ws, w)
	}
	var failed []error
	for _, w := range ws {
		if err := do(conn, w); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", w.Name, err))
			continue
		}
		if _, err := fmt.Fprintf(c.Out(), "%s %s\n", w.Name, done); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func remove(use string, f family) *compat.Command {
	return &compat.Command{Use: use, Also: "del", Short: "End workloads and remove them with their logs", Most: compat.All, Names: true, Flags: actFlags, Run: func(c *compat.Call) error {
		return each(c, f, false, "delete", "deleted", func(conn *client.Client, w *api.Workload) error {
			_, err := conn.Delete(c.Context, w.Project, w.ID)
			return err
		})
	}}
}

func suspend(f family) *compat.Command {
	return &compat.Command{Use: "suspend NAME…", Short: "End workloads; their definition stays", Most: compat.All, Names: true, Flags: actFlags, Run: func(c *compat.Call) error {
		return each(c, f, true, "suspend", "suspended", func(conn *client.Client, w *api.Workload) error {
			_, err := conn.Stop(c.Context, w.Project, w.ID, api.StopOptions{Message: "suspended"})
			return err
		})
	}}
}

func resume(f family) *compat.Command {
	return &compat.Command{Use: "resume NAME…", Short: "Put suspended workloads back in the queue", Most: compat.All, Names: true, Flags: actFlags, Run: func(c *compat.Call) error {
		return each(c, f, false, "resume", "resumed", func(conn *client.Client, w *api.Workload) error {
			_, err := conn.Restart(c.Context, w.Project, w.ID, api.RestartOptions{})
			return err
		})
	}}
}

// updateService gives a service another document.
func updateService(f family) *compat.Command {
	flags := slices.DeleteFunc(SubmitFlags(), func(f compat.Flag) bool {
		return slices.Contains([]string{"help", "attach", "dry-run", "jupyter", "pod-running-timeout", "wait-for-submit", "run-as-user"}, f.Name())
	})
	return &compat.Command{Use: "update NAME [flags]", Short: "Change a service; its replicas are replaced a few at a time", Most: 1, Names: true, Flags: flags, Run: func(c *compat.Call) error {
		w, err := named(c, f)
		if err != nil {
			return err
		}
		over, err := readWords(c, append([]string{"inference", "submit", "--image=" + cmp.Or(image(w), "none")}, c.Passed...))
		if err != nil {
			return err
		}
		if !c.Given("image") {
			over.Image = ""
		}
		doc, err := cli.Overlay(cli.Document(w), over)
		if err != nil {
			return err
		}
		return c.Change(c.Context, w, doc)
	}}
}

func scale(f family) *compat.Command {
	return &compat.Command{
		Use: "scale NAME --replicas N", Short: "Change how many replicas a service has", Most: 1, Names: true,
		Flags: []compat.Flag{{Names: "replicas", Arg: "N", Does: "how many"}, {Names: "name", Arg: "NAME", Does: "the workload, instead of the first word"}},
		Run: func(c *compat.Call) error {
			w, err := named(c, f)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(c.Text("replicas"))
			if err != nil {
				return cli.Wrong(fmt.Sprintf("--replicas: %q is not a number", c.Text("replicas")), "like 3")
			}
			conn, err := c.Connect(c.Context)
			if err != nil {
				return err
			}
			if _, err := conn.Scale(c.Context, w.Project, w.ID, api.ScaleOptions{Replicas: n}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Out(), "%s scaled to %d replicas\n", w.Name, n)
			return err
		},
	}
}
