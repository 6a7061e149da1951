package access

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// subjectFlags say whom a rule is about.
type subjectFlags struct{ user, serviceAccount, group string }

func (f *subjectFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.user, "user", "", "user")
	cmd.Flags().StringVar(&f.serviceAccount, "service-account", "", "service account")
	cmd.Flags().StringVar(&f.group, "group", "", "everybody in this group")
}

// of is the subject as the API has it; empty: none is named.
func (f *subjectFlags) of() (string, error) {
	var out []string
	for _, x := range [][2]string{{"user", f.user}, {"service-account", f.serviceAccount}, {"group", f.group}} {
		if x[1] != "" {
			out = append(out, x[0]+":"+x[1])
		}
	}
	if len(out) > 1 {
		return "", session.UsageError("more than one subject is named: "+strings.Join(out, ", "), "name one of --user, --service-account and --group")
	}
	return strings.Join(out, ""), nil
}

// NewRule makes the command access-rule.
func NewRule(s *session.Session) *cobra.Command {
	cmd := session.Group("access-rule", "Access rules, each of which gives a subject a role in a scope: create, list, delete", "access-rules")
	cmd.AddCommand(ruleList(s), ruleCreate(s), ruleDelete(s))
	return cmd
}

func ruleList(s *session.Session) *cobra.Command {
	var t session.TableFlags
	var subject subjectFlags
	var scope scopeFlags
	var role string
	list := &cobra.Command{
		Use: "list [flags]", Aliases: []string{"ls", "get"}, Short: "List access rules: your own, and those of scopes in which you may read them", Example: "  muster access-rule list --project vision", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			who, err := subject.of()
			if err != nil {
				return err
			}
			where := ""
			if scope != (scopeFlags{}) {
				if where, err = scope.of(true); err != nil {
					return err
				}
			}
			all, err := c.Access.Rules(cmd.Context(), who, role, where)
			if err != nil {
				return err
			}
			return session.Print(s, t, session.Table[api.AccessRule]{Items: all.Items, Name: func(r api.AccessRule) string { return r.ID }, Body: all, Columns: []session.Column[api.AccessRule]{
				{Title: "ID", Cell: func(r api.AccessRule) string { return r.ID }},
				{Title: "SUBJECT", Cell: func(r api.AccessRule) string { return r.Subject }},
				{Title: "ROLE", Cell: func(r api.AccessRule) string { return r.Role }},
				{Title: "SCOPE", Cell: func(r api.AccessRule) string { return scopeWord(r.Scope) }},
				{Title: "AGE", Cell: func(r api.AccessRule) string { return s.Moments(t).Ago(session.TimeOf(r.CreatedAt)) }},
				{Title: "BY", Cell: func(r api.AccessRule) string { return printers.OrDash(r.CreatedBy) }},
			}})
		},
	}
	t.Register(list)
	subject.register(list)
	scope.register(list)
	list.Flags().StringVar(&role, "role", "", "only those that give this role")
	return list
}

func ruleCreate(s *session.Session) *cobra.Command {
	var subject subjectFlags
	var scope scopeFlags
	var role string
	create := &cobra.Command{
		Use: "create --role ROLE [flags]", Short: "Give a user, service account or group a role in a scope",
		Long: `Gives a subject a role in a project, in a department and everything below it, or in
the whole system. Rules add up, and are never changed: delete one and make another.
Nobody gives a role that allows more than they may do themselves, unless a role of
theirs assigns it (muster role describe).`,
		Example: "  muster access-rule create --user ann --role l1-researcher --project vision\n  muster access-rule create --group platform --role system-administrator --system",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n := api.NewAccessRule{Role: role}
			var err error
			if n.Subject, err = subject.of(); err != nil {
				return err
			}
			switch {
			case n.Subject == "":
				return session.UsageError("no subject is named", "name one with --user, --service-account or --group")
			case role == "":
				return session.UsageError("no role is named", "name one with --role; muster role list shows them")
			}
			if n.Scope, err = scope.of(true); err != nil {
				return err
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			r, err := c.Access.CreateRule(cmd.Context(), n)
			if err != nil {
				return err
			}
			if shown, err := s.Brief(r, r.ID); shown {
				return err
			}
			s.Say("%s has role %s in %s (access rule %s)", r.Subject, r.Role, scopeWord(r.Scope), r.ID)
			return nil
		},
	}
	subject.register(create)
	scope.register(create)
	create.Flags().StringVar(&role, "role", "", "role that is given; muster role list shows them")
	return create
}

