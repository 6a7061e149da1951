// Package commands knows the command lines of other tools that this program has:
// called by the name of one of them, it behaves as that tool.
package commands

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/dstack"
	"github.com/musterhq/muster/internal/compat/jobq"
	"github.com/musterhq/muster/internal/compat/mcli"
	"github.com/musterhq/muster/internal/compat/runai"
	"github.com/musterhq/muster/internal/compat/sky"
	"github.com/musterhq/muster/internal/compat/slurm"
	"github.com/musterhq/muster/internal/compat/slurm/accounting"
	"github.com/musterhq/muster/internal/compat/slurm/crontab"
)

// tools are the commands by the name that the program is called by. They are
// made only when one is called: their tables are long.
var tools = map[string]func() *compat.Command{
	"mcli": mcli.Tool, "runai": runai.Tool, "sky": sky.Tool, "dstack": dstack.Tool,
	"sbatch": slurm.Sbatch, "srun": slurm.Srun, "squeue": slurm.Squeue, "scancel": slurm.Scancel, "sinfo": slurm.Sinfo, "scontrol": slurm.Scontrol, "scrontab": crontab.Scrontab,
	"sacct": accounting.Sacct, "sacctmgr": accounting.Sacctmgr, "salloc": slurm.Salloc, "seff": accounting.Seff, "sprio": slurm.Sprio, "sshare": slurm.Sshare, "sstat": accounting.Sstat,
}

// Below are the commands that muster itself has of other tools.
func Below(t *cli.Tool) []*cobra.Command {
	return []*cobra.Command{compat.Cobra(jobq.Command(), t), compat.Cobra(links(), t)}
}

// All are the tables of every tool, by name.
func All() map[string]*compat.Command {
	out := map[string]*compat.Command{"muster jobq": jobq.Command(), "muster compat": links()}
	for name, tool := range tools {
		out[name] = tool()
	}
	return out
}

// Names are those that this program can be called by, in order.
func Names() []string {
	var all []string
	for name := range tools {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Main runs the command line of the tool of that name; ok is false where there
// is no such tool.
func Main(name string, args []string, streams terminal.Streams, hooks cli.Hooks) (code int, ok bool) {
	tool, ok := tools[name]
	if !ok {
		return 0, false
	}
	return compat.Main(tool(), args, streams, hooks), true
}
