package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
)

// budgetFlags say what a budget is.
type budgetFlags struct {
	gpuHours, money    float64
	every, from, until string
	each               bool
	warn               []string
	then, notice       string
}

func (b *budgetFlags) which(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.every, "every", "", "counted anew every day, week (from Monday) or month, in UTC")
	f.StringVar(&b.from, "from", "", "begin of a budget for once, instead of --every")
	f.StringVar(&b.until, "until", "", "end of a budget for once")
	f.BoolVar(&b.each, "each-user", false, "one that every user has")
	_ = cmd.RegisterFlagCompletionFunc("every", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"day", "week", "month"}, cobra.ShellCompDirectiveNoFileComp
	})
}

// period reads of which time it is.
func (b *budgetFlags) period(s *session.Session) (api.Budget, error) {
	out := api.Budget{Period: b.every, EachUser: b.each}
	once := b.from != "" || b.until != ""
	switch {
	case once && b.every != "":
		return out, session.UsageError("--every and --from are of two sorts of budgets", "write --every month, or --from and --until")
	case !once && !slices.Contains([]string{"day", "week", "month"}, b.every):
		return out, session.UsageError(fmt.Sprintf("--every: %q is not a period", b.every), "day, week or month; or --from and --until for once")
	case !once:
		return out, nil
	}
	from, err := instantOf(s, "from", cmp.Or(b.from, "now"))
	if err != nil {
		return out, err
	}
	until, err := instantOf(s, "until", cmp.Or(b.until, "now"))
	if err != nil {
		return out, err
	}
	f, u := api.Time(from), api.Time(until)
	out.Period, out.From, out.Until = "once", &f, &u
	return out, nil
}

func sameBudget(x, y api.Budget) bool {
	return x.Period == y.Period && x.EachUser == y.EachUser && (x.Money > 0) == (y.Money > 0) && session.At(x.From).Equal(session.At(y.From)) && session.At(x.Until).Equal(session.At(y.Until))
}

// NewBudget makes the command budget.
func NewBudget(s *session.Session) *cobra.Command {
	cmd := session.Group("budget", "Budgets of projects and departments, in GPU-hours or money: list, set, delete", "budgets")
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list [PROJECT]", Aliases: []string{"ls", "get"}, Short: "List budgets, with how much of each is used", Example: "  muster budget list\n  muster budget list vision -o json", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return listBudgets(cmd.Context(), s, t, strings.Join(args, ""))
		},
		ValidArgsFunction: s.CompleteProjects,
	}
	t.Register(list)
	cmd.AddCommand(list, newBudgetSet(s), newBudgetDelete(s))
	return cmd
}

func newBudgetSet(s *session.Session) *cobra.Command {
	var b budgetFlags
	cmd := &cobra.Command{
		Use: "set PROJECT [flags]", Aliases: []string{"create", "update"}, Short: "Give a project or department a budget, in place of the one for the same time",
		Long: `Gives a project, or a department and all below it, so many GPU-hours or so much
money for a time. Counted is what workloads are charged, from the placement of
their tasks until their devices were given back, while they run too. At a share
of it, 80 % where nothing else is said, those are told who asked for that. Once
it is used up, --then says what happens:

  warn   it is told, and nothing else
  hold   nothing new starts until it is counted anew; what runs goes on
  stop   what runs leaves, too, with its grace, and waits until then; it is told
         so --notice before, 10m where nothing else is said, as far as the rate
         of use tells`,
		Example: `  muster budget set vision --gpu-hours 500 --every month
  muster budget set research --money 20000 --every month --then stop --warn 70,90
  muster budget set vision --gpu-hours 20 --every week --each-user
  muster budget set vision --gpu-hours 100 --from 2027-01-01 --until 2027-04-01`,
		Args: session.OneName("project"),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, err := b.period(s)
			if err != nil {
				return err
			}
			x.GPUHours, x.Money, x.AtEnd, x.Notice = b.gpuHours, b.money, b.then, b.notice
			for name, amount := range map[string]float64{"gpu-hours": x.GPUHours, "money": x.Money} {
				if cmd.Flags().Changed(name) && !(amount > 0) { // nor is what is no number
					return session.UsageError(fmt.Sprintf("--%s %v is no amount: it is more than 0", name, amount), "write --gpu-hours 500, or --money 20000; muster budget delete takes one away")
				}
			}
			if (x.GPUHours > 0) == (x.Money > 0) {
				return session.UsageError("a budget is of GPU-hours or of money", "write --gpu-hours 500, or --money 20000")
			}
			for _, text := range b.warn {
				n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
				if err != nil || !(n > 0 && n < 100) {
					return session.UsageError(fmt.Sprintf("--warn: %q is not a share", text), "percent, like 80 or 70,90")
				}
				x.WarnAt = append(x.WarnAt, n/100)
			}
			return changeBudgets(cmd.Context(), s, args[0], func(all []api.Budget) ([]api.Budget, error) {
				for i := range all {
					if sameBudget(all[i], x) {
						all[i] = x
						return all, nil
					}
				}
				return append(all, x), nil
			})
		},
		ValidArgsFunction: s.CompleteProjects,
	}
	b.which(cmd)
	f := cmd.Flags()
	f.Float64Var(&b.gpuHours, "gpu-hours", 0, "so many GPU-hours")
	f.Float64Var(&b.money, "money", 0, "so much money, at the prices of muster price")
	f.StringSliceVar(&b.warn, "warn", nil, "percent at which is warned, several by comma; default 80")
	f.StringVar(&b.then, "then", "hold", "what happens once it is used up: warn, hold or stop")
	f.StringVar(&b.notice, "notice", "", "with --then stop, how long before what runs has to leave it is told, like 30m")
	_ = cmd.RegisterFlagCompletionFunc("then", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"warn", "hold", "stop"}, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func newBudgetDelete(s *session.Session) *cobra.Command {
	var b budgetFlags
	var money bool
	cmd := &cobra.Command{
		Use: "delete PROJECT [flags]", Aliases: []string{"rm"}, Short: "Take a budget away", Example: "  muster budget delete vision --every month", Args: session.OneName("project"),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, err := b.period(s)
			if err != nil {
				return err
			}
			if money {
				x.Money = 1
			}
			return changeBudgets(cmd.Context(), s, args[0], func(all []api.Budget) ([]api.Budget, error) {
				left := slices.DeleteFunc(slices.Clone(all), func(y api.Budget) bool { return sameBudget(x, y) })
				if len(left) == len(all) {
					return nil, session.NotFoundError(args[0]+" has no such budget", "muster budget list "+args[0]+" lists all; --money is one of money")
				}
				return left, nil
			})
		},
		ValidArgsFunction: s.CompleteProjects,
	}
	b.which(cmd)
	cmd.Flags().BoolVar(&money, "money", false, "the one of money, not of GPU-hours")
	return cmd
}

