package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/handover"
)

// MoveOptions say what becomes of the records in a data directory.
type MoveOptions struct {
	DataDir  string
	To       *client.Client // the server that awaits them
	DryRun   bool
	TakeBack bool // instead: what was moved, or half moved, is this machine's again
	Sure     bool // of TakeBack: also where the other server cannot be asked
}

func newMove(s *session.Session, move func(context.Context, MoveOptions) (handover.Report, error)) *cobra.Command {
	o, to, tokenFile, plain := MoveOptions{}, "", "", false
	cmd := &cobra.Command{
		Use: "move --to ADDRESS", Short: "Move everything to a server on another machine, such as one over Kubernetes",
		Long: `Takes projects, quotas, secrets, users, schedules, history, logs and all that waits to a
server that has nothing yet and was started with --await-move. Places in line, charges and
the audit log's chain stay what they are. This machine's server must have ended, and
nothing may run here: muster node drain sends it back to its queue.

--dry-run lists what goes, what will not be there as it was here, and what is in the way.
Afterwards no server starts on this data directory; it stays as it is until you remove it.
Said again, it goes on where it was broken off: the records arrive once, or not at all.`,
		Example: `  muster node drain gpu-a03 && muster server stop
  muster server move --to http://127.0.0.1:8080 --token-file token --dry-run
  muster server move --to http://127.0.0.1:8080 --token-file token
  muster server move --take-back             the move is off: this machine's server goes on`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if move == nil {
				return session.UsageError("this program is a client and has no database", "run it on Linux, where the server's data directory is")
			}
			if o.DryRun && o.TakeBack {
				return session.UsageError("--dry-run is of a move, and not of --take-back", "leave one of them out")
			}
			var err error
			if o.DataDir, err = s.Dir(); err != nil {
				return err
			}
			if o.To, err = moveTo(s, to, tokenFile, o.TakeBack, plain); err != nil {
				return err
			}
			return runMove(cmd.Context(), s, move, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "address of the server that takes it: http://host:port, https://host:port")
	f.StringVar(&tokenFile, "token-file", "", "file with that server's token; by default $MUSTER_TOKEN, or what muster login has kept")
	f.BoolVar(&plain, "plain", false, "send it unencrypted over a network, which must be trusted: the keys of all secrets are in it")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be moved, and change nothing")
	f.BoolVar(&o.TakeBack, "take-back", false, "let this machine's server go on; the other must not have the records, or be gone")
	f.BoolVar(&o.Sure, "yes", false, "with --take-back: also where the other server cannot be asked; it must never go on")
	return cmd
}

// moveTo is a client for the server that takes the records; of a move that is taken back
// its address is known.
func moveTo(s *session.Session, to, tokenFile string, back, plain bool) (*client.Client, error) {
	dir, err := s.Dir()
	if err != nil {
		return nil, err
	}
	if back && to == "" {
		left, err := handover.LeftOf(dir)
		if err != nil || left == nil {
			return nil, err
		}
		to = left.To
	}
	if to == "" {
		return nil, session.UsageError("--to is missing: where everything is to go", "--to http://HOST:PORT of a server that was started with --await-move")
	}
	if u, err := url.Parse(to); err == nil && u.Scheme == "http" && !plain && !ownHost(u.Hostname()) {
		return nil, session.UsageError(fmt.Sprintf("--to: %s is not encrypted, and the keys of all secrets would go over the network", to),
			"use https://, or a tunnel to an address of this machine (kubectl port-forward, ssh -L), or --plain where the network is trusted")
	}
	token := s.TokenFor(to)
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, session.UsageError("--token-file: "+err.Error(), "name the file with the token of the server that takes it")
		}
		token = strings.TrimSpace(string(text))
	}
	return client.New(client.Options{Address: to, Token: token, UserAgent: "muster/" + s.Program.Version.Version})
}

// ownHost reports whether what is sent there does not leave the machine.
func ownHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func runMove(ctx context.Context, s *session.Session, move func(context.Context, MoveOptions) (handover.Report, error), o MoveOptions) error {
	r, err := move(ctx, o)
	switch {
	case o.TakeBack:
		if err == nil {
			s.Say("muster: what is in %s is this machine's again", o.DataDir)
		}
		return err
	case s.Machine() && r.Installation != "":
		if shown := s.Document(r); shown != nil {
			return shown
		}
		return err
	case r.Installation == "":
		return err
	}
	out := s.IO.Out
	if len(r.Goes) > 0 {
		fmt.Fprintf(out, "To %s go %s of records:\n", r.To, amount.Bytes(r.Bytes))
	}
	for _, c := range r.Goes {
		fmt.Fprintf(out, "  %6d  %s\n", c.N, c.What)
	}
	concerns(s, "Look at these, which are not there as they are here:", r.Look)
	concerns(s, "In the way:", r.Blocks)
	switch {
	case err != nil:
		return err
	case r.Moved:
		s.Say("muster: moved to %s; no server starts on %s any more. Use it: export MUSTER_SERVER=%s", r.To, r.From, r.To)
	case len(r.Blocks) > 0:
		return session.ExitCode(session.ExitConflict)
	default:
		s.Say("muster: nothing was changed; the same without --dry-run moves it")
	}
	return nil
}

func concerns(s *session.Session, title string, all []handover.Concern) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(s.IO.Out, title)
	for _, c := range all {
		fmt.Fprintf(s.IO.Out, "  %s: %s\n    → %s\n", c.What, c.Why, c.Fix)
	}
}
