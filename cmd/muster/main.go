// Command muster is server, command line and every helper process of Muster.
package main

import (
	"os"
	_ "time/tzdata" // schedules know every zone, whatever the machine has

	"github.com/musterhq/muster/internal/backend/local"
	"github.com/musterhq/muster/internal/backend/local/supervisor"
	"github.com/musterhq/muster/internal/program"
)

func main() { os.Exit(run()) }

// run is main with its exit status; the helper that keeps tasks alive is this
// same binary.
func run() int {
	if len(os.Args) > 1 && os.Args[1] == local.SupervisorArg {
		return supervisor.Main(os.Args[2:])
	}
	return program.Run(program.Server{Run: serve, Salvage: salvage, Move: move, Examine: examine})
}
