package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewControl makes the command access.
func NewControl(s *session.Session) *cobra.Command {
	cmd := session.Group("access", "Access control, by which rules decide who may do what: status, enable, disable, audit")
	status := &cobra.Command{
		Use: "status", Short: "Whether access rules decide who may do what", Example: "  muster access status", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return control(cmd.Context(), s, func(ctx context.Context, c *client.Client) (*api.AccessControl, error) { return c.Access.Control(ctx) })
		},
	}
	switched := func(on bool) func(cmd *cobra.Command, _ []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			return control(cmd.Context(), s, func(ctx context.Context, c *client.Client) (*api.AccessControl, error) {
				return c.Access.Switch(ctx, on)
			})
		}
	}
	enable := &cobra.Command{
		Use: "enable", Short: "Let access rules decide from now on who may do what",
		Long: `Turns access control on: from now on everybody needs an access rule for what they
do, but for the owner of the server, who comes by its socket as the user that it
runs as, or as root. The file 'token' of the data directory lets nobody in any more;
users and service accounts have tokens of their own. Everything that is changed is
written to the audit log. Prepare users and rules before: muster user create, muster
access-rule create.`,
		Example: "  muster access enable", Args: session.NoArgs, RunE: switched(true),
	}
	disable := &cobra.Command{
		Use: "disable", Short: "Let everybody who reaches the server do everything again", Long: "Turns access control off: everybody who reaches the server may do everything again. Users, roles, rules and the audit log stay.",
		Example: "  muster access disable", Args: session.NoArgs, RunE: switched(false),
	}
	cmd.AddCommand(status, enable, disable, auditSwitch(s))
	return cmd
}

func control(ctx context.Context, s *session.Session, ask func(context.Context, *client.Client) (*api.AccessControl, error)) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	is, err := ask(ctx, c)
	if err != nil {
		return err
	}
	word := "off"
	if is.Enabled {
		word = "on"
	}
	if shown, err := s.Brief(is, word); shown {
		return err
	}
	written := "off"
	if is.Audit {
		written = "on"
	}
	_, err = fmt.Fprintf(s.IO.Out, "access control is %s\nthe audit log is %s\n", word, written)
	return err
}

// auditSwitch makes the command access audit.
func auditSwitch(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "audit on|off", Short: "Have the audit log written while access control is off, too",
		Long: `Says whether what is done is written to the audit log while access control is off.
From on, every change and exec is an entry, in the commit that carries the change
out, in the same chain as later ones. While access control is on the log is written
whatever this says. Entries stay when it is turned off, and that it was is the last.`,
		Example: "  muster access audit on", ValidArgs: []string{"on", "off"}, Args: session.OneName("word, on or off"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "on" && args[0] != "off" {
				return session.UsageError(fmt.Sprintf("%q is neither on nor off", args[0]), "write muster access audit on, or muster access audit off; muster access status shows which it is")
			}
			return control(cmd.Context(), s, func(ctx context.Context, c *client.Client) (*api.AccessControl, error) {
				return c.Access.SwitchAudit(ctx, args[0] == "on")
			})
		},
	}
}

