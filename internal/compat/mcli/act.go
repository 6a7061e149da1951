package mcli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// actFlags are those of stop and delete.
var actFlags = append(slices.Clone(chooseFlags),
	compat.Flag{Names: "all a", Does: "all of one's own"},
	compat.Flag{Names: "force y yes", Does: "do not ask"})

func stopRuns() *compat.Command {
	return &compat.Command{
		Use: "runs [NAME|GLOB…]", Also: "run r", Short: "End runs; their configuration and logs stay", Most: compat.All, Names: true,
		Flags: append(slices.Clone(actFlags), compat.Flag{Names: "reason", Arg: "TEXT", Does: "why; shown with the status"}),
		Run:   func(c *compat.Call) error { return each(c, "stop", runKinds) },
	}
}

func stopDeployments() *compat.Command {
	return &compat.Command{
		Use: "deployments [NAME|GLOB…]", Also: "deployment", Short: "End deployments", Most: compat.All, Names: true, Flags: actFlags,
		Run: func(c *compat.Call) error { return each(c, "stop", deploymentKinds) },
	}
}

func deleteRuns() *compat.Command {
	return &compat.Command{
		Use: "runs [NAME|GLOB…]", Also: "run r", Short: "End runs and remove them with their logs", Most: compat.All, Names: true, Flags: actFlags,
		Run: func(c *compat.Call) error { return each(c, "delete", runKinds) },
	}
}

func deleteDeployments() *compat.Command {
	return &compat.Command{
		Use: "deployments [NAME|GLOB…]", Also: "deployment", Short: "End deployments and remove them", Most: compat.All, Names: true, Flags: actFlags,
		Run: func(c *compat.Call) error { return each(c, "delete", deploymentKinds) },
	}
}

