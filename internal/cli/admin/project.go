// Package admin has the commands that run the place: its projects, pools, nodes,
// quotas, secrets, templates and other records, and what is used of it.
package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewProjects makes the command project, or department, as n says.
func NewProjects(s *session.Session, n session.ProjectNoun) *cobra.Command {
	cmd := session.Group(n.Word, n.About+": list, describe, create, update, set, stop, suspend, resume, delete", n.Aliases...)
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List " + n.Word + "s", Example: "  muster " + n.Word + " list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return GetProjects(cmd.Context(), s, c, n, t, args)
		},
	}
	t.Register(list)
	cmd.AddCommand(list, newProjectDescribe(s, n), newProjectExport(s, n), newProjectCreate(s, n), newProjectUpdate(s, n), newProjectSet(s, n),
		newProjectStop(s, n), newProjectSuspend(s, n), newProjectStart(s, n), newProjectDelete(s, n))
	if n.Word == session.ProjectWord.Word {
		cmd.AddCommand(newProjectImport(s))
	}
	return cmd
}

func newProjectStop(s *session.Session, n session.ProjectNoun) *cobra.Command {
	var o api.ProjectOptions
	cmd := projectVerb(s, n, "stop", "Keep new work from being queued; what runs goes on", "muster "+n.Word+" stop vision --note 'maintenance until noon'",
		func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
			return c.Of(n.Records).Stop(ctx, name, o)
		})
	cmd.Long = `Keeps new work from being queued. What waits becomes Inadmissible and says why;
what runs goes on. With --mode hold-and-drain what runs goes back to its queue
as well, and starts again when it is opened.`
	f := cmd.Flags()
	f.StringVarP(&o.Note, "note", "m", "", "why; shown to whoever waits")
	f.StringVar(&o.Mode, "mode", "hold", "hold, or hold-and-drain: what runs goes back to its queue too")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"hold", "hold-and-drain"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func newProjectSuspend(s *session.Session, n session.ProjectNoun) *cobra.Command {
	var o api.ProjectOptions
	var dry bool
	cmd := projectVerb(s, n, "suspend", "Have what runs go back to its queue, and keep new work from starting", "muster "+n.Word+" suspend vision --note 'the fair' --dry-run",
		func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
			p, err := c.Of(n.Records).Suspend(ctx, name, o, dry)
			if err == nil && dry {
				s.Say("nothing is changed; it would be so:")
			}
			return p, err
		})
	cmd.Long = `Tells what runs to leave, with its grace, preemptible or not, and keeps new work
from starting: the same as stop --mode hold-and-drain. muster ` + n.Word + ` resume
lets all of it go on, in the order that it had. Workspaces, and what asks for it
with terminateAfterPreemption, end for good. Whom it stops is said; with --dry-run
nothing is done beyond that.`
	f := cmd.Flags()
	f.StringVarP(&o.Note, "note", "m", "", "why; shown to whoever waits")
	f.BoolVar(&dry, "dry-run", false, "say whom it would stop, and change nothing")
	return cmd
}

func newProjectStart(s *session.Session, n session.ProjectNoun) *cobra.Command {
	cmd := projectVerb(s, n, "start", "Open it again", "muster "+n.Word+" start vision", func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
		return c.Of(n.Records).Start(ctx, name)
	})
	cmd.Aliases = []string{"open", "resume"}
	return cmd
}

func newProjectDelete(s *session.Session, n session.ProjectNoun) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete " + n.Arg, Aliases: []string{"rm"}, Short: "Delete a " + n.Word + " that nothing needs any more", Example: "  muster " + n.Word + " delete vision --yes",
		Args: session.OneName(n.Word),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), n.Word, args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Of(n.Records).Delete(ctx, args[0]) })
		},
		ValidArgsFunction: s.CompleteRecords(n),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func projectVerb(s *session.Session, n session.ProjectNoun, verb, short, example string, run func(context.Context, *client.Client, string) (*api.Project, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " " + n.Arg, Short: short, Example: "  " + example,
		Args: session.OneName(n.Word),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := run(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return projectDone(s, n, p)
		},
	}
	if verb != "create" {
		cmd.ValidArgsFunction = s.CompleteRecords(n)
	}
	return cmd
}

// projectDone prints what has become of a project or department.
func projectDone(s *session.Session, n session.ProjectNoun, p *api.Project) error {
	s.Warn(p.Warnings)
	if shown, err := s.Brief(p, p.Name); shown {
		return err
	}
	s.Say("%s %s: %s", n.Word, p.Name, projectStatus(*p))
	return nil
}

