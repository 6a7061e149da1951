// Command front is muster without the server's half, which lies packed at its end
// (scripts/build puts it there) and is unpacked by whoever starts a server: what a
// command does not need is neither initialised nor read from the disk.
package main

import (
	"os"
	"runtime"
	"slices"

	"github.com/musterhq/muster/internal/program"
)

// init keeps a server on the first thread of its process. That thread looks like one of a
// process that has ended while another becomes the whole program, and who watches the
// process would take it for dead.
func init() {
	if slices.Contains(os.Args, "server") {
		runtime.LockOSThread()
	}
}

func main() { os.Exit(program.Run(server)) }