// NewUsers makes the command user, or service-account.
func NewUsers(s *session.Session, kind string) *cobra.Command {
	word, plural, example := "user", "Users", "ann"
	if kind == client.KindServiceAccount {
		word, plural, example = "service account", "Service accounts", "robot"
	}
	aliases := []string{kind + "s"}
	if kind == client.KindServiceAccount {
		aliases = append(aliases, "sa")
	}
	cmd := session.Group(kind, plural+", who are given roles by access rules: create, list, update, disable, enable, delete", aliases...)
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List every " + word, Example: "  muster " + kind + " list", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Access.Users(cmd.Context(), kind)
			if err != nil {
				return err
			}
			return session.Print(s, t, session.Table[api.User]{Items: all.Items, Name: func(u api.User) string { return u.Name }, Body: all, Columns: []session.Column[api.User]{
				{Title: "NAME", Cell: func(u api.User) string { return u.Name }},
				{Title: "LET IN", Cell: func(u api.User) string { return map[bool]string{true: "no", false: "yes"}[u.Disabled] }},
				{Title: "GROUPS", Cell: func(u api.User) string { return printers.OrDash(strings.Join(groupsOf(u), ", ")) }},
				{Title: "SSO", Cell: func(u api.User) string { return map[bool]string{true: "yes", false: "-"}[u.Account != nil] }},
				{Title: "OS USER", Cell: func(u api.User) string { return printers.OrDash(u.OSUser) }},
				{Title: "AGE", Cell: func(u api.User) string { return s.Moments(t).Ago(session.TimeOf(u.CreatedAt)) }},
				{Title: "NOTE", Cell: func(u api.User) string { return printers.OrDash(u.Note) }},
			}})
		},
	}
	t.Register(list)
	var groups []string
	var note string
	var sso bool
	var osUser string
	create := &cobra.Command{
		Use: "create NAME [flags]", Short: "Make a " + word, Long: userLong[kind], Example: "  muster " + kind + " create " + example + " --group vision", Args: session.OneName(word),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			u, err := c.Access.CreateUser(cmd.Context(), kind, api.NewUser{Name: args[0], Groups: groups, Note: note, SSO: sso, OSUser: osUser})
			return changed(s, word, u, err, "made")
		},
	}
	create.Flags().StringSliceVar(&groups, "group", nil, "group that it is in; repeat for several")
	create.Flags().StringVarP(&note, "note", "m", "", "who or what it is")
	update := &cobra.Command{
		Use: "update NAME [flags]", Short: "Change the groups or the note of a " + word, Example: "  muster " + kind + " update " + example + " --group vision,nlp", Args: session.OneName(word),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change api.UserChange
			if cmd.Flags().Changed("group") {
				change.Groups = &groups
			}
			if cmd.Flags().Changed("note") {
				change.Note = &note
			}
			if cmd.Flags().Changed("sso") {
				change.SSO = &sso
			}
			if cmd.Flags().Changed("os-user") {
				change.OSUser = &osUser
			}
			if change == (api.UserChange{}) {
				return session.UsageError("nothing is to change", "name --group, --note, --os-user or --sso")
			}
			return change1(cmd.Context(), s, kind, word, args[0], change, "changed")
		},
	}
	update.Flags().StringSliceVar(&groups, "group", nil, "all groups that it is in; '': none")
	update.Flags().StringVarP(&note, "note", "m", "", "who or what it is")
	create.Flags().StringVar(&osUser, "os-user", "", "account of the server's machine that its tasks run as, where tasks run as who submits them")
	update.Flags().StringVar(&osUser, "os-user", "", "account of the server's machine that its tasks run as; '': none")
	if kind == client.KindUser {
		create.Flags().BoolVar(&sso, "sso", false, "the first whom the identity provider calls by this name is let in as this user")
		update.Flags().BoolVar(&sso, "sso", false, "the next whom the identity provider calls by this name is let in as this user, and no account that was before; =false: nobody is")
	}
	turn := func(name, short, done string, off bool) *cobra.Command {
		return &cobra.Command{
			Use: name + " NAME", Short: short, Example: "  muster " + kind + " " + name + " " + example, Args: session.OneName(word),
			RunE: func(cmd *cobra.Command, args []string) error {
				return change1(cmd.Context(), s, kind, word, args[0], api.UserChange{Disabled: &off}, done)
			},
		}
	}
	var yes bool
	drop := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Forget a " + word + ", with its tokens and access rules; its workloads stay", Example: "  muster " + kind + " delete " + example + " --yes", Args: session.OneName(word),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), word, args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Access.DeleteUser(ctx, kind, args[0]) })
		},
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, create, update, turn("disable", "Let a "+word+" in by no way, whatever token it shows", "disabled", true), turn("enable", "Let a "+word+" in again that was disabled", "let in again", false), drop)
	return cmd
}

// groupsOf are the groups of a user, those that an identity provider has named too.
func groupsOf(u api.User) []string {
	if u.Account == nil {
		return u.Groups
	}
	all := slices.Concat(u.Groups, u.Account.Groups)
	slices.Sort(all)
	return slices.Compact(all)
}

var userLong = map[string]string{
	client.KindUser: `Makes a user, who can then be given roles by access rules. Who comes by the socket of
the server is known by the name of their account on that machine; others come with
a token (muster token create --user NAME).`,
	client.KindServiceAccount: `Makes a service account, for a program rather than a person. It comes in with tokens
(muster token create --user NAME) and is given roles by access rules.`,
}

