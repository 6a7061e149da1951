package cli

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
)

func newProjects(s *session, n projectNoun) *cobra.Command {
	cmd := noun(n.word, n.about+": list, describe, create, update, set, stop, suspend, resume, delete", n.aliases...)
	var t tableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List " + n.word + "s", Example: "  muster " + n.word + " list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			return s.getProjects(cmd.Context(), c, n, t, args)
		},
	}
	t.register(list)
	cmd.AddCommand(list, newProjectDescribe(s, n), newProjectCreate(s, n), newProjectUpdate(s, n), newProjectSet(s, n),
		newProjectStop(s, n), newProjectSuspend(s, n), newProjectStart(s, n), newProjectDelete(s, n))
	return cmd
}

func newProjectStop(s *session, n projectNoun) *cobra.Command {
	var o api.ProjectOptions
	cmd := s.projectVerb(n, "stop", "Keep new work from being queued; what runs goes on", "muster "+n.word+" stop vision --note 'maintenance until noon'",
		func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
			return c.StopProject(ctx, n.records, name, o)
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

func newProjectSuspend(s *session, n projectNoun) *cobra.Command {
	var o api.ProjectOptions
	var dry bool
	cmd := s.projectVerb(n, "suspend", "Have what runs go back to its queue, and keep new work from starting", "muster "+n.word+" suspend vision --note 'the fair' --dry-run",
		func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
			p, err := c.SuspendProject(ctx, n.records, name, o, dry)
			if err == nil && dry {
				s.say("nothing is changed; it would be so:")
			}
			return p, err
		})
	cmd.Long = `Tells what runs to leave, with its grace, preemptible or not, and keeps new work
from starting: the same as stop --mode hold-and-drain. muster ` + n.word + ` resume
lets all of it go on, in the order that it had. Workspaces, and what asks for it
with terminateAfterPreemption, end for good. Whom it stops is said; with --dry-run
nothing is done beyond that.`
	f := cmd.Flags()
	f.StringVarP(&o.Note, "note", "m", "", "why; shown to whoever waits")
	f.BoolVar(&dry, "dry-run", false, "say whom it would stop, and change nothing")
	return cmd
}

func newProjectStart(s *session, n projectNoun) *cobra.Command {
	cmd := s.projectVerb(n, "start", "Open it again", "muster "+n.word+" start vision", func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
		return c.StartProject(ctx, n.records, name)
	})
	cmd.Aliases = []string{"open", "resume"}
	return cmd
}

func newProjectDelete(s *session, n projectNoun) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete " + n.arg, Aliases: []string{"rm"}, Short: "Delete a " + n.word + " that nothing needs any more", Example: "  muster " + n.word + " delete vision --yes",
		Args: one(n.word),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.drop(cmd.Context(), n.word, args[0], yes, func(ctx context.Context, c *client.Client) error { return c.DeleteProject(ctx, n.records, args[0]) })
		},
		ValidArgsFunction: s.completeRecords(n),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (s *session) projectVerb(n projectNoun, verb, short, example string, run func(context.Context, *client.Client, string) (*api.Project, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " " + n.arg, Short: short, Example: "  " + example,
		Args: one(n.word),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := run(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return s.projectDone(n, p)
		},
	}
	if verb != "create" {
		cmd.ValidArgsFunction = s.completeRecords(n)
	}
	return cmd
}

// projectDone prints what has become of a project or department.
func (s *session) projectDone(n projectNoun, p *api.Project) error {
	s.warn(p.Warnings)
	if shown, err := s.brief(p, p.Name); shown {
		return err
	}
	s.say("%s %s: %s", n.word, p.Name, projectStatus(*p))
	return nil
}

