package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"syscall"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/packed"
)

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
