package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// selected is whether a job is one of those that the flags of squeue and
// scancel select, and whether such a job may have ended. The two call the flags
// for names and states differently.
func selected(c *compat.Call, p *compat.Place, names, states string) (keep func(*api.Workload) bool, ended bool, err error) {
	wanted, ended, err := wantedStates(c.List(states))
	if err != nil {
		return nil, false, err
	}
	users := c.List("user")
	if c.Bool("me") {
		me, err := c.Own(c.Context)
		if err != nil {
			return nil, false, err
		}
		users = append(users, me)
	}
	in := func(flag string, values ...string) bool {
		list := c.List(flag)
		return len(list) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	return func(w *api.Workload) bool {
		return (len(users) == 0 || slices.Contains(users, w.User)) && in("account", w.Project) && in(names, terms.Name(w), w.Name) && in("qos", terms.QOS(w)) &&
			in("clusters", p.Cluster(w)) && in("partition", strings.Split(terms.Partition(p, w), ",")...) && in("nodelist", compat.Nodes(compat.Last(w))...) &&
			(len(wanted) == 0 || slices.Contains(wanted, terms.StateOf(w).Long) || states == "states" && cli.Document(w).Array != nil && !cli.Ended(w)) // its tasks have states of their own
	}, ended, nil
}

// endedState reports whether a job that has ended may be in a state.
func endedState(long string) bool {
	if long == "OUT_OF_MEMORY" {
		return true
	}
	for phase, s := range terms.States {
		if s.Long == long && phase.End() {
			return true
		}
	}
	return false
}

func wantedStates(words []string) (long []string, ended bool, err error) {
	for _, text := range words {
		if strings.EqualFold(text, "all") {
			return nil, true, nil
		}
		i := slices.IndexFunc(terms.KnownStates(), func(s terms.State) bool { return strings.EqualFold(s.Long, text) || strings.EqualFold(s.Short, text) })
		if i < 0 {
			var all []string
			for _, s := range terms.KnownStates() {
				all = append(all, s.Long+" ("+s.Short+")")
			}
			return nil, false, cli.Wrong(fmt.Sprintf("Invalid job state specified: %s", text), "one of "+strings.Join(all, ", ")+", all")
		}
		word := terms.KnownStates()[i].Long
		long, ended = append(long, word), ended || endedState(word)
	}
	return long, ended, nil
}

// asksFor reports whether a job asks for any of some licenses; none are named:
// no matter.
func asksFor(w *api.Workload, names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return cli.Document(w).Licenses[name] > 0 })
}

// reservedIn reports whether a job is to run in any of some reservations; none
// are named: every job is.
func reservedIn(w *api.Workload, names []string) bool {
	return len(names) == 0 || slices.Contains(names, cli.Document(w).Reservation)
}