func projectColumns(m moments) []column[api.Project] {
	return []column[api.Project]{
		{title: "NAME", cell: func(p api.Project) string { return p.Name }},
		{title: "STATUS", cell: func(p api.Project) string { return projectStatus(p) }, tone: func(p api.Project) tone {
			if p.Stopped {
				return toneBad
			}
			return toneGood
		}},
		{title: "PARENT", cell: func(p api.Project) string { return orDash(p.Parent) }},
		{title: "GPU QUOTA", cell: func(p api.Project) string { return orDash(gpuQuotas(p)) }},
		{title: "NODE TYPES", cell: func(p api.Project) string { return orDash(nodeTypesOf(p)) }},
		{title: "AGE", cell: func(p api.Project) string { return m.ago(at(p.CreatedAt)) }},
		{title: "DEMANDS", cell: func(p api.Project) string { return orDash(strings.Join(rulesOf(p), "; ")) }},
		{title: "NOTE", cell: func(p api.Project) string { return orDash(p.Note) }},
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

func newProjectDescribe(s *session, n projectNoun) *cobra.Command {
	var t tableFlags
	cmd := &cobra.Command{
		Use: "describe " + n.arg, Aliases: []string{"show"}, Short: "Show a " + n.word + ": its place, its quotas, and what it demands of its workloads", Example: "  muster " + n.word + " describe vision",
		Args: one(n.word),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := projectNamed(cmd.Context(), c, n, args[0])
			if err != nil {
				return err
			}
			return s.describeProject(n, p, s.moments(t))
		},
		ValidArgsFunction: s.completeRecords(n),
	}
	t.register(cmd)
	return cmd
}

func (s *session) describeProject(n projectNoun, p *api.Project, m moments) error {
	if shown, err := s.brief(p, p.Name); shown {
		return err
	}
	g := grid{whole: true}
	line := func(title, text string) {
		if text != "" {
			g.rows = append(g.rows, []cell{{title, toneTitle}, {text, tonePlain}})
		}
	}
	line(strings.ToUpper(n.word[:1])+n.word[1:], p.Name)
	line("Status", projectStatus(*p))
	line("Note", p.Note)
	line("Parent", p.Parent)
	if p.CreatedAt != nil {
		line("Created", m.ago(at(p.CreatedAt))+sinceWord(m))
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
	if p.MaxRunning > 0 {
		line("Running", "at most "+plural(p.MaxRunning, "workload"))
	}
	if u := p.UserLimit; u != nil && u.GPU != nil {
		line("Each user", "at most "+bound(u.GPU)+" GPUs")
	}
	if u := p.UserLimit; u != nil && u.MaxRunning > 0 {
		line("Each user", "at most "+plural(u.MaxRunning, "workload"))
	}
	line("Preempted", after(p.PreemptMinRuntime))
	line("Reclaimed", after(p.ReclaimMinRuntime))
	projectRuleLines(p, line)
	return s.grid(g)
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
	if p.BudgetHours > 0 {
		line("Budget", fmt.Sprintf("%s GPU-hours in every %s", number(p.BudgetHours), p.BudgetPeriod))
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
	said := func(n *float64) string {
		if n == nil {
			return ""
		}
		return bound(n)
	}
	if r := q.GPU; r != nil {
		add("gpu", said(r.Quota), said(r.LendingLimit), said(r.Limit), r.Weight)
	}
	if r := q.CPU; r != nil {
		add("cpu", said(r.Quota), said(r.LendingLimit), said(r.Limit), r.Weight)
	}
	if r := q.Memory; r != nil {
		add("memory", r.Quota, r.LendingLimit, r.Limit, r.Weight)
	}
	return cmp.Or(strings.Join(out, "; "), "no bound")
}

func (s *session) getProjects(ctx context.Context, c *client.Client, n projectNoun, t tableFlags, names []string) error {
	list, err := c.ProjectsOf(ctx, n.records)
	if err != nil {
		return err
	}
	var body any = list
	if len(names) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(p api.Project) bool { return !slices.Contains(names, p.Name) })
		if len(list.Items) < len(names) {
			return missing(fmt.Sprintf("of %s only %d are %ss", strings.Join(names, ", "), len(list.Items), n.word), "muster get "+n.word+"s lists all")
		}
		if len(names) == 1 {
			body = list.Items[0]
		}
	}
	return print(s, t, table[api.Project]{
		columns: projectColumns(s.moments(t)), items: list.Items, name: func(p api.Project) string { return p.Name }, body: body,
	})
}
