package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
)

// Salvaged is what of a database cannot be read.
type Salvaged struct {
	Records []SalvagedRecord `json:"records"`
	File    string           `json:"file,omitempty"` // into which they were moved
}

// SalvagedRecord is one record of a database that cannot be read.
type SalvagedRecord struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

func newSalvage(s *session.Session, find func(context.Context, string, bool) (Salvaged, error)) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "salvage", Short: "Find records that cannot be read, and take them out",
		Long: `A server does not start on a database with a record that it cannot read: what that
record holds, and what it promises, nobody can tell. This lists such records and,
with --yes, moves them into a file in the data directory, so that a server starts
without them. Restore a backup instead where there is one.

A workload goes with its tasks: what of it still runs is ended by the next server.
A project goes with its quotas, and its work goes on without them.`,
		Example: `  muster server salvage
  muster server salvage --yes`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return salvage(cmd.Context(), s, find, yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "take them out")
	return cmd
}

func salvage(ctx context.Context, s *session.Session, find func(context.Context, string, bool) (Salvaged, error), take bool) error {
	if find == nil {
		return session.UsageError("this program is a client and has no database", "run it on Linux, where the server's data directory is")
	}
	dir, err := s.Dir()
	if err != nil {
		return err
	}
	found, err := find(ctx, dir, take)
	if err != nil {
		return err
	}
	if len(found.Records) == 0 {
		fmt.Fprintln(s.IO.Out, "every record can be read")
		return nil
	}
	for _, r := range found.Records {
		fmt.Fprintf(s.IO.Out, "%s cannot be read: %s\n", r.What, r.Why)
	}
	if found.File != "" {
		fmt.Fprintf(s.IO.Err, "taken out of the database; kept in %s\n", found.File)
	} else {
		fmt.Fprintln(s.IO.Err, "nothing was changed; muster server salvage --yes takes out what is listed")
	}
	return nil
}
