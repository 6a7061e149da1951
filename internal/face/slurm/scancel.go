package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/face"
)

// Scancel is scancel.
func Scancel() *face.Command {
	return &face.Command{
		Use: "scancel [JOB…]", Short: "End jobs", Most: face.All, Loose: true,
		Flags: []face.Flag{
			{Names: "account A", Arg: "NAME", Many: true, Does: "jobs of these projects"},
			{Names: "batch b", Void: "the script and what it started are ended together; --signal sends nothing else.", Refused: true},
			{Names: "ctld", Void: "everything goes through the server."},
			{Names: "clusters M", Arg: "NAMES", Many: true, Does: "only jobs in these clusters"},
			{Names: "cron", Void: "there are no jobs by the clock."},
			{Names: "full f", Void: "a job is always ended with all of its processes."},
			{Names: "hurry H", Void: "there are no burst buffers to write back."},
			{Names: "interactive i", Does: "ask first"},
			{Names: "jobname n name", Arg: "NAME", Many: true, Does: "jobs of these names"},
			{Names: "me", Does: "all of one's own"},
			{Names: "nodelist w", Arg: "NODES", Many: true, Does: "only jobs on these nodes"},
			{Names: "partition p", Arg: "NAME", Many: true, Does: "only jobs in these pools"},
			{Names: "qos q", Arg: "NAME", Many: true, Does: "only jobs of these priorities"},
			{Names: "quiet Q", Does: "say nothing of jobs that have ended already"},
			{Names: "reservation R", Arg: "NAME", Void: "there are no reservations in advance.", Refused: true},
			{Names: "sibling", Arg: "NAME", Void: "there is one server for all clusters."},
			{Names: "signal s", Arg: "SIGNAL", Does: "KILL ends without waiting, TERM and INT politely; others cannot be sent"},
			{Names: "state t", Arg: "STATE", Many: true, Does: "only jobs in these states"},
			{Names: "user u", Arg: "NAME", Many: true, Does: "jobs of these users"},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			{Names: "wckey", Arg: "KEY", Void: "there are no such keys.", Refused: true},
			versionFlag,
		},
		Run: scancel,
	}
}

func scancel(c *face.Call) error {
	if done, err := asked(c); done {
		return err
	}
	grace := ""
	switch s := strings.TrimPrefix(strings.ToUpper(c.Text("signal")), "SIG"); s {
	case "", "TERM", "15", "INT", "2":
	case "KILL", "9":
		grace = "0s"
	default:
		return cli.Wrong(fmt.Sprintf("--signal: %s cannot be sent to a job from outside", s), "muster exec JOB -- kill -"+s+" PID sends it in a task; KILL, TERM and INT end the job")
	}
	ws, err := cancelled(c)
	if err != nil {
		return err
	}
	if c.Bool("interactive") && len(ws) > 0 {
		if ok, err := c.Confirm("cancel", "no --interactive", ws); !ok {
			return err
		}
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	var failed []error
	for _, w := range ws {
		if cli.Ended(&w) {
			if !c.Bool("quiet") {
				c.Say("scancel: job %d (%s) has ended already: %s", w.Number, w.Name, stateOf(&w).long)
			}
			continue
		}
		if _, err := conn.Stop(c.Context, w.Project, w.ID, api.StopOptions{GracePeriod: grace}); err != nil {
			failed = append(failed, fmt.Errorf("job %d: %w", w.Number, err))
		}
	}
	return errors.Join(failed...)
}

// cancelled are the jobs that ids and flags select.
func cancelled(c *face.Call) ([]api.Workload, error) {
	for _, id := range c.Args {
		if strings.Contains(id, "_") && !strings.Contains(id, "_[") {
			return nil, cli.Wrong(id+" is one task of an array: only the whole array can be ended", "scancel "+id[:strings.IndexByte(id, '_')])
		}
		if strings.Contains(id, ".") {
			return nil, cli.Wrong(id+" is a step: only the whole job can be ended", "scancel "+id[:strings.IndexByte(id, '.')])
		}
	}
	filters := []string{"account", "jobname", "me", "nodelist", "partition", "qos", "state", "user", "clusters"}
	filtered := slices.ContainsFunc(filters, c.Given)
	if len(c.Args) == 0 && !filtered {
		return nil, cli.Wrong("No job identification provided", "scancel JOB, or a filter such as --me")
	}
	p, err := face.Places(c.Context, c.Tool)
	if err != nil {
		return nil, err
	}
	states, _, err := wantedStates(c.List("state"))
	if err != nil {
		return nil, err
	}
	users := c.List("user")
	if c.Bool("me") {
		users = append(users, c.Me())
	}
	in := func(flag string, values ...string) bool {
		list := c.List(flag)
		return len(list) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	keep := func(w *api.Workload) bool {
		return (len(users) == 0 || slices.Contains(users, w.User)) && in("account", w.Project) && in("jobname", name(w), w.Name) && in("qos", qos(w)) &&
			in("clusters", p.Cluster(w)) && in("partition", strings.Split(partition(p, w), ",")...) && in("nodelist", face.Nodes(face.Last(w))...) &&
			(len(states) == 0 || slices.Contains(states, stateOf(w).long))
	}
	if len(c.Args) == 0 {
		return c.Pages(c.Context, client.ListOptions{Live: true}, 0, keep)
	}
	found, err := jobs(c, c.Args)
	var out []api.Workload
	for _, w := range found {
		if keep(w) {
			out = append(out, *w)
		}
	}
	return out, err
}