func ruleDelete(s *session.Session) *cobra.Command {
	var yes bool
	drop := &cobra.Command{
		Use: "delete ID", Aliases: []string{"rm"}, Short: "Take an access rule back", Example: "  muster access-rule delete 01k3m0zv8r1c9d5w6x7y8z9abc --yes", Args: session.OneName("access rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), "access rule", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Access.DeleteRule(ctx, args[0]) })
		},
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return drop
}

// NewToken makes the command token.
func NewToken(s *session.Session) *cobra.Command {
	cmd := session.Group("token", "Tokens, which let users and service accounts in: create, list, revoke", "tokens")
	cmd.AddCommand(tokenCreate(s), tokenList(s), tokenRevoke(s))
	return cmd
}

func tokenCreate(s *session.Session) *cobra.Command {
	var n api.NewToken
	var scope scopeFlags
	create := &cobra.Command{
		Use: "create [flags]", Short: "Make a token, whose text is shown once",
		Long: `Makes a token for you, or for the user or service account that --user names, and
prints it: it is not kept, only its hash, and cannot be shown again. It is good for
30 days unless --lifetime says otherwise. With --permission and --project it allows
no more than that, whatever its user may do.`,
		Example: "  muster token create --note laptop\n  muster token create --user robot --lifetime 90d --permission create:trainings --permission read:workloads --project vision",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if scope != (scopeFlags{}) {
				if n.Scope, err = scope.of(true); err != nil {
					return err
				}
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			t, err := c.Access.CreateToken(cmd.Context(), n)
			if err != nil {
				return err
			}
			if s.Machine() {
				return s.Document(t)
			}
			until := "until it is revoked"
			if t.ExpiresAt != nil {
				until = "until " + s.Moments(session.TableFlags{}).Instant(session.TimeOf(*t.ExpiresAt))
			}
			s.Say("token %s of %s is good %s; it is shown only now:", t.ID, t.User, until)
			_, err = fmt.Fprintln(s.IO.Out, t.Text)
			return err
		},
	}
	create.Flags().StringVar(&n.User, "user", "", "user or service account that it lets in; by default you")
	create.Flags().StringVar(&n.Lifetime, "lifetime", "", "how long it is good, like 12h or 90d; 0s: until it is revoked; by default 30d")
	create.Flags().StringSliceVar(&n.Permissions, "permission", nil, "what it allows at most, like read:workloads; repeat for several")
	create.Flags().StringVarP(&n.Note, "note", "m", "", "what it is for")
	scope.register(create)
	return create
}

func tokenList(s *session.Session) *cobra.Command {
	var t session.TableFlags
	var user string
	list := &cobra.Command{
		Use: "list [flags]", Aliases: []string{"ls", "get"}, Short: "List your tokens and sessions, and everybody's where you may read those; never their text", Example: "  muster token list", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Access.Tokens(cmd.Context(), user)
			if err != nil {
				return err
			}
			m := s.Moments(t)
			when := func(at *api.Time, none string) string {
				if at == nil {
					return none
				}
				return m.Ago(session.TimeOf(*at))
			}
			return session.Print(s, t, session.Table[api.Token]{Items: all.Items, Name: func(x api.Token) string { return x.ID }, Body: all, Columns: []session.Column[api.Token]{
				{Title: "ID", Cell: func(x api.Token) string { return x.ID }},
				{Title: "USER", Cell: func(x api.Token) string { return x.User }},
				{Title: "EXPIRES", Cell: func(x api.Token) string {
					switch {
					case x.Expired:
						return "expired"
					case x.ExpiresAt == nil:
						return "never"
					}
					return m.Instant(session.TimeOf(*x.ExpiresAt))
				}},
				{Title: "LAST USED", Cell: func(x api.Token) string { return when(x.UsedAt, "never") }},
				{Title: "ALLOWS", Cell: func(x api.Token) string {
					allows := "all that its user may"
					if len(x.Permissions) > 0 {
						allows = strings.Join(x.Permissions, ", ")
					}
					if x.Scope != "" {
						allows += " in " + x.Scope
					}
					return allows
				}},
				{Title: "NOTE", Cell: func(x api.Token) string {
					switch {
					case x.Browser:
						return "session of a browser"
					case x.Provider != "":
						return "session of the command line"
					}
					return printers.OrDash(x.Note)
				}},
			}})
		},
	}
	t.Register(list)
	list.Flags().StringVar(&user, "user", "", "only those of this user or service account")
	return list
}

func tokenRevoke(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Aliases: []string{"delete", "rm"}, Short: "End a token; what came in with it ends too", Example: "  muster token revoke 01k3m0zv8r1c9d5w6x7y8z9abc", Args: session.OneName("token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.Access.RevokeToken(cmd.Context(), args[0]); err != nil {
				return err
			}
			s.Say("token %s is revoked", args[0])
			return nil
		},
	}
}
