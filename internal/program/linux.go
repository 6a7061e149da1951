//go:build linux

package program

import (
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/mpi"
	"github.com/musterhq/muster/internal/slurmtools"
)

// start is how a command starts a server where none runs.
var start = spawn

// helper carries out what the program is called for beside tasks. ok is false for
// what a person types.
func helper(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case backend.CopyArg:
		return copySelf(args[1:]), true
	case launch.MPIAgentArg:
		return mpi.AgentMain(), true
	case launch.MPIShellArg:
		return mpi.ShellMain(args[1:]), true
	case launch.MPIWaitArg:
		return mpi.WaitMain(), true
	case launch.SlurmBatchArg:
		return slurmtools.BatchMain(args[1:]), true
	case slurmtools.SrunArg:
		return slurmtools.SrunMain(args[1:]), true
	case slurmtools.ScontrolArg:
		return slurmtools.ScontrolMain(args[1:]), true
	case slurmtools.SbcastArg:
		return slurmtools.SbcastMain(args[1:]), true
	case slurmtools.StepArg:
		return slurmtools.StepMain(args[1:]), true
	case slurmtools.HoldArg:
		return slurmtools.HoldMain(args[1:]), true
	case slurmtools.CancelArg:
		return slurmtools.CancelMain(args[1:]), true
	case slurmtools.SignalArg:
		return slurmtools.SignalMain(args[1:]), true
	}
	return 0, false
}
