// Package limits are the commands about how much users may have, whatever their projects.
package limits

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// everyone is how the command line names each user who has no limit of their own.
const everyone = "*"

// NewUserLimit makes the command user-limit.
func NewUserLimit(s *session.Session) *cobra.Command {
	cmd := session.Group("user-limit", "What users may have at once in all projects together: list, set, delete", "user-limits")
	cmd.Long = `What a user may hold, run and have waiting in all projects together, beside what projects
say of each of their users (muster project update --user-gpus). A limit is of one user, or
of each who has none of their own. What is beyond it waits, with the reason OverLimit, and
others go on; of what has not started one more is refused.`
	cmd.AddCommand(newUserLimitList(s), newUserLimitSet(s), newUserLimitExport(s), newUserLimitDelete(s))
	return cmd
}

func newUserLimitList(s *session.Session) *cobra.Command {
	var t session.TableFlags
	cmd := &cobra.Command{
		Use: "list [USER…]", Aliases: []string{"ls", "get"}, Short: "List limits of users, with what they have", Example: "  muster user-limit list",
		RunE: func(cmd *cobra.Command, args []string) error {
			items, err := userLimits(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			return session.Print(s, t, session.Table[api.UserBound]{Items: items, Name: func(b api.UserBound) string { return b.Name }, Body: api.UserBoundList{Items: items}, Columns: []session.Column[api.UserBound]{
				{Title: "USER", Cell: func(b api.UserBound) string { return b.Name }},
				{Title: "GPUS", Cell: func(b api.UserBound) string { return ofMost(b, b.UsedGPU, b.GPU) }},
				{Title: "RUNNING", Cell: func(b api.UserBound) string { return ofMost(b, float64(b.Running), bound(b.MaxRunning)) }},
				{Title: "WAITING", Cell: func(b api.UserBound) string { return ofMost(b, float64(b.Queued), bound(b.MaxQueued)) }},
				{Title: "NOTE", Cell: func(b api.UserBound) string { return printers.OrDash(b.Note) }},
			}})
		},
	}
	t.Register(cmd)
	return cmd
}

// userLimits are those of some users; of all where none is named.
func userLimits(ctx context.Context, s *session.Session, names []string) ([]api.UserBound, error) {
	c, err := s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.Budgets.UserLimits(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return list.Items, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(list.Items, func(b api.UserBound) bool { return b.Name == name }) {
			return nil, session.NotFoundError(fmt.Sprintf("%s has no limit of their own", name), "muster user-limit list lists all; * is of each user who has none")
		}
	}
	return slices.DeleteFunc(list.Items, func(b api.UserBound) bool { return !slices.Contains(names, b.Name) }), nil
}

func bound(most int) *float64 {
	if most == 0 {
		return nil
	}
	n := float64(most)
	return &n
}

// ofMost is what somebody has of what they may have.
func ofMost(b api.UserBound, has float64, most *float64) string {
	switch {
	case most == nil:
		return "-"
	case b.Name == everyone:
		return printers.Number(*most)
	}
	return printers.Number(has) + "/" + printers.Number(*most)
}

func newUserLimitSet(s *session.Session) *cobra.Command {
	var gpus, note string
	var running, queued int
	cmd := &cobra.Command{
		Use: "set USER [flags]", Aliases: []string{"create", "update"}, Short: "Say what a user may have at once in all projects together",
		Long: `Says what a user may have at once in all projects together; what no flag is about stays
as it is. The user * is each who has no limit of their own. A user whose limit says
nothing of GPUs may have any number, also where * says otherwise. What runs goes on, also
where it is more than the limit.`,
		Example: "  muster user-limit set ann --gpus 16 --running 8 --queued 100\n  muster user-limit set '*' --gpus 4",
		Args:    session.OneName("user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch := map[string]any{}
			f := cmd.Flags()
			if f.Changed("gpus") {
				patch["gpu"] = nil
				if gpus != "any" {
					n, err := strconv.ParseFloat(gpus, 64)
					if err != nil || !(n >= 0 && n <= 1e9) {
						return session.UsageError(fmt.Sprintf("%q is not a number of GPUs", gpus), "write 0 or more, or any")
					}
					patch["gpu"] = n
				}
			}
			for flag, field := range map[string]string{"running": "maxRunning", "queued": "maxQueued", "note": "note"} {
				switch {
				case !f.Changed(flag):
				case flag == "note":
					patch[field] = note
				default:
					patch[field], _ = f.GetInt(flag)
				}
			}
			if len(patch) == 0 {
				return session.UsageError("nothing is said of "+args[0], "say --gpus, --running or --queued")
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			b, err := c.Budgets.ChangeUserLimit(cmd.Context(), args[0], patch)
			if err != nil {
				return err
			}
			if shown, err := s.Brief(b, b.Name); shown {
				return err
			}
			s.Say("%s: %s", whom(b.Name), inWords(*b))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&gpus, "gpus", "", "GPUs that the user's work may hold at once; any: any number")
	f.IntVar(&running, "running", 0, "workloads that may run at once; 0: any")
	f.IntVar(&queued, "queued", 0, "workloads that may wait; 0: any")
	f.StringVarP(&note, "note", "m", "", "what it is for")
	return cmd
}

func whom(name string) string {
	if name == everyone {
		return "each user who has no limit of their own"
	}
	return name
}

func inWords(b api.UserBound) string {
	var out []string
	if b.GPU != nil {
		noun := " GPUs"
		if *b.GPU == 1 {
			noun = " GPU"
		}
		out = append(out, "at most "+printers.Number(*b.GPU)+noun)
	}
	if b.MaxRunning > 0 {
		out = append(out, "at most "+session.Plural(b.MaxRunning, "running workload"))
	}
	if b.MaxQueued > 0 {
		out = append(out, "at most "+session.Plural(b.MaxQueued, "waiting workload"))
	}
	return strings.Join(out, ", ") + " in all projects together"
}

func newUserLimitExport(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "export [USER…]", Short: "Write limits of users as records that muster apply -f takes", Example: "  muster user-limit export > limits.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			items, err := userLimits(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			var out []any
			for _, b := range items {
				out = append(out, struct {
					Kind string `json:"kind"`
					Name string `json:"name"`
					api.UserBoundSpec
				}{"UserLimit", b.Name, b.UserBoundSpec})
			}
			return s.Files(out)
		},
	}
}

func newUserLimitDelete(s *session.Session) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete USER", Aliases: []string{"rm"}, Short: "Bound a user no more", Example: "  muster user-limit delete ann --yes", Args: session.OneName("user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), "user-limit", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Budgets.DeleteUserLimit(ctx, args[0]) })
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
