//go:build linux

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/rootfs"
)

// isCommand reports whether the first process of a container is its command: that
// has the task's environment, until it becomes another program with one of its
// own, which is not the engine's either.
func (t *task) isCommand() bool {
	switch dir, whole := proc.TaskDir(t.pid); {
	case dir == t.dir:
		return true
	case !whole: // it is becoming it
		return false
	case t.engine == "": // a former version did not say
		return !taskdir.Exists(execFIFO(t))
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", t.pid))
	return err == nil && exe != t.engine
}

// waitsForWord reports whether the first process of a container certainly is not
// its command yet. One that is ending has lost its environment, and may be either:
// that it was not ending afterwards says that it had one when it was looked for.
func (t *task) waitsForWord() bool {
	if t.isCommand() {
		return false
	}
	s, err := proc.ReadStat(t.pid)
	return err == nil && s.Start == t.start && !s.Leaving
}

// execFIFO is where a container that was created waits for the word.
func execFIFO(t *task) string {
	return filepath.Join(t.dir, containerDir, rootfs.StateDir, containerName, "exec.fifo")
}
