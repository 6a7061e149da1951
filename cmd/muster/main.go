// Command muster is server, command line and every helper process of Muster.
package main

import (
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/face/faces"
	"github.com/musterhq/muster/internal/mpi"
	"github.com/musterhq/muster/internal/plane/kube"
	"github.com/musterhq/muster/internal/plane/local"
	"github.com/musterhq/muster/internal/slurmtask"
)

func main() { os.Exit(run()) }

// run is main with its exit status; the helper that keeps tasks alive and the
// two ends of the agent for MPI are this same binary.
func run() int {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case local.KeeperArg:
			return local.KeeperMain(os.Args[2:])
		case control.MPIAgentArg:
			return mpi.AgentMain()
		case kube.CopyArg:
			return copySelf(os.Args[2:])
		case control.MPIShellArg:
			return mpi.ShellMain(os.Args[2:])
		case control.MPIWaitArg:
			return mpi.WaitMain()
		case control.SlurmBatchArg:
			return slurmtask.BatchMain(os.Args[2:])
		case slurmtask.SrunArg:
			return slurmtask.SrunMain(os.Args[2:])
		case slurmtask.ScontrolArg:
			return slurmtask.ScontrolMain(os.Args[2:])
		case slurmtask.StepArg:
			return slurmtask.StepMain(os.Args[2:])
		case slurmtask.SignalArg:
			return slurmtask.SignalMain(os.Args[2:])
		}
	}
	args, name := os.Args[1:], "muster"
	hooks := cli.Hooks{Name: name, Version: version(), RunServer: serve, Salvage: salvage, StartServer: spawn, Commands: faces.Below}
	if code, ok := faces.Main(filepath.Base(os.Args[0]), args, cli.Terminal(), hooks); ok {
		return code
	}
	switch filepath.Base(os.Args[0]) {
	case "kubectl-muster": // how kubectl runs plugins
		name = "kubectl muster"
	case "kubectl_complete-muster": // and asks them for what could come next
		args = append([]string{"__complete"}, args...)
	}
	hooks.Name = name
	return cli.Main(args, cli.Terminal(), hooks)
}
