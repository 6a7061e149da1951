package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec"
)

// ruleOptions are the changes of what a project demands.
type ruleOptions struct {
	timeLimit, idleLimit []string
	budget               string
	checks               []string
	clear                bool
}

func newProjectSet(s *session.Session, n session.ProjectNoun) *cobra.Command {
	o := &ruleOptions{}
	cmd := &cobra.Command{
		Use:   "set " + n.Arg + " [flags]",
		Short: "Change what a " + n.Word + " demands of its workloads",
		Long: `Changes what a project demands of its workloads: how long they may run, how long
they may leave their GPUs idle, how many GPU-hours they may use, and what must
be approved before they run. What is not named stays; an empty value removes
it, and --clear everything that was there before.`,
		Example: `  muster project set vision --time-limit training=12h --idle-limit workspace=30m
  muster project set vision --idle-limit workspace-preemptible=10m --idle-limit workspace-non-preemptible=4h
  muster project set vision --budget 100h/30d
  muster project set vision --check name=legal,type=approval,users=ann+bob
  muster project set vision --time-limit training= --check legal=
  muster project set vision --clear`,
		Args: session.OneName(n.Word),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.ContainsFunc([]string{"time-limit", "idle-limit", "budget", "check", "clear"}, cmd.Flags().Changed) {
				return session.UsageError("there is nothing to change", "muster "+n.Word+" set --help lists the flags; muster "+n.Word+" describe shows what holds")
			}
			return setRules(cmd.Context(), s, n, o, args[0], cmd.Flags().Changed("budget"))
		},
		ValidArgsFunction: s.CompleteRecords(n),
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.timeLimit, "time-limit", nil, "KIND=DURATION ends what has run for so long; repeat for several")
	f.StringArrayVar(&o.idleLimit, "idle-limit", nil, "KIND=DURATION ends what has let all its GPUs idle for so long; workspace-preemptible and workspace-non-preemptible are kinds here, too; repeat for several")
	f.StringVar(&o.budget, "budget", "", "HOURS/PERIOD: GPU-hours that may be used in every period, like 100h/30d")
	f.StringArrayVar(&o.checks, "check", nil, "what must be approved first: name=legal,type=approval,users=ann+bob; NAME= removes one")
	f.BoolVar(&o.clear, "clear", false, "remove all that it demands, before what else is said")
	return cmd
}

func setRules(ctx context.Context, s *session.Session, n session.ProjectNoun, o *ruleOptions, name string, budget bool) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	p, err := projectNamed(ctx, c, n, name)
	if err != nil {
		return err
	}
	r := p.ProjectRules
	if o.clear {
		r = api.ProjectRules{}
	}
	if r.TimeLimit, err = changeLimits("time-limit", r.TimeLimit, o.timeLimit); err != nil {
		return err
	}
	if r.IdleLimit, err = changeLimits("idle-limit", r.IdleLimit, o.idleLimit); err != nil {
		return err
	}
	if budget {
		if r.BudgetHours, r.BudgetPeriod, err = readBudget(o.budget); err != nil {
			return err
		}
	}
	if r.Checks, err = changeChecks(r.Checks, o.checks); err != nil {
		return err
	}
	if p, err = c.Of(n.Records).SetRules(ctx, name, r); err != nil {
		return err
	}
	if shown, err := s.Brief(p, p.Name); shown {
		return err
	}
	s.Say("%s %s demands %s", n.Word, p.Name, cmp.Or(strings.Join(rulesOf(*p), "; "), "nothing"))
	s.Warn(p.Warnings)
	return nil
}

