// Package program is what every executable of Muster does with its first
// argument and with the name that it was called by. What a server needs comes
// from whoever links it: nothing here may need a database or a cluster, as all of
// it is started for each command that somebody types.
package program

import (
	"context"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/compat/commands"
	"github.com/musterhq/muster/internal/doctor"
	"github.com/musterhq/muster/internal/handover"
)

// Server is the half that only a server needs.
type Server struct {
	Run     func(context.Context, cli.ServerOptions) error
	Salvage func(ctx context.Context, dir string, take bool) (cli.Salvaged, error)
	Move    func(context.Context, cli.MoveOptions) (handover.Report, error)
	Examine func(context.Context, cli.ClusterQuestion) ([]doctor.Check, error)
}

// Run carries out the command line of this process and returns its exit status.
// The two ends of the agent for MPI, and what a batch script finds, are the same
// program.
func Run(server Server) int {
	if code, ok := helper(os.Args[1:]); ok {
		return code
	}
	args, name := os.Args[1:], "muster"
	hooks := cli.Hooks{
		Program:   session.Program{Name: name, Version: Version(), StartServer: start},
		RunServer: server.Run, Salvage: server.Salvage, Move: server.Move, Examine: server.Examine, Commands: commands.Below,
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