func projectColumns(m session.Moments) []session.Column[api.Project] {
	return []session.Column[api.Project]{
		{Title: "NAME", Cell: func(p api.Project) string { return p.Name }},
		{Title: "STATUS", Cell: func(p api.Project) string { return projectStatus(p) }, Tone: func(p api.Project) session.Tone {
			if p.Stopped {
				return session.ToneBad
			}
			return session.ToneGood
		}},
		{Title: "PARENT", Cell: func(p api.Project) string { return printers.OrDash(p.Parent) }},
		{Title: "GPU QUOTA", Cell: func(p api.Project) string { return printers.OrDash(gpuQuotas(p)) }},
		{Title: "NODE TYPES", Cell: func(p api.Project) string { return printers.OrDash(nodeTypesOf(p)) }},
		{Title: "AGE", Cell: func(p api.Project) string { return m.Ago(session.At(p.CreatedAt)) }},
		{Title: "DEMANDS", Cell: func(p api.Project) string { return printers.OrDash(strings.Join(rulesOf(p), "; ")) }},
		{Title: "NOTE", Cell: func(p api.Project) string { return printers.OrDash(p.Note) }},
	}
}

// gpuQuotas are the quotas of GPUs by pool, like h100 32/64.
func gpuQuotas(p api.Project) string {
	var out []string
	for _, pool := range slices.Sorted(maps.Keys(p.Pools)) {
		if q := p.Pools[pool].GPU; q != nil && (q.Quota != nil || q.Limit != nil) {
			text := pool + " " + bound(q.Quota)
			if q.Limit != nil {
				text += "/" + bound(q.Limit)
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// nodeTypesOf are the types of nodes that its workloads may use, by kind.
func nodeTypesOf(p api.Project) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(p.NodeTypes)) {
		out = append(out, kind+" "+strings.Join(p.NodeTypes[kind], ", "))
	}
	return strings.Join(out, "; ")
}

// bound is an amount, or that there is no bound.
func bound(n *float64) string {
	if n == nil {
		return "∞"
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

func projectStatus(p api.Project) string {
	switch {
	case p.StoppedBy != "":
		return "Stopped(" + p.StoppedBy + ")"
	case p.StopMode == "hold-and-drain":
		return "Stopped(drained)"
	case p.Stopped:
		return "Stopped"
	default:
		return "Open"
	}
}

func newProjectDescribe(s *session.Session, n session.ProjectNoun) *cobra.Command {
	var t session.TableFlags
	cmd := &cobra.Command{
		Use: "describe " + n.Arg, Aliases: []string{"show"}, Short: "Show a " + n.Word + ": its place, its quotas, and what it demands of its workloads", Example: "  muster " + n.Word + " describe vision",
		Args: session.OneName(n.Word),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := projectNamed(cmd.Context(), c, n, args[0])
			if err != nil {
				return err
			}
			return describeProject(s, n, p, s.Moments(t))
		},
		ValidArgsFunction: s.CompleteRecords(n),
	}
	t.Register(cmd)
	return cmd
}

func describeProject(s *session.Session, n session.ProjectNoun, p *api.Project, m session.Moments) error {
	if shown, err := s.Brief(p, p.Name); shown {
		return err
	}
	g := session.Grid{Whole: true}
	line := func(title, text string) {
		if text != "" {
			g.Line(title, text)
		}
	}
	line(strings.ToUpper(n.Word[:1])+n.Word[1:], p.Name)
	line("Status", projectStatus(*p))
	line("Note", p.Note)
	line("Parent", p.Parent)
	if p.CreatedAt != nil {
		line("Created", m.Ago(session.At(p.CreatedAt))+session.SinceWord(m))
	}
	if p.Priority != nil && *p.Priority != 100 {
		line("Priority", strconv.Itoa(*p.Priority))
	}
	for _, pool := range slices.Sorted(maps.Keys(p.Pools)) {
		line("Pool "+pool, quotaText(p.Pools[pool]))
	}
	line("Pool order", strings.Join(p.PoolOrder, ", "))
	for _, kind := range slices.Sorted(maps.Keys(p.NodeTypes)) {
		line("Node types", kind+" "+strings.Join(p.NodeTypes[kind], ", "))
	}
	if e := p.Effective; e != nil {
		for _, kind := range slices.Sorted(maps.Keys(e.NodeTypes)) {
			if !slices.Equal(e.NodeTypes[kind], p.NodeTypes[kind]) {
				line("Node types", kind+" "+cmp.Or(strings.Join(e.NodeTypes[kind], ", "), "none")+", with what is above it")
			}
		}
	}
	if p.MaxRunning > 0 {
		line("Running", "at most "+session.Plural(p.MaxRunning, "workload"))
	}
	if p.MaxQueued > 0 {
		line("Waiting", "at most "+session.Plural(p.MaxQueued, "workload"))
	}
	if u := p.UserLimit; u != nil && u.MaxQueued > 0 {
		line("Each user", "at most "+session.Plural(u.MaxQueued, "waiting workload"))
	}
	for _, b := range p.Budgets {
		line("Budget", budgetText(b))
	}
	if u := p.UserLimit; u != nil && u.GPU != nil {
		line("Each user", "at most "+bound(u.GPU)+" GPUs")
	}
	if u := p.UserLimit; u != nil && u.MaxRunning > 0 {
		line("Each user", "at most "+session.Plural(u.MaxRunning, "workload"))
	}
	line("Preempted", after(p.PreemptMinRuntime))
	line("Reclaimed", after(p.ReclaimMinRuntime))
	if p.BorrowingTimeLimit != "" {
		line("Over quota", "only what ends within "+p.BorrowingTimeLimit)
	}
	projectRuleLines(p, line)
	return s.Grid(g)
}

func after(length string) string {
	if length == "" {
		return ""
	}
	return "after " + length + " at the earliest"
}

func projectRuleLines(p *api.Project, line func(title, text string)) {
	for _, kind := range slices.Sorted(maps.Keys(p.TimeLimit)) {
		line("Time limit", kind+" "+p.TimeLimit[kind])
	}
	for _, kind := range slices.Sorted(maps.Keys(p.IdleLimit)) {
		line("Idle limit", kind+" "+p.IdleLimit[kind])
	}
	if e := p.Effective; e != nil {
		for _, l := range []struct {
			title    string
			own, all map[string]string
		}{{"Time limit", p.TimeLimit, e.TimeLimit}, {"Idle limit", p.IdleLimit, e.IdleLimit}} {
			for _, kind := range slices.Sorted(maps.Keys(l.all)) {
				if l.own[kind] != l.all[kind] {
					line(l.title, kind+" "+l.all[kind]+", by what is above it")
				}
			}
		}
	}
	if p.BudgetHours > 0 {
		line("Budget", fmt.Sprintf("%s GPU-hours in every %s", printers.Number(p.BudgetHours), p.BudgetPeriod))
	}
	for _, c := range checksOf(*p) {
		line("Check", strings.TrimPrefix(checkText(c), "check "))
	}
	if len(rulesOf(*p)) == 0 {
		line("Demands", "nothing of its workloads")
	}
}

// quotaText is one pool's quota in a line.
func quotaText(q api.PoolQuota) string {
	var out []string
	add := func(what, quota, lends, limit string, weight *float64) {
		text := what
		if quota != "" {
			text += " quota " + quota
		}
		if lends != "" {
			text += " lends " + lends
		}
		if limit != "" {
			text += " limit " + limit
		}
		if weight != nil {
			text += " weight " + bound(weight)
		}
		if text != what {
			out = append(out, text)
		}
	}
	format := func(n *float64) string {
		if n == nil {
			return ""
		}
		return bound(n)
	}
	if r := q.GPU; r != nil {
		add("gpu", format(r.Quota), format(r.LendingLimit), format(r.Limit), r.Weight)
	}
	if r := q.CPU; r != nil {
		add("cpu", format(r.Quota), format(r.LendingLimit), format(r.Limit), r.Weight)
	}
	if r := q.Memory; r != nil {
		add("memory", r.Quota, r.LendingLimit, r.Limit, r.Weight)
	}
	return cmp.Or(strings.Join(out, "; "), "no bound")
}

// GetProjects prints the projects, or departments, of these names; without names, all.
func GetProjects(ctx context.Context, s *session.Session, c *client.Client, n session.ProjectNoun, t session.TableFlags, names []string) error {
	list, err := c.Of(n.Records).List(ctx)
	if err != nil {
		return err
	}
	var body any = list
	if len(names) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(p api.Project) bool { return !slices.Contains(names, p.Name) })
		if err := missing(n.Word, "muster get "+n.Word+"s", names, list.Items, func(x api.Project) string { return x.Name }); err != nil {
			return err
		}
		if len(names) == 1 {
			body = list.Items[0]
		}
	}
	return session.Print(s, t, session.Table[api.Project]{
		Columns: projectColumns(s.Moments(t)), Items: list.Items, Name: func(p api.Project) string { return p.Name }, Body: body,
	})
}
