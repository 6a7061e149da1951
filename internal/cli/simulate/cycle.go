package simulate

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
)

// newSimulateCycle repeats what the scheduler of a server failed at.
func newSimulateCycle(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "cycle FILE", Short: "Repeat what a server's scheduler failed at",
		Long: `Runs one cycle of the scheduler on a file that a server has kept in the faults
folder of its data directory, and tells what was planned, or how it fails. The
file has the nodes, quotas and workloads of that moment, by their ids. Exits
with 1 if it fails again.`,
		Example: "  muster simulate cycle ~/.muster/faults/20260102T030405.000Z.json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return session.UsageError(fmt.Sprintf("muster simulate cycle takes one file, not %d", len(args)), "muster simulate cycle FILE")
			}
			return cycle(s, args[0])
		},
	}
}

func cycle(s *session.Session, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return session.UsageError(err.Error(), "give a file of a server's faults folder")
	}
	var f schedule.Fault
	if err := json.Unmarshal(text, &f); err != nil || len(f.Record.Nodes)+len(f.Record.Jobs) == 0 {
		return session.UsageError(fmt.Sprintf("%s is not what a server keeps of a fault", file), "give a file of a server's faults folder")
	}
	fmt.Fprintf(s.IO.Out, "%d nodes, %d workloads; it failed at %q: %s\n", len(f.Record.Nodes), len(f.Record.Jobs), f.Job, f.What)
	plan, again := explain.Again(&f)
	if again != nil {
		fmt.Fprintf(s.IO.Out, "It fails again, at %q: %s\n%s", again.Job, again.What, again.Stack)
		return session.ExitCode(session.ExitInternal)
	}
	fmt.Fprintln(s.IO.Out, "It does not fail any more. The plan:")
	e := json.NewEncoder(s.IO.Out)
	e.SetIndent("", "  ")
	return e.Encode(plan)
}
