//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/gpu"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/spare"
	"github.com/musterhq/muster/internal/core/osuser"
)

// forkIn forks and executes path. A child of v1 groups begins in the groups of
// the forking thread, so with a memory directory the thread goes there for as
// long as the fork takes.
//
// A child of an account begins with what a thread has been made to be, which ends then.
func forkIn(memory, home string, as *osuser.Account, path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	if memory == "" && as == nil {
		return syscall.ForkExec(path, argv, attr)
	}
	type result struct {
		pid int
		err error
	}
	done := make(chan result)
	go func() {
		// Not unlocked on failure to return: the thread then ends with the goroutine.
		runtime.LockOSThread()
		tid := []byte(strconv.Itoa(unix.Gettid()))
		var r result
		if memory != "" {
			r.err = os.WriteFile(filepath.Join(memory, "tasks"), tid, 0)
		}
		if r.err == nil && as != nil {
			r.err = beginAs(as)
		}
		if r.err == nil {
			let := func() {}
			if as != nil {
				let = forks.begin()
			}
			r.pid, r.err = syscall.ForkExec(path, argv, attr)
			let()
			if (memory == "" || os.WriteFile(filepath.Join(home, "tasks"), tid, 0) == nil) && as == nil {
				runtime.UnlockOSThread()
			}
		}
		done <- r
	}()
	r := <-done
	return r.pid, r.err
}

func makeFIFO(spares *spare.Pool, path string, uid, gid *uint32) error {
	if !spares.Take(spare.FIFO, path) {
		if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("make the FIFO %s: %w", path, err)
		}
	}
	return giveTo(path, uid, gid) // so that /dev/stdout can be opened again
}

// taskEnv adds to an environment what the backend alone knows; place says where
// the task sees a private file. The last of equal names wins.
func taskEnv(env []string, dir string, a backend.Assignment, place func(backend.File) string) []string {
	env = slices.Clone(env)
	for _, f := range a.Files {
		if f.EnvVar != "" {
			env = append(env, f.EnvVar+"="+place(f))
		}
	}
	env = append(env, "CUDA_VISIBLE_DEVICES="+gpu.Visible(a), "MUSTER_TASK_ID="+a.ID.String(), proc.TaskDirEnv+"="+dir)
	return lastOf(env)
}

// lastOf keeps the last of equal names.
func lastOf(env []string) []string {
	at := make(map[string]int, len(env))
	out := env[:0]
	for _, e := range env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.ContainsRune(e, 0) {
			continue // the kernel would take it, programs would not
		}
		if i, again := at[name]; again {
			out[i] = e
			continue
		}
		at[name] = len(out)
		out = append(out, e)
	}
	return out
}
