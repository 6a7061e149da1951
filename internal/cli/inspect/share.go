package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
)

type shareOptions struct {
	table  session.TableFlags
	scope  session.Scope
	ask    api.NewShare
	list   bool
	revoke string
}

// NewShare makes the command share.
func NewShare(s *session.Session) *cobra.Command {
	o := &shareOptions{}
	cmd := &cobra.Command{
		Use:   "share [WORKLOAD]",
		Short: "A link that shows a workload of yours without an account",
		Long: `Makes a link that shows the state of a workload and the numbers that it reports,
or one curve, to whoever has the link: no commands, environment, or names of others,
and the end of its output only with --logs. It expires, can be revoked, and every opening is in the audit log.

The server has to allow it: muster server --share-links.`,
		Example: `  muster share train-moons
  muster share train-moons --chart loss --expires 30d
  muster share train-moons --logs
  muster share --list
  muster share --revoke 3f9a62d1c07b4e58`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			return share(cmd.Context(), s, o, session.FirstName(args))
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	o.table.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.ask.Chart, "chart", "", "show only the curve of this reported number")
	f.BoolVar(&o.ask.Logs, "logs", false, "show the end of its output, too")
	f.StringVar(&o.ask.Expires, "expires", "", "for how long it is good, 1h to 90d; by default 7d")
	f.BoolVar(&o.list, "list", false, "list the links that are good")
	f.StringVar(&o.revoke, "revoke", "", "revoke the link with this ID")
	cmd.MarkFlagsMutuallyExclusive("list", "revoke")
	cmd.MarkFlagsMutuallyExclusive("chart", "logs")
	return cmd
}

func share(ctx context.Context, s *session.Session, o *shareOptions, name string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	if o.revoke != "" {
		if err := c.Unshare(ctx, o.revoke); err != nil {
			return err
		}
		s.Say("Revoked the link %s", o.revoke)
		return nil
	}
	if o.list && name == "" {
		return listShares(ctx, s, o.table, c, "")
	}
	w, err := s.Resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	if o.list {
		return listShares(ctx, s, o.table, c, w.ID)
	}
	o.ask.Project, o.ask.Workload = w.Project, w.ID
	made, err := c.Share(ctx, o.ask)
	if err != nil {
		return err
	}
	code, err := c.LoginCode(ctx) // for where browsers reach the server
	if err != nil {
		return err
	}
	url := c.At(code, made.Path)
	if s.Machine() {
		return s.Document(map[string]any{"url": url, "share": made})
	}
	if _, err := fmt.Fprintln(s.IO.Out, url); err != nil {
		return err
	}
	s.Say("Whoever has the link sees %s until it expires. Revoke it with muster share --revoke %s", w.Name, made.ID)
	return nil
}

// shows is what a link shows, in a word.
func shows(x api.Share) string {
	if x.Logs {
		return "all, output"
	}
	return cmp.Or(x.Chart, "all")
}

func listShares(ctx context.Context, s *session.Session, t session.TableFlags, c *client.Client, id string) error {
	all, err := c.Shares(ctx, id)
	if err != nil {
		return err
	}
	m := s.Moments(t)
	return session.Print(s, t, session.Table[api.Share]{Items: all.Items, Name: func(x api.Share) string { return x.ID }, Body: all, Columns: []session.Column[api.Share]{
		{Title: "ID", Cell: func(x api.Share) string { return x.ID }},
		{Title: "WORKLOAD", Cell: func(x api.Share) string { return x.Project + "/" + x.Name }},
		{Title: "SHOWS", Cell: func(x api.Share) string { return shows(x) }},
		{Title: "EXPIRES", Cell: func(x api.Share) string { return m.Instant(session.TimeOf(x.Expires)) }},
		{Title: "OPENED", Cell: func(x api.Share) string { return strconv.Itoa(x.Opened) }},
	}})
}
