// Package access has the commands of who may do what: signing in, users, roles,
// access rules, tokens, and the audit log.
package access

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewLogin makes the command login.
func NewLogin(s *session.Session) *cobra.Command {
	var file, name, password string
	var sso, browser bool
	cmd := &cobra.Command{
		Use: "login [flags]", Short: "Sign in to a server with a token, or by its identity provider",
		Long: `Signs in to the server that --server names, or the one that is found otherwise,
with a token that muster token create has made, there or by an administrator. The
token is kept in credentials.yaml beside the configuration file, for this server
alone and readable by you alone. On a server's own machine nobody needs one: its
socket knows who asks.

With --sso one signs in at the identity provider that the server knows: a link and a
code are printed, for a browser here or elsewhere, and what is kept is good for as
long as a session there (12 hours unless the server says otherwise). With --browser
the browser has to be on this machine, and no code is typed. With --user NAME one signs
in by a password, where the server knows a directory (LDAP).`,
		Example: "  muster login --server https://muster.acme.com --sso\n  muster login --server https://muster.acme.com --token-file token.txt",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ways := 0
			for _, given := range []bool{sso || browser, file != "", name != "" || password != ""} {
				if given {
					ways++
				}
			}
			switch {
			case ways > 1:
				return session.UsageError("--sso, --user and --token-file are different ways to sign in", "choose one")
			case password != "" && name == "":
				return session.NeedsFlagError("whose password it is", "--user NAME")
			case name != "":
				return signInByPassword(cmd.Context(), s, name, password)
			case sso || browser:
				return signIn(cmd.Context(), s, browser)
			}
			token, err := readHidden(cmd.Context(), s, "Token: ", "the token", "--token-file", file)
			token = strings.TrimSpace(token)
			if err == nil && (token == "" || strings.ContainsAny(token, " \t\n")) {
				err = session.UsageError("what was given is not a token", "a token is one word; muster token create makes one")
			}
			if err != nil {
				return err
			}
			return login(cmd.Context(), s, token)
		},
	}
	cmd.Flags().StringVar(&file, "token-file", "", "file with the token; '-': standard input; without it, it is asked for")
	cmd.Flags().BoolVar(&sso, "sso", false, "sign in by the server's identity provider")
	cmd.Flags().StringVar(&name, "user", "", "sign in by the server's directory (LDAP), as this user, with a password")
	cmd.Flags().StringVar(&password, "password-file", "", "file with the password of --user; '-': standard input; without it, it is asked for")
	cmd.Flags().BoolVar(&browser, "browser", false, "sign in by the server's identity provider, in a browser on this machine")
	return cmd
}

// readHidden reads what nobody is to see: from the file that a flag names, or as it is
// typed.
func readHidden(ctx context.Context, s *session.Session, prompt, what, flag, file string) (string, error) {
	var data []byte
	var err error
	switch file {
	case "":
		if !s.IO.InTerminal {
			return "", session.NeedsFlagError(what, flag+" FILE, or - for standard input")
		}
		data, err = s.AskHidden(ctx, prompt)
	case "-":
		data, err = io.ReadAll(io.LimitReader(s.IO.In, 4096))
	default:
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return "", err
	}
	return string(bytes.TrimRight(data, "\r\n")), nil
}

func login(ctx context.Context, s *session.Session, token string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	with, err := client.New(client.Options{Address: c.Address(), Token: token, UserAgent: "muster/" + s.Program.Version.Version})
	if err != nil {
		return err
	}
	me, err := with.Access.WhoAmI(ctx)
	if err != nil {
		return err
	}
	if !me.AccessControl || me.By != "token" {
		return session.UsageError("access control is off there: the server knows no tokens of users", "set MUSTER_TOKEN to the content of the file 'token' of its data directory; on its machine none is needed")
	}
	if err := keep(s, c.Address(), token); err != nil {
		return err
	}
	if shown, err := s.Brief(me, me.User); shown {
		return err
	}
	s.Say("signed in to %s as %s", c.Address(), me.User)
	return nil
}

// keep keeps the token for a server at an address.
func keep(s *session.Session, address, token string) error {
	all, err := s.Credentials()
	if err != nil {
		return err
	}
	all[address] = token
	return s.KeepCredentials(all)
}

// NewLogout makes the command logout.
func NewLogout(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Forget the token that is kept for a server: a session ends, a token stays good until it is revoked", Example: "  muster logout --server https://muster.acme.com",
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := s.Credentials()
			if err != nil {
				return err
			}
			if all[c.Address()] == "" {
				return session.NotFoundError("no token is kept for "+c.Address(), "muster login keeps one")
			}
			ended := false
			if me, err := c.Access.WhoAmI(cmd.Context()); err == nil && me.Provider != "" {
				if err := c.Access.RevokeToken(cmd.Context(), me.Token); err != nil {
					return err
				}
				ended = true
			}
			delete(all, c.Address())
			if err := s.KeepCredentials(all); err != nil {
				return err
			}
			if ended {
				s.Say("signed out of %s", c.Address())
				return nil
			}
			s.Say("the token for %s is forgotten here", c.Address())
			return nil
		},
	}
}

