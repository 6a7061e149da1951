package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"syscall"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/doctor"
	"github.com/musterhq/muster/internal/handover"
	"github.com/musterhq/muster/internal/packed"
	"github.com/musterhq/muster/internal/program"
)

// server is the half that this program unpacks and becomes.
var server = program.Server{
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
	Move: func(_ context.Context, o cli.MoveOptions) (handover.Report, error) {
		if empty, err := handover.Empty(o.DataDir); err != nil || empty {
			return handover.Report{}, errors.Join(err, refuse(o.DataDir+" has no muster.db: there is nothing to move", "name the data directory of the server with --data-dir"))
		}
		return handover.Report{}, become(o.DataDir)
	},
	Examine: func(_ context.Context, q cli.ClusterQuestion) ([]doctor.Check, error) {
		if err := os.MkdirAll(q.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("the data directory cannot be made: %w", err)
		}
		return nil, become(q.DataDir)
	},
}

// become makes this process the whole program, with the same command line. It lies
// in the data directory, which is there for as long as a server is, and returns
// only where that fails.
func become(dir string) error {
	env := os.Environ()
	if self, err := os.Executable(); err == nil {
		env = append(env, packed.From+"="+self)
	}
	for tries := 0; ; tries++ {
		path, err := packed.Unpack("/proc/self/exe", dir)
		if errors.Is(err, packed.ErrNone) {
			return refuse("this is the command line without the server", "build both with make build, or with go install ./cmd/muster")
		}
		if err != nil {
			return refuse(fmt.Sprintf("the server cannot be unpacked into %s: %v", dir, err), "make room there, or choose another --data-dir")
		}
		err = syscall.Exec(path, os.Args, env)
		// A server of another version may have tidied up in this very moment.
		if !errors.Is(err, fs.ErrNotExist) || tries == 3 {
			return refuse(fmt.Sprintf("the server that was unpacked cannot be started: %s: %v", path, err),
				"if the file system is mounted noexec, choose another --data-dir, or build with go install ./cmd/muster, which needs no unpacking")
		}
	}
}

func refuse(detail, hint string) error {
	return &api.Problem{Title: http.StatusText(http.StatusConflict), Status: http.StatusConflict, Code: "conflict", Detail: detail, Hint: hint}
}
