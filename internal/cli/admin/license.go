package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewLicense makes the command license.
func NewLicense(s *session.Session) *cobra.Command {
	cmd := session.Group("license", "Licenses, which are counted for the whole site: list, set, delete", "licenses", "licence", "licences")
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list [LICENSE…]", Aliases: []string{"ls", "get"}, Short: "List licenses, with how many are held and who waits", Example: "  muster license list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return GetLicenses(cmd.Context(), s, c, t, args)
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return completeLicenses(s, a0, a1, a2)
		},
	}
	t.Register(list)
	var note string
	set := &cobra.Command{
		Use: "set LICENSE NUMBER [flags]", Aliases: []string{"create", "update"}, Short: "Say how many there are of a license",
		Long: `Says how many there are of a license, seats of a program for instance, and begins
to count it where it is new. Workloads ask for it with licenses: {NAME: NUMBER},
or --license NAME=NUMBER, and wait until so many are free. Nobody who holds some
is ended when there are fewer: nobody else starts until enough have ended.`,
		Example: "  muster license set matlab 8 --note \"until May\"",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return session.UsageError("muster license set takes a license and a number", "like muster license set matlab 8")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || n < 0 {
				return session.UsageError(fmt.Sprintf("%q is not a number of licenses", args[1]), "write 0 or more")
			}
			patch := map[string]any{"total": n}
			if cmd.Flags().Changed("note") {
				patch["note"] = note
			}
			return setLicense(cmd.Context(), s, args[0], n, note, patch)
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return completeLicenses(s, a0, a1, a2)
		},
	}
	set.Flags().StringVarP(&note, "note", "m", "", "what it is for")
	var yes bool
	drop := &cobra.Command{
		Use: "delete LICENSE", Aliases: []string{"rm"}, Short: "Forget a license that no workload asks for any more", Example: "  muster license delete matlab --yes",
		Args: session.OneName("license"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Drop(cmd.Context(), "license", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.Licenses.Delete(ctx, args[0]) })
		},
		ValidArgsFunction: func(a0 *cobra.Command, a1 []string, a2 string) ([]string, cobra.ShellCompDirective) {
			return completeLicenses(s, a0, a1, a2)
		},
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, set, drop)
	return cmd
}

func setLicense(ctx context.Context, s *session.Session, name string, n int64, note string, patch map[string]any) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	l, err := c.Licenses.Change(ctx, name, patch)
	var p *api.Problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		l, err = c.Licenses.Create(ctx, api.NewLicense{Name: name, LicenseSpec: api.LicenseSpec{Total: n, Note: note}})
	}
	if err != nil {
		return err
	}
	s.Warn(l.Warnings)
	if shown, err := s.Brief(l, l.Name); shown {
		return err
	}
	s.Say("license %s: %d, of which %d are held", l.Name, l.Total, l.Used)
	return nil
}

func completeLicenses(s *session.Session, cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Licenses.List(ctx)
		if err != nil {
			return nil
		}
		for _, l := range list.Items {
			names = append(names, l.Name)
		}
		return names
	})
}

// GetLicenses prints the licenses of these names; without names, all.
func GetLicenses(ctx context.Context, s *session.Session, c *client.Client, t session.TableFlags, names []string) error {
	list, err := c.Licenses.List(ctx)
	if err != nil {
		return err
	}
	var body any = list
	if len(names) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(l api.License) bool { return !slices.Contains(names, l.Name) })
		if err := missing("license", "muster license list", names, list.Items, func(x api.License) string { return x.Name }); err != nil {
			return err
		}
		if len(names) == 1 {
			body = list.Items[0]
		}
	}
	return session.Print(s, t, session.Table[api.License]{Items: list.Items, Name: func(l api.License) string { return l.Name }, Body: body, Columns: []session.Column[api.License]{
		{Title: "NAME", Cell: func(l api.License) string { return l.Name }},
		{Title: "USED", Cell: func(l api.License) string { return fmt.Sprintf("%d/%d", l.Used, l.Total) }},
		{Title: "FREE", Cell: func(l api.License) string { return strconv.FormatInt(max(l.Total-l.Used, 0), 10) }},
		{Title: "WAITING", Cell: func(l api.License) string { return strconv.FormatInt(l.Waiting, 10) }},
		{Title: "HOLDERS", Cell: licensees},
		{Title: "NOTE", Cell: func(l api.License) string { return printers.OrDash(l.Note) }},
	}})
}

// licensees are the first of those who hold a license.
func licensees(l api.License) string {
	const shown = 3
	var out []string
	for i, h := range l.Holders {
		if i == shown {
			out = append(out, fmt.Sprintf("and %d more", len(l.Holders)-shown))
			break
		}
		out = append(out, fmt.Sprintf("%s %d", h.Name, h.Count))
	}
	return printers.OrDash(strings.Join(out, ", "))
}