// projectNamed returns one project or department.
func projectNamed(ctx context.Context, c *client.Client, n session.ProjectNoun, name string) (*api.Project, error) {
	list, err := c.Of(n.Records).List(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range list.Items {
		if p.Name == name {
			return &p, nil
		}
		names = append(names, p.Name)
	}
	hint := "muster " + n.Word + " list shows all"
	if near := nearest.Words(name, names); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return nil, session.NotFoundError(fmt.Sprintf("%s %q does not exist", n.Word, name), hint)
}

// changeLimits reads KIND=DURATION; without a duration the limit goes.
func changeLimits(flag string, old map[string]string, changes []string) (map[string]string, error) {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]string{}
	}
	for _, text := range changes {
		kind, length, ok := strings.Cut(text, "=")
		if !ok || kind == "" {
			return nil, session.UsageError(fmt.Sprintf("--%s %s: is not KIND=DURATION", flag, text), "write --"+flag+" training=12h")
		}
		if length == "" {
			delete(out, kind)
			continue
		}
		if _, err := spec.ParseDuration(length); err != nil {
			return nil, session.UsageError(fmt.Sprintf("--%s %s: %q is not a length of time", flag, text, length), "like 30m or 12h")
		}
		out[kind] = length
	}
	return out, nil
}

// readBudget reads 100h/30d, or 100/30d; nothing and 0 are no budget.
func readBudget(text string) (hours float64, period string, err error) {
	if text == "" || text == "0" {
		return 0, "", nil
	}
	amount, period, ok := strings.Cut(text, "/")
	hours, perr := strconv.ParseFloat(strings.TrimSuffix(amount, "h"), 64)
	if d, derr := spec.ParseDuration(period); !ok || perr != nil || derr != nil || d <= 0 || !(hours >= 0) || hours > 1e12 {
		return 0, "", session.UsageError(fmt.Sprintf("--budget: %q is not HOURS/PERIOD", text), "like 100h/30d; 0 is no budget")
	}
	return hours, period, nil
}

// changeChecks adds checks, in place of those of the same name, and removes
// those that are written NAME=.
func changeChecks(old json.RawMessage, changes []string) (json.RawMessage, error) {
	var checks []map[string]any
	if len(old) > 0 {
		if err := json.Unmarshal(old, &checks); err != nil {
			return nil, fmt.Errorf("the project's checks are not understood: %w", err)
		}
	}
	for _, text := range changes {
		name, rest, _ := strings.Cut(text, "=")
		gone := strings.HasSuffix(text, "=") && rest == ""
		var c map[string]any
		if !gone {
			var err error
			if c, err = document.ReadCheck(text); err != nil {
				return nil, err
			}
			name, _ = c["name"].(string)
		}
		i := slices.IndexFunc(checks, func(c map[string]any) bool { return c["name"] == name })
		switch {
		case gone && i < 0:
			return nil, session.NotFoundError(fmt.Sprintf("the project has no check %q", name), "muster project describe shows its checks")
		case gone:
			checks = slices.Delete(checks, i, i+1)
		case i >= 0:
			checks[i] = c
		default:
			checks = append(checks, c)
		}
	}
	if len(checks) == 0 {
		return nil, nil
	}
	return json.Marshal(checks)
}

// rulesOf are what a project demands, a phrase each.
func rulesOf(p api.Project) []string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(p.TimeLimit)) {
		out = append(out, fmt.Sprintf("%s at most %s", kind, p.TimeLimit[kind]))
	}
	for _, kind := range slices.Sorted(maps.Keys(p.IdleLimit)) {
		out = append(out, fmt.Sprintf("%s idle at most %s", kind, p.IdleLimit[kind]))
	}
	if p.BudgetHours > 0 {
		out = append(out, fmt.Sprintf("at most %s GPU-hours in every %s", printers.Number(p.BudgetHours), p.BudgetPeriod))
	}
	for _, c := range checksOf(p) {
		out = append(out, checkText(c))
	}
	return out
}

func checksOf(p api.Project) []spec.Check {
	var checks []spec.Check
	if json.Unmarshal(p.Checks, &checks) != nil {
		return nil // of a newer server; -o json has them
	}
	return checks
}

func checkText(c spec.Check) string {
	out := "check " + c.Name + " (" + c.Type
	if c.When == "reservation" {
		out += ", once reserved"
	}
	if len(c.Users) > 0 {
		out += ", by " + strings.Join(c.Users, " or ")
	}
	if c.URL != "" {
		out += ", " + c.URL
	}
	return out + ")"
}