func change1(ctx context.Context, s *session.Session, kind, word, name string, change api.UserChange, done string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	u, err := c.Access.ChangeUser(ctx, kind, name, change)
	return changed(s, word, u, err, done)
}

func changed(s *session.Session, word string, u *api.User, err error, done string) error {
	if err != nil {
		return err
	}
	if shown, err := s.Brief(u, u.Name); shown {
		return err
	}
	s.Say("%s %s is %s", word, u.Name, done)
	return nil
}

// NewRole makes the command role.
func NewRole(s *session.Session) *cobra.Command {
	cmd := session.Group("role", "Roles, which are sets of permissions: list, describe, create, delete", "roles")
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List the predefined roles and the custom ones", Example: "  muster role list", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Access.Roles(cmd.Context())
			if err != nil {
				return err
			}
			return session.Print(s, t, session.Table[api.Role]{Items: all.Items, Name: func(r api.Role) string { return r.Name }, Body: all, Columns: []session.Column[api.Role]{
				{Title: "NAME", Cell: func(r api.Role) string { return r.Name }},
				{Title: "PREDEFINED", Cell: func(r api.Role) string { return map[bool]string{true: "yes", false: "no"}[r.Predefined] }},
				{Title: "DESCRIPTION", Cell: func(r api.Role) string { return printers.OrDash(r.Description) }},
			}})
		},
	}
	t.Register(list)
	describe := &cobra.Command{
		Use: "describe NAME", Aliases: []string{"show"}, Short: "What a role allows", Example: "  muster role describe l1-researcher", Args: session.OneName("role"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			r, err := c.Access.Role(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if shown, err := s.Brief(r, r.Name); shown {
				return err
			}
			return printRole(s, r)
		},
	}
	var n api.NewRole
	create := &cobra.Command{
		Use: "create NAME --permission VERB:NOUN… [flags]", Short: "Make a custom role of permissions",
		Long: `Makes a role of permissions, each VERB:NOUN, or VERB:NOUN:own for what is the
subject's own. Nobody puts into a role what they may not do themselves. Roles are
not changed: delete one that no rule gives, and make it anew.`,
		Example: "  muster role create on-call --permission read:workloads --permission update:nodes", Args: session.OneName("role"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			n.Name = args[0]
			r, err := c.Access.CreateRole(cmd.Context(), n)
			if err != nil {
				return err
			}
			if shown, err := s.Brief(r, r.Name); shown {
				return err
			}
			s.Say("role %s is made; muster access-rule create gives it to somebody", r.Name)
			return nil
		},
	}
	create.Flags().StringSliceVar(&n.Permissions, "permission", nil, "what it allows, like read:workloads or delete:workloads:own; repeat for several")
	create.Flags().StringSliceVar(&n.Assigns, "assigns", nil, "role that who has this one may give; repeat for several")
	create.Flags().StringVar(&n.Description, "description", "", "what it is for")
	var yes bool
	drop := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Forget a custom role that no access rule gives", Example: "  muster role delete on-call --yes", Args: session.OneName("role"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), "role", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Access.DeleteRole(ctx, args[0]) })
		},
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, describe, create, drop)
	return cmd
}

// printRole shows what a role allows, noun by noun.
func printRole(s *session.Session, r *api.Role) error {
	fmt.Fprintf(s.IO.Out, "%s: %s\n", r.Name, printers.OrDash(r.Description))
	verbs := map[string][]string{}
	var nouns []string
	for _, p := range r.Permissions {
		f := strings.Split(p, ":")
		if !slices.Contains(nouns, f[1]) {
			nouns = append(nouns, f[1])
		}
		verb := f[0]
		if len(f) > 2 {
			verb += " (own)"
		}
		if !slices.Contains(verbs[f[1]], verb) {
			verbs[f[1]] = append(verbs[f[1]], verb)
		}
	}
	g := session.Grid{Titles: []string{"NOUN", "VERBS"}}
	for _, n := range nouns {
		g.Rows = append(g.Rows, []session.Cell{{Text: n}, {Text: strings.Join(verbs[n], ", ")}})
	}
	if err := s.Aligned(g); err != nil {
		return err
	}
	if len(r.Assigns) > 0 {
		fmt.Fprintf(s.IO.Out, "may give: %s\n", strings.Join(r.Assigns, ", "))
	}
	return nil
}
