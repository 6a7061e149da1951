package cli

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
)

func newLicense(s *session) *cobra.Command {
	cmd := noun("license", "Licenses, which are counted for the whole site: list, set, delete", "licenses", "licence", "licences")
	var t tableFlags
	list := &cobra.Command{
		Use: "list [LICENSE…]", Aliases: []string{"ls", "get"}, Short: "List licenses, with how many are held and who waits", Example: "  muster license list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			return s.getLicenses(cmd.Context(), c, t, args)
		},
		ValidArgsFunction: s.completeLicenses,
	}
	t.register(list)
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
				return usage("muster license set takes a license and a number", "like muster license set matlab 8")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || n < 0 {
				return usage(fmt.Sprintf("%q is not a number of licenses", args[1]), "write 0 or more")
			}
			patch := map[string]any{"total": n}
			if cmd.Flags().Changed("note") {
				patch["note"] = note
			}
			return s.setLicense(cmd.Context(), args[0], n, note, patch)
		},
		ValidArgsFunction: s.completeLicenses,
	}
	set.Flags().StringVarP(&note, "note", "m", "", "what it is for")
	var yes bool
	drop := &cobra.Command{
		Use: "delete LICENSE", Aliases: []string{"rm"}, Short: "Forget a license that no workload asks for any more", Example: "  muster license delete matlab --yes",
		Args: one("license"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.drop(cmd.Context(), "license", args[0], yes, func(ctx context.Context, c *client.Client) error { return c.DeleteLicense(ctx, args[0]) })
		},
		ValidArgsFunction: s.completeLicenses,
	}
	drop.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.AddCommand(list, set, drop)
	return cmd
}

func (s *session) setLicense(ctx context.Context, name string, n int64, note string, patch map[string]any) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	l, err := c.ChangeLicense(ctx, name, patch)
	var p *api.Problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		l, err = c.CreateLicense(ctx, api.NewLicense{Name: name, LicenseSpec: api.LicenseSpec{Total: n, Note: note}})
	}
	if err != nil {
		return err
	}
	s.warn(l.Warnings)
	if shown, err := s.brief(l, l.Name); shown {
		return err
	}
	s.say("license %s: %d, of which %d are held", l.Name, l.Total, l.Used)
	return nil
}

func (s *session) completeLicenses(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Licenses(ctx)
		if err != nil {
			return nil
		}
		for _, l := range list.Items {
			names = append(names, l.Name)
		}
		return names
	})
}

func (s *session) getLicenses(ctx context.Context, c *client.Client, t tableFlags, names []string) error {
	list, err := c.Licenses(ctx)
	if err != nil {
		return err
	}
	var body any = list
	if len(names) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(l api.License) bool { return !slices.Contains(names, l.Name) })
		if len(list.Items) < len(names) {
			return missing(fmt.Sprintf("of %s only %d are licenses", strings.Join(names, ", "), len(list.Items)), "muster license list lists all")
		}
		if len(names) == 1 {
			body = list.Items[0]
		}
	}
	return print(s, t, table[api.License]{items: list.Items, name: func(l api.License) string { return l.Name }, body: body, columns: []column[api.License]{
		{title: "NAME", cell: func(l api.License) string { return l.Name }},
		{title: "USED", cell: func(l api.License) string { return fmt.Sprintf("%d/%d", l.Used, l.Total) }},
		{title: "FREE", cell: func(l api.License) string { return strconv.FormatInt(max(l.Total-l.Used, 0), 10) }},
		{title: "WAITING", cell: func(l api.License) string { return strconv.FormatInt(l.Waiting, 10) }},
		{title: "HOLDERS", cell: licensees},
		{title: "NOTE", cell: func(l api.License) string { return orDash(l.Note) }},
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
	return orDash(strings.Join(out, ", "))
}
