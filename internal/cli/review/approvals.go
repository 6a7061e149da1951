package review

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewApprovals makes the command approvals.
func NewApprovals(s *session.Session) *cobra.Command {
	cmd := session.Group("approvals", "What waits for somebody's approval, and who decides for whom", "approval")
	cmd.Long = `muster approve and muster reject decide. Who may decide can have another do so for a
time, where they themselves may: muster approvals delegate. The other's word counts for
them, once; neither who has submitted a workload nor anybody in their place decides
where a check says so.`
	cmd.AddCommand(newApprovalList(s), newDelegate(s), newDelegations(s), newRevoke(s))
	return cmd
}

func newApprovalList(s *session.Session) *cobra.Command {
	var table session.TableFlags
	var mine bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "Checks that wait for people, those first that end first", Args: session.NoArgs,
		Example: "  muster approvals list --mine",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Approvals.List(cmd.Context())
			if err != nil {
				return err
			}
			if mine {
				kept := list.Items[:0]
				for _, a := range list.Items {
					if a.May {
						kept = append(kept, a)
					}
				}
				list.Items = kept
			}
			m := s.Moments(table)
			return session.Print(s, table, session.Table[api.Approval]{
				Items: list.Items, Name: func(a api.Approval) string { return a.Project + "/" + a.Workload }, Body: list,
				Columns: []session.Column[api.Approval]{
					{Title: "WORKLOAD", Cell: func(a api.Approval) string { return a.Workload }},
					{Title: "PROJECT", Cell: func(a api.Approval) string { return a.Project }},
					{Title: "USER", Cell: func(a api.Approval) string { return a.User }},
					{Title: "CHECK", Cell: func(a api.Approval) string { return a.Check.Name }},
					{Title: "APPROVALS", Cell: func(a api.Approval) string { return printers.Tally(a.Check) }},
					{Title: "YOU", Cell: youMay},
					{Title: "IMAGES", Cell: func(a api.Approval) string { return printers.OrDash(strings.Join(a.Check.Images, ",")) }},
					{Title: "SINCE", Cell: func(a api.Approval) string { return m.Ago(session.TimeOf(a.Since)) }},
				},
			})
		},
	}
	table.Register(cmd)
	cmd.Flags().BoolVar(&mine, "mine", false, "only those that you may decide")
	return cmd
}

func youMay(a api.Approval) string {
	switch {
	case !a.May:
		return "no"
	case a.For != "":
		return "for " + a.For
	}
	return "yes"
}

func newDelegate(s *session.Session) *cobra.Command {
	var sc document.Scope
	var until, comment string
	cmd := &cobra.Command{
		Use: "delegate USER --until TIME", Short: "Have another decide checks in your place, for a time", Example: "  muster approvals delegate bob --until 7d -p vision --comment 'on leave'",
		Args: session.OneName("user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := time.Parse(time.RFC3339, document.Until(until, time.Now()))
			if err != nil {
				return session.UsageError(fmt.Sprintf("--until %q is not a time to come", until), "write 7d, 'fri 18:00', or an instant like 2026-12-24T18:00:00Z")
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			d, err := c.Approvals.Delegate(cmd.Context(), api.NewDelegation{To: args[0], Scope: sc.Of(sc.Project), Until: api.Time(at), Comment: comment})
			if err != nil {
				return err
			}
			if shown, err := s.Brief(d, d.To); shown {
				return err
			}
			s.Say("%s decides for %s in %s until %s", d.To, d.From, session.ScopeText(d.Scope), time.Time(d.Until).UTC().Format(time.RFC3339))
			if blind(cmd.Context(), c, d) {
				s.Say("%s sees no workloads there, and so cannot decide yet: muster access-rule create --user %s --role viewer", d.To, d.To)
			}
			return nil
		},
	}
	sc.Register(s, cmd)
	cmd.Flags().StringVar(&until, "until", "", "until when: 7d, 'fri 18:00', or an instant; at most 90 days")
	cmd.Flags().StringVar(&comment, "comment", "", "why")
	return cmd
}

// blind reports whether access control keeps whom somebody lets decide from seeing what is
// to be decided. Where that cannot be asked it does not.
func blind(ctx context.Context, c *client.Client, d *api.Delegation) bool {
	me, err := c.Access.WhoAmI(ctx)
	if err != nil || !me.AccessControl {
		return false
	}
	for _, noun := range []string{"trainings", "workspaces", "inferences"} {
		a, err := c.Access.CanI(ctx, client.Question{Verb: "read", Noun: noun, Scope: d.Scope, As: d.To})
		if err != nil || a.Allowed {
			return false
		}
	}
	return true
}

func newDelegations(s *session.Session) *cobra.Command {
	var table session.TableFlags
	cmd := &cobra.Command{
		Use: "delegations", Short: "Who decides in whose place", Args: session.NoArgs, Example: "  muster approvals delegations",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Approvals.Delegations(cmd.Context())
			if err != nil {
				return err
			}
			return session.Print(s, table, session.Table[api.Delegation]{
				Items: list.Items, Name: func(d api.Delegation) string { return d.From + "/" + d.To }, Body: list,
				Columns: []session.Column[api.Delegation]{
					{Title: "FROM", Cell: func(d api.Delegation) string { return d.From }},
					{Title: "TO", Cell: func(d api.Delegation) string { return d.To }},
					{Title: "SCOPE", Cell: func(d api.Delegation) string { return session.ScopeName(d.Scope) }},
					{Title: "UNTIL", Cell: func(d api.Delegation) string { return untilWord(d) }},
					{Title: "COMMENT", Cell: func(d api.Delegation) string { return printers.OrDash(d.Comment) }},
				},
			})
		},
	}
	table.Register(cmd)
	return cmd
}

func untilWord(d api.Delegation) string {
	at := time.Time(d.Until).UTC()
	if !time.Now().Before(at) {
		return "over"
	}
	return at.Format(time.RFC3339)
}

func newRevoke(s *session.Session) *cobra.Command {
	var sc document.Scope
	var from string
	cmd := &cobra.Command{
		Use: "revoke USER", Short: "End that another decides in your place", Example: "  muster approvals revoke bob -p vision",
		Args: session.OneName("user"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.Approvals.Revoke(cmd.Context(), from, args[0], sc.Of(sc.Project)); err != nil {
				return err
			}
			s.Say("%s decides no more in the place of %s", args[0], orYou(from))
			return nil
		},
	}
	sc.Register(s, cmd)
	cmd.Flags().StringVar(&from, "from", "", "in whose place; by default yours")
	return cmd
}

func orYou(name string) string {
	if name == "" {
		return "you"
	}
	return name
}
