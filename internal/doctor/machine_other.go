//go:build !linux

package doctor

import (
	"context"
	"runtime"
)

// Machine is empty: servers run on Linux.
type Machine struct{}

// Here is this machine.
func Here(string) Machine { return Machine{} }

// Examine says where servers run.
func (Machine) Examine(context.Context) []Check {
	return []Check{{Name: "system", Status: Skip, Found: runtime.GOOS, Means: "servers run on Linux; this is a client", Fix: "name a server with --server or MUSTER_SERVER"}}
}
