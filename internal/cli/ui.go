package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
)

func newUI(s *session.Session) *cobra.Command {
	var stay bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Open the pages of the server in a browser",
		Long: `Prints a link that lets one browser in, once, within two minutes, and opens it
where there is a desktop. The browser stays logged in for a week after its last
visit. A server that has only its socket opens a port on 127.0.0.1 for it.

From another machine: ssh -L PORT:127.0.0.1:PORT HOST, then open the link here.`,
		Example: "  muster ui\n  muster ui --no-browser",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ui(cmd.Context(), s, !stay)
		},
	}
	cmd.Flags().BoolVar(&stay, "no-browser", false, "print the link only")
	return cmd
}

func ui(ctx context.Context, s *session.Session, open bool) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	code, err := c.LoginCode(ctx)
	if err != nil {
		return err
	}
	url := c.Page(code)
	if s.Machine() {
		return s.Document(map[string]any{"url": url, "expiresAt": code.ExpiresAt})
	}
	if _, err := fmt.Fprintln(s.IO.Out, url); err != nil {
		return err
	}
	if open && s.IO.OutTerminal && s.Browse(url) {
		s.Say("Opened in your browser. The link is good once, for two minutes")
		return nil
	}
	s.Say("Open it in a browser. It is good once, for two minutes")
	return nil
}
