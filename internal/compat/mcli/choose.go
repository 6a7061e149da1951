package mcli

import (
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
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// dialect is in whose words statuses are.
const dialect = string(lifecycle.Mcli)

// runKinds are the workloads that are runs.
var runKinds = []string{string(lifecycle.Training), string(lifecycle.Distributed), string(lifecycle.Workspace)}

// deploymentKinds are those that are deployments.
var deploymentKinds = []string{string(lifecycle.Inference)}

// chooseFlags select runs; get, stop and delete have them.
var chooseFlags = []compat.Flag{
	{Names: "cluster c platform p", Arg: "NAMES", Many: true, Does: "only runs of these clusters"},
	{Names: "gpu-type t", Arg: "TYPES", Many: true, Does: "only runs with GPUs of these types"},
	{Names: "gpu-num n", Arg: "NUMBERS", Many: true, Does: "only runs with so many GPUs in all"},
	{Names: "status s", Arg: "STATUSES", Many: true, Does: "only runs in these statuses"},
	{Names: "before", Arg: "TIME", Does: "only runs made before: an instant, or an age like 2d"},
	{Names: "after", Arg: "TIME", Does: "only runs made after: an instant, or an age like 2d"},
	{Names: "user u users", Arg: "NAMES", Many: true, Does: "runs of these users; default: one's own"},
	{Names: "all-users", Does: "runs of everybody"},
}

// filters are those of chooseFlags by which runs are left out.
var filters = []string{"cluster", "gpu-type", "gpu-num", "status", "before", "after", "user", "all-users"}

func given(c *compat.Call, names []string) bool { return slices.ContainsFunc(names, c.Given) }

// chosen are the workloads that names and flags select, newest first.
func chosen(c *compat.Call, kinds []string, limit int) ([]api.Workload, error) {
	since, before, err := between(c)
	if err != nil {
		return nil, err
	}
	o := client.ListOptions{Kinds: kinds, Deleted: c.Bool("include-deleted"), Since: since, Before: before}
	for _, n := range c.List("gpu-num") {
		if _, err := strconv.Atoi(n); err != nil {
			return nil, cli.Wrong(fmt.Sprintf("--gpu-num: %q is not a number", n), "like 8, or 8,16")
		}
	}
	if err := knownStatuses(c.List("status")); err != nil {
		return nil, err
	}
	if literal(c) {
		return named(c, kinds)
	}
	users := c.List("user")
	if _, err := c.Connect(c.Context); err != nil { // who one is depends on the server
		return nil, err
	}
	switch {
	case len(users) == 1:
		o.User = users[0]
	case len(users) == 0 && !c.Bool("all-users"):
		o.User = c.Me()
	}
	keep, err := supervisor(c)
	if err != nil {
		return nil, err
	}
	return c.Pages(c.Context, o, limit, keep)
}

// literal reports whether each run is named, not described.
func literal(c *compat.Call) bool {
	return len(c.Args) > 0 && !slices.ContainsFunc(c.Args, compat.IsGlob)
}

// between are the instants of --after and --before, zero where not given.
func between(c *compat.Call) (after, before time.Time, err error) {
	if c.Given("after") {
		after, err = c.When("after", c.Text("after"))
	}
	if err == nil && c.Given("before") {
		before, err = c.When("before", c.Text("before"))
	}
	return after, before, err
}

// named are runs by their names.
func named(c *compat.Call, kinds []string) ([]api.Workload, error) {
	keep, err := supervisor(c)
	if err != nil {
		return nil, err
	}
	var out []api.Workload
	for _, name := range c.Args {
		if name == "" { // which is what a script's empty variable is
			return nil, cli.Wrong(c.Path+": a name is empty", c.Path+" NAME")
		}
		w, err := found(c, name, kinds)
		if err != nil {
			return nil, err
		}
		if keep(w) {
			out = append(out, *w)
		}
	}
	return out, nil
}

// found is the run, or deployment, of a name; "" is the latest.
func found(c *compat.Call, name string, kinds []string) (*api.Workload, error) {
	if name == "" {
		if _, err := c.Connect(c.Context); err != nil {
			return nil, err
		}
		list, err := c.Pages(c.Context, client.ListOptions{Kinds: kinds, User: c.Me()}, 1, nil)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, cli.Missing("you have none yet", "mcli run -f FILE submits a run")
		}
		c.Say("No name given; using the latest: %s", list[0].Name)
		return &list[0], nil
	}
	w, err := c.Find(c.Context, "", name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, w.Kind) {
		return nil, cli.Missing(fmt.Sprintf("%s is of kind %s", w.Name, w.Kind), "mcli get runs and mcli get deployments list what there is")
	}
	return w, nil
}

// supervisor applies the filters that the server does not know.
func supervisor(c *compat.Call) (func(*api.Workload) bool, error) {
	clusters, types, nums, users, statuses := c.List("cluster"), c.List("gpu-type"), c.List("gpu-num"), c.List("user"), c.List("status")
	var place *compat.Place
	if len(clusters)+len(types) > 0 {
		var err error
		if place, err = compat.Places(c.Context, c.Tool); err != nil {
			return nil, err
		}
	}
	since, before, err := between(c)
	if err != nil {
		return nil, err
	}
	return func(w *api.Workload) bool {
		at := time.Time(w.CreatedAt)
		switch {
		case at.Before(since), !before.IsZero() && !at.Before(before):
			return false
		case len(c.Args) > 0 && !compat.Matches(c.Args, w.Name, w.ID):
			return false
		case len(clusters) > 0 && !slices.Contains(clusters, place.Cluster(w)):
			return false
		case len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool {
			return w.GPUs == 0 && t == "none" || w.GPUs > 0 && strings.EqualFold(t, place.Product(w))
		}):
			return false
		case len(nums) > 0 && !slices.Contains(nums, amount.GPUs(w.GPUs)):
			return false
		case len(users) > 0 && !slices.Contains(users, w.User):
			return false
		case len(statuses) > 0 && !slices.ContainsFunc(statuses, func(s string) bool { return plain(s) == plain(w.Statuses[dialect].Status) }):
			return false
		}
		return true
	}, nil
}

// plain is a status without regard to case and underscores.
func plain(status string) string { return strings.ReplaceAll(strings.ToUpper(status), "_", "") }

func knownStatuses(words []string) error {
	var all []string
	for _, w := range lifecycle.Words(lifecycle.Mcli) {
		all = append(all, compat.Upper(w.Status))
	}
	for _, s := range words {
		if !slices.ContainsFunc(all, func(w string) bool { return plain(w) == plain(s) }) {
			return cli.Wrong(fmt.Sprintf("--status: there is no status %q", s), "one of "+strings.Join(all, ", "))
		}
	}
	return nil
}
