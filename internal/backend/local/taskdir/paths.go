//go:build linux

// Package taskdir knows where the local backend keeps everything, and reads and
// writes the records in a task's directory.
//
// Both the server and the supervisor use it. What is in the files is all that a
// supervisor knows of tasks that a former one has started, so their form outlives
// a version.
package taskdir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
)

// Paths says where everything lies.
//
//	dir/supervisor.lock        held by the supervisor; contains its pid
//	dir/supervisor.sock        where it listens
//	dir/boot               the run of the machine that the last supervisor was in
//	dir/supervisor.log         what it has to complain about
//	dir/tasks/W.A.I/       task I of attempt A of workload W: its record and its FIFO;
//	                       W.A.I-R of run R, where that is not the first
//	logs/                  their output: see logfile.Dir
type Paths struct{ Dir, Logs string }

// Lock is the file that the supervisor holds locked.
func (p Paths) Lock() string { return filepath.Join(p.Dir, "supervisor.lock") }

// BootFile names the run of the machine that the last supervisor was in.
func (p Paths) BootFile() string { return filepath.Join(p.Dir, "boot") }

// Socket is where the supervisor listens.
func (p Paths) Socket() string { return filepath.Join(p.Dir, protocol.SocketName) }

// Journal is what the supervisor complains in.
func (p Paths) Journal() string {
	return filepath.Join(p.Dir, "supervisor.log")
}

// Trash is where the files of ended containers are until they are removed.
func (p Paths) Trash() string { return filepath.Join(p.Dir, "trash") }

// Spare is where files of ended tasks are that become those of the next ones.
func (p Paths) Spare() string { return filepath.Join(p.Dir, "spare") }

// Tasks is the directory of all tasks.
func (p Paths) Tasks() string { return filepath.Join(p.Dir, "tasks") }

// Task is the directory of one task.
func (p Paths) Task(id core.TaskID) string { return filepath.Join(p.Tasks(), Name(id)) }

// Out is where the output is.
func (p Paths) Out() logfile.Dir { return logfile.Dir(p.Logs) }

// LogsOf is the directory of a workload's output.
func (p Paths) LogsOf(w core.WorkloadID) string { return p.Out().Workload(w) }

// Log is the output of one task.
func (p Paths) Log(id core.TaskID) string { return p.Out().Log(id) }

// Name is the name of a task where a slash cannot stand; Parse reads it.
func Name(id core.TaskID) string {
	return string(id.Workload) + "." + logfile.Numbers(id)
}

// Parse reads what Name has made of a task.
func Parse(s string) (core.TaskID, error) {
	parts := strings.Split(s, ".")
	if n := len(parts); n > 3 { // a workload's id may have dots itself
		parts = []string{strings.Join(parts[:n-2], "."), parts[n-2], parts[n-1]}
	}
	last := len(parts) - 1
	parts[last] = strings.Replace(parts[last], "-", "/", 1)
	return core.ParseTaskID(strings.Join(parts, "/"))
}

// MakeDir makes a directory. Its parents usually exist.
func MakeDir(path string) error {
	switch err := os.Mkdir(path, 0o700); {
	case err == nil || errors.Is(err, os.ErrExist):
		return nil
	case errors.Is(err, os.ErrNotExist):
		return os.MkdirAll(path, 0o700)
	default:
		return err
	}
}

// CheckTask refuses an identity that cannot be the name of a file.
func CheckTask(id core.TaskID) error { return logfile.CheckTask(id) }

// ShortName is a short name of a data directory, unique on the machine.
func ShortName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}