// each stops or deletes what is chosen. Names are enough of an answer to
// whether it is meant; filters are asked about.
func each(c *compat.Call, verb string, kinds []string) error {
	if len(c.Args) == 0 && !c.Bool("all") && !given(c, filters) {
		return cli.Wrong("Must specify at least one filter or --all", c.Path+" NAME, or a filter such as --status running")
	}
	if !literal(c) && !c.Bool("all-users") && len(c.List("user")) == 0 {
		if _, err := c.Own(c.Context); err != nil { // lists show everybody's then, but nothing of others may end
			return err
		}
	}
	ws, err := chosen(c, kinds, 0)
	if err != nil {
		return err
	}
	if verb == "stop" {
		ws = slices.DeleteFunc(ws, func(w api.Workload) bool {
			if over := cli.Ended(&w); over && len(c.Args) > 0 {
				c.Say("%s has ended already: %s", w.Name, status(&w))
				return true
			} else {
				return over
			}
		})
	}
	if len(ws) == 0 {
		c.Say("There is nothing to %s.", verb)
		return nil
	}
	if !literal(c) && !c.Bool("force") {
		if ok, err := c.Confirm(verb, "--force", ws); !ok {
			return err
		}
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	var failed []error
	for _, w := range ws {
		if verb == "stop" {
			_, err = conn.Stop(c.Context, w.Project, w.ID, api.StopOptions{Message: c.Text("reason")})
		} else {
			_, err = conn.Delete(c.Context, w.Project, w.ID)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", w.Name, err))
			continue
		}
		if _, err := fmt.Fprintf(c.Out(), "%s %s.\n", map[string]string{"stop": "Stopping", "delete": "Deleted"}[verb], w.Name); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func deleteSecrets() *compat.Command {
	return &compat.Command{
		Use: "secrets [NAME…]", Also: "secret s", Short: "Delete secrets", Most: compat.All,
		Flags: []compat.Flag{{Names: "all a", Does: "all of them"}, {Names: "force y yes", Does: "do not ask"}},
		Run: func(c *compat.Call) error {
			names := slices.Clone(c.Args)
			if len(names) == 0 && !c.Bool("all") {
				return cli.Wrong("Must specify at least one name or --all", c.Path+" NAME")
			}
			if c.Bool("all") || slices.ContainsFunc(names, compat.IsGlob) {
				conn, err := c.Connect(c.Context)
				if err != nil {
					return err
				}
				list, err := conn.Secrets.List(c.Context)
				if err != nil {
					return err
				}
				patterns := names
				names = nil
				for _, s := range list.Items {
					if c.Bool("all") || compat.Matches(patterns, s.Name) {
						names = append(names, s.Name)
					}
				}
			}
			if len(names) == 0 {
				c.Say("There is nothing to delete.")
				return nil
			}
			args := append([]string{"secret", "delete"}, names...)
			if c.Bool("force") || !c.Interactive() && !c.Bool("all") && literal(c) {
				args = append(args, "--yes")
			}
			return c.Muster(c.Context, args...)
		},
	}
}

func updateRun() *compat.Command {
	return &compat.Command{
		Use: "run NAME", Also: "runs", Short: "Change the priority or limits of a run", Most: 1, Names: true,
		Flags: slices.Concat(schedulingFlags, []compat.Flag{
			{Names: "retry-on-system-failure", Does: "try again what a lost node ends"},
			{Names: "no-retry-on-system-failure", Does: "do not"},
		}),
		Run: func(c *compat.Call) error {
			name, err := c.Need("the name of a run")
			if err != nil {
				return err
			}
			changes, err := scheduling(c)
			if err != nil {
				return err
			}
			if len(changes) == 0 {
				return cli.Wrong("there is nothing to change", "give --priority, --preemptible, --max-retries or --max-duration")
			}
			w, err := found(c, name, runKinds)
			if err != nil {
				return err
			}
			return amend(c, w, changes)
		},
	}
}

// amend changes how a run is scheduled that has not ended.
func amend(c *compat.Call, w *api.Workload, changes []string) error {
	done, err := c.Amend(c.Context, w, changes)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "Updated %s.\n", done.Name)
	return err
}

func updateDeployment() *compat.Command {
	return &compat.Command{
		Use: "deployment NAME", Also: "deployments", Short: "Change the image or the number of replicas of a deployment", Most: 1, Names: true,
		Flags: []compat.Flag{{Names: "image", Arg: "IMAGE", Does: "its new image; replicas are replaced a few at a time"}, {Names: "replicas", Arg: "N", Does: "how many replicas"}},
		Run: func(c *compat.Call) error {
			name, err := c.Need("the name of a deployment")
			if err != nil {
				return err
			}
			w, err := found(c, name, deploymentKinds)
			if err != nil {
				return err
			}
			if !c.Given("image") && !c.Given("replicas") {
				return cli.Wrong("there is nothing to change", "give --image or --replicas")
			}
			if c.Given("image") {
				if err := c.Muster(c.Context, "update", w.ID, "--project", w.Project, "--image", c.Text("image")); err != nil {
					return err
				}
			}
			if !c.Given("replicas") {
				return nil
			}
			n, err := c.Int("replicas", 0)
			if err != nil {
				return err
			}
			conn, err := c.Connect(c.Context)
			if err != nil {
				return err
			}
			_, err = conn.Scale(c.Context, w.Project, w.ID, api.ScaleOptions{Replicas: n})
			return err
		},
	}
}

func watchdog() *compat.Command {
	return &compat.Command{
		Use: "watchdog RUN", Short: "Try a run again when it or its nodes fail", Most: 1, Names: true,
		Flags: []compat.Flag{{Names: "disable", Does: "do not any more"}, {Names: "max-retries", Arg: "N", Does: "how often, 10 by default"}},
		Run: func(c *compat.Call) error {
			name, err := c.Need("the name of a run")
			if err != nil {
				return err
			}
			w, err := found(c, name, runKinds)
			if err != nil {
				return err
			}
			if st := w.Statuses[dialect]; st.End || strings.EqualFold(st.Status, "terminating") {
				return cli.Conflict(fmt.Sprintf("%s is %s: there is nothing left to watch", w.Name, status(w)), "mcli run -r "+w.Name+" runs it again")
			}
			n, err := c.Int("max-retries", 10)
			if err != nil {
				return err
			}
			changes := []string{"retry.limit=" + strconv.Itoa(n), "retry.system=" + strconv.Itoa(max(n, 1))}
			if c.Bool("disable") {
				changes = []string{"retry.limit=0", "retry.system=0"}
			}
			return amend(c, w, changes)
		},
	}
}