// NewAuth makes the command auth.
func NewAuth(s *session.Session) *cobra.Command {
	cmd := session.Group("auth", "Who one is to the server, and what one may do: whoami, can-i")
	who := &cobra.Command{
		Use: "whoami", Short: "As whom the server knows you, and by which rules you have which roles", Example: "  muster auth whoami", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			me, err := c.Access.WhoAmI(cmd.Context())
			if err != nil {
				return err
			}
			if shown, err := s.Brief(me, me.User); shown {
				return err
			}
			return printIdentity(s, me)
		},
	}
	var q client.Question
	var scope scopeFlags
	can := &cobra.Command{
		Use: "can-i VERB NOUN [flags]", Short: "Whether you, or somebody, may do something; ends with 1 where not",
		Long: `Says whether somebody may do something in a scope, and by which access rule.
Verbs are create, read, update, delete, exec and approve; muster role list shows
the nouns. Without --project or --department the whole system is meant. With --own
it is asked of what is their own: the workloads that they have submitted.`,
		Example: "  muster auth can-i create trainings --project vision\n  muster auth can-i delete workloads --project vision --as ann --own",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return session.UsageError("muster auth can-i takes a verb and a noun", "like muster auth can-i create workloads --project vision")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			q.Verb, q.Noun = args[0], args[1]
			if q.Scope, err = scope.of(false); err != nil {
				return err
			}
			d, err := c.Access.CanI(cmd.Context(), q)
			if err != nil {
				return err
			}
			word := "yes"
			if !d.Allowed {
				word = "no"
			}
			if shown, err := s.Brief(d, word); !shown {
				fmt.Fprintf(s.IO.Out, "%s: %s\n", word, d.Message)
				if d.Hint != "" {
					s.Say("%s", d.Hint)
				}
			} else if err != nil {
				return err
			}
			if !d.Allowed {
				return session.ExitCode(session.ExitInternal)
			}
			return nil
		},
	}
	scope.register(can)
	can.Flags().StringVar(&q.As, "as", "", "user or service account that is asked about; by default you")
	can.Flags().BoolVar(&q.Own, "own", false, "of what is their own")
	cmd.AddCommand(who, can)
	return cmd
}

func printIdentity(s *session.Session, me *api.Identity) error {
	g := session.Grid{}
	row := func(name, value string) {
		if value != "" {
			g.Rows = append(g.Rows, []session.Cell{{Text: name}, {Text: value}})
		}
	}
	row("User:", me.User)
	row("Kind:", me.Kind)
	row("Came by:", me.By)
	row("Groups:", strings.Join(me.Groups, ", "))
	switch {
	case !me.AccessControl:
		row("May:", "everything: access control is off")
	case me.Owner:
		row("May:", "everything: the server is yours")
	}
	row("Signed in by:", me.Provider)
	row("Token:", me.Token)
	if me.ExpiresAt != nil {
		row("Until:", s.Moments(session.TableFlags{}).Instant(session.TimeOf(*me.ExpiresAt)))
	}
	row("Of it:", strings.Join(me.Permissions, ", "))
	if me.Scope != "" {
		row("In:", scopeWord(me.Scope))
	}
	if me.AccessControl && !me.Owner && len(me.Rules) == 0 {
		row("Roles:", "none")
	}
	for _, r := range me.Rules {
		row("Role:", fmt.Sprintf("%s in %s (%s)", r.Role, scopeWord(r.Scope), r.Subject))
	}
	return s.Aligned(g)
}

// scopeFlags say in which scope something is meant.
type scopeFlags struct {
	project, department string
	system              bool
}

func (f *scopeFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.project, "project", "p", "", "in this project")
	cmd.Flags().StringVar(&f.department, "department", "", "in this department, and everything below it")
	cmd.Flags().BoolVar(&f.system, "system", false, "in the whole system")
}

// of is the scope as the API has it.
func (f *scopeFlags) of(required bool) (string, error) {
	given := 0
	for _, is := range []bool{f.project != "", f.department != "", f.system} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return "", session.UsageError("more than one of --project, --department and --system is given", "name one scope")
	case f.project != "":
		return f.project, nil
	case f.department != "":
		return f.department, nil
	case f.system || !required:
		return client.SystemScope, nil
	}
	return "", session.UsageError("no scope is given", "name one with --project, --department or --system")
}

// scopeWord is a scope as it is shown.
func scopeWord(scope string) string {
	if scope == client.SystemScope {
		return "the system"
	}
	return scope
}