// changeBudgets reads the budgets of a project or department, changes them and writes
// them back.
func changeBudgets(ctx context.Context, s *session.Session, name string, change func([]api.Budget) ([]api.Budget, error)) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	p, of, err := recordNamed(ctx, c, name)
	if err != nil {
		return err
	}
	all, err := change(p.Budgets)
	if err != nil {
		return err
	}
	if all == nil {
		all = []api.Budget{}
	}
	if p, err = of.Change(ctx, name, map[string]any{"budgets": all}); err != nil {
		return err
	}
	s.Warn(p.Warnings)
	if shown, err := s.Brief(p, p.Name); shown {
		return err
	}
	s.Say("%s has %s; muster budget list %s shows how they stand", p.Name, session.Plural(len(p.Budgets), "budget"), p.Name)
	return nil
}

// recordNamed is a project or a department.
func recordNamed(ctx context.Context, c *client.Client, name string) (*api.Project, client.ProjectService, error) {
	p, err := projectNamed(ctx, c, session.ProjectWord, name)
	if err == nil {
		return p, c.Projects, nil
	}
	if d, again := projectNamed(ctx, c, session.DepartmentWord, name); again == nil {
		return d, c.Departments, nil
	}
	return nil, c.Projects, err
}

func listBudgets(ctx context.Context, s *session.Session, t session.TableFlags, project string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	list, err := c.Budgets.List(ctx, project)
	if err != nil {
		return err
	}
	return session.Print(s, t, session.Table[api.BudgetState]{Items: list.Items, Body: list, Name: func(b api.BudgetState) string { return b.Project + "/" + b.Period }, Columns: []session.Column[api.BudgetState]{
		{Title: "PROJECT", Cell: func(b api.BudgetState) string { return b.Project }},
		{Title: "USER", Cell: func(b api.BudgetState) string {
			if b.User == "" && b.EachUser {
				return "each"
			}
			return cmp.Or(b.User, "all")
		}},
		{Title: "PERIOD", Cell: func(b api.BudgetState) string { return b.Period }},
		{Title: "USED", Cell: func(b api.BudgetState) string { return fixed(b.Used) + "/" + fixed(b.Amount) }},
		{Title: "UNIT", Cell: func(b api.BudgetState) string { return unitOf(b) }},
		{Title: "SHARE", Cell: func(b api.BudgetState) string { return strconv.FormatFloat(b.Share*100, 'f', 0, 64) + "%" }},
		{Title: "STATE", Cell: func(b api.BudgetState) string { return b.State }},
		{Title: "THEN", Cell: func(b api.BudgetState) string { return b.AtEnd }},
		{Title: "ENDS", Cell: func(b api.BudgetState) string { return session.At(b.Ends).UTC().Format(time.RFC3339) }},
		{Title: "USED-UP", Wide: true, Cell: func(b api.BudgetState) string {
			if b.OverAt == nil {
				return "-"
			}
			return session.At(b.OverAt).UTC().Format(time.RFC3339)
		}},
	}})
}

func fixed(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

func unitOf(b api.BudgetState) string {
	if b.Money > 0 {
		return cmp.Or(b.Currency, "money")
	}
	return "GPU-hours"
}

// budgetText is a budget in a line.
func budgetText(b api.Budget) string {
	out := fixed(b.GPUHours) + " GPU-hours"
	if b.Money > 0 {
		out = "money " + fixed(b.Money)
	}
	if b.EachUser {
		out += " for each user"
	}
	if b.Period == "once" {
		out += " from " + sinceOf(b.From) + " until " + sinceOf(b.Until)
	} else {
		out += " every " + b.Period
	}
	out += ", then " + b.AtEnd
	if b.Notice != "" {
		out += ", told " + b.Notice + " before"
	}
	return out
}
