package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// Scancel is scancel.
func Scancel() *compat.Command {
	return &compat.Command{
		Use: "scancel [JOB[_TASK][.STEP]…]", Words: &terms.Words, Short: "End jobs", Most: compat.All, Loose: true,
		Flags: []compat.Flag{
			{Names: "account A", Arg: "NAME", Many: true, Does: "jobs of these projects"},
			{Names: "batch b", Does: "--signal is for the batch script alone"},
			{Names: "ctld", Void: "everything goes through the server."},
			{Names: "clusters M", Arg: "NAMES", Many: true, Does: "only jobs in these clusters"},
			{Names: "cron", Void: "a run by the clock is a job like others; scrontab -e or muster schedule suspend ends what starts them."},
			{Names: "full f", Does: "--signal is for the batch script, too, and all that it has started"},
			{Names: "hurry H", Void: "there are no burst buffers to write back."},
			{Names: "interactive i", Does: "ask first"},
			{Names: "jobname n name", Arg: "NAME", Many: true, Does: "jobs of these names"},
			{Names: "me", Does: "all of one's own"},
			{Names: "nodelist w", Arg: "NODES", Many: true, Does: "only jobs on these nodes"},
			{Names: "partition p", Arg: "NAME", Many: true, Does: "only jobs in these pools"},
			{Names: "qos q", Arg: "NAME", Many: true, Does: "only jobs of these priorities"},
			{Names: "quiet Q", Does: "say nothing of jobs that have ended already"},
			{Names: "reservation R", Arg: "NAME", Many: true, Does: "only jobs of these reservations"},
			{Names: "sibling", Arg: "NAME", Void: "there is one server for all clusters."},
			{Names: "signal s", Arg: "SIGNAL", Does: "KILL ends a job without waiting, TERM and INT politely; others, and with --batch, --full or a step (JOB.0) all, are sent"},
			{Names: "state t", Arg: "STATE", Many: true, Does: "only jobs in these states"},
			{Names: "user u", Arg: "NAME", Many: true, Does: "jobs of these users"},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			{Names: "wckey", Arg: "KEY", Void: "there are no such keys.", Refused: true},
			terms.Version,
		},
		Run: scancel,
	}
}

func scancel(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	sig, err := signalNamed(c)
	if err != nil {
		return err
	}
	ws, err := cancelled(c)
	if err != nil {
		return err
	}
	if c.Bool("interactive") && len(ws) > 0 {
		all := make([]api.Workload, len(ws))
		for i, w := range ws {
			all[i] = *w.Workload
		}
		if ok, err := c.Confirm("cancel", "no --interactive", all); !ok {
			return err
		}
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	var failed []error
	grace := ""
	if sig == "KILL" {
		grace = "0s"
	}
	for _, w := range ws {
		if cli.Ended(w.Workload) {
			if !c.Bool("quiet") {
				c.Say("scancel: job %d (%s) has ended already: %s", w.Number, w.Name, terms.StateOf(w.Workload).Long)
			}
			continue
		}
		if which := aimOf(c, sig, w.step); which != "" {
			if err := send(c, conn, w, which, sig); err != nil {
				failed = append(failed, fmt.Errorf("job %d: %w", w.Number, err))
			}
			continue
		}
		_, err := conn.Stop(c.Context, w.Project, w.ID, api.StopOptions{GracePeriod: grace, Tasks: w.tasks})
		if p := (*api.Problem)(nil); errors.As(err, &p) && p.Code == "illegal_phase" { // it ends, or has ended meanwhile
			if !c.Bool("quiet") {
				c.Say("scancel: job %d (%s) is ending already", w.Number, w.Name)
			}
			continue
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("job %d: %w", w.Number, err))
		}
	}
	return errors.Join(failed...)
}

// victim is a job that is to be ended, or some tasks of it.
type victim struct {
	*api.Workload
	tasks []int  // nil: all of it
	step  string // of it; empty: not only one
}

// cancelled are the jobs that ids and flags select.
func cancelled(c *compat.Call) ([]victim, error) {
	filters := []string{"account", "jobname", "me", "nodelist", "partition", "qos", "reservation", "state", "user", "clusters"}
	filtered := slices.ContainsFunc(filters, c.Given)
	if len(c.Args) == 0 && !filtered {
		return nil, cli.Wrong("No job identification provided", "scancel JOB, or a filter such as --me")
	}
	p, err := compat.Places(c.Context, c.Tool)
	if err != nil {
		return nil, err
	}
	chosen, _, err := selected(c, p, "jobname", "state")
	if err != nil {
		return nil, err
	}
	keep := func(w *api.Workload) bool { return chosen(w) && reservedIn(w, c.List("reservation")) }
	var out []victim
	if len(c.Args) == 0 {
		ws, err := c.Pages(c.Context, client.ListOptions{Live: true}, 0, keep)
		for i := range ws {
			out = append(out, victim{Workload: &ws[i]})
		}
		return out, err
	}
	for _, id := range c.Args {
		id, step, stepped := strings.Cut(id, ".")
		if n, err := strconv.ParseUint(step, 10, 31); stepped && step != "batch" && (err != nil || strconv.FormatUint(n, 10) != step) {
			return nil, cli.Wrong(fmt.Sprintf("Invalid job id %s.%s", id, step), "a step is a number, such as "+id+".0, or "+id+".batch")
		}
		number, part, some := strings.Cut(id, "_")
		if err := terms.Whole("ended", []string{number}); err != nil {
			return nil, err
		}
		var tasks []int
		ws, err := terms.FindEach(c, number, part)
		if err != nil && !some {
			if array, index, is := terms.TaskOf(c, number); is {
				ws, tasks, err = []*api.Workload{array}, []int{index}, nil
			}
		}
		if err != nil {
			return nil, err
		}
		for _, w := range ws {
			if some {
				if tasks, err = terms.Tasks(w, id, part); err != nil {
					return nil, err
				}
			}
			if keep(w) {
				out = append(out, victim{w, tasks, step})
			}
		}
	}
	return out, nil
}
