// Package program is what every executable of Muster does with its first
// argument and with the name that it was called by. What a server needs comes
// from whoever links it: nothing here may need a database or a cluster, as all of
// it is started for each command that somebody types.
package program

import (
	"context"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/compat/commands"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/mpi"
	"github.com/musterhq/muster/internal/slurmtools"
)

// Server is the half that only a server needs.
type Server struct {
	Run     func(context.Context, cli.ServerOptions) error
	Salvage func(ctx context.Context, dir string, take bool) (cli.Salvaged, error)
}

// Run carries out the command line of this process and returns its exit status.
// The two ends of the agent for MPI, and what a batch script finds, are the same
// program.
func Run(server Server) int {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case backend.CopyArg:
			return copySelf(os.Args[2:])
		case engine.MPIAgentArg:
			return mpi.AgentMain()
		case engine.MPIShellArg:
			return mpi.ShellMain(os.Args[2:])
		case engine.MPIWaitArg:
			return mpi.WaitMain()
		case engine.SlurmBatchArg:
			return slurmtools.BatchMain(os.Args[2:])
		case slurmtools.SrunArg:
			return slurmtools.SrunMain(os.Args[2:])
		case slurmtools.ScontrolArg:
			return slurmtools.ScontrolMain(os.Args[2:])
		case slurmtools.StepArg:
			return slurmtools.StepMain(os.Args[2:])
		case slurmtools.SignalArg:
			return slurmtools.SignalMain(os.Args[2:])
		}
	}
	args, name := os.Args[1:], "muster"
	hooks := cli.Hooks{
		Program:   session.Program{Name: name, Version: Version(), StartServer: spawn},
		RunServer: server.Run, Salvage: server.Salvage, Commands: commands.Below,
	}
	if code, ok := commands.Main(filepath.Base(os.Args[0]), args, terminal.Terminal(), hooks); ok {
		return code
	}
	switch filepath.Base(os.Args[0]) {
	case "kubectl-muster": // how kubectl runs plugins
		name = "kubectl muster"
	case "kubectl_complete-muster": // and asks them for what could come next
		args = append([]string{"__complete"}, args...)
	}
	hooks.Name = name
	return cli.Main(args, terminal.Terminal(), hooks)
}
