// Command front is muster without the server's half, which lies packed at its end
// (scripts/build puts it there) and is unpacked by whoever starts a server: what a
// command does not need is neither initialised nor read from the disk.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/musterhq/muster/internal/cli"
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

func main() {
	os.Exit(program.Run(program.Server{
		Run: func(_ context.Context, o cli.ServerOptions) error {
			if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
				return fmt.Errorf("the data directory cannot be made: %w", err)
			}
			return become(o.DataDir)
		},
		Salvage: func(_ context.Context, dir string, _ bool) (cli.Salvaged, error) {
			if _, err := os.Stat(dir); err != nil {
				what := err.Error()
				if errors.Is(err, os.ErrNotExist) {
					what = dir + " has no muster.db"
				}
				return cli.Salvaged{}, refuse("there is no database: "+what, "name the data directory of the server with --data-dir")
			}
			return cli.Salvaged{}, become(dir)
		},
	}))
}
