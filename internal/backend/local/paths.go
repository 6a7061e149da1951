//go:build linux

package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
)

// paths knows where everything lies.
//
//	dir/supervisor.lock        held by the supervisor; contains its pid
//	dir/supervisor.sock        where it listens
//	dir/boot               the run of the machine that the last supervisor was in
//	dir/supervisor.log         what it has to complain about
//	dir/tasks/W.A.I/       task I of attempt A of workload W: its record and its FIFO;
//	                       W.A.I-R of run R, where that is not the first
//	logs/                  their output: see logfile.Dir
type paths struct{ dir, logs string }

func (p paths) lock() string     { return filepath.Join(p.dir, "supervisor.lock") }
func (p paths) bootFile() string { return filepath.Join(p.dir, "boot") }
func (p paths) socket() string   { return filepath.Join(p.dir, socketName) }
func (p paths) journal() string {
	return filepath.Join(p.dir, "supervisor.log")
}

// trash is where the files of ended containers are until they are removed.
func (p paths) trash() string { return filepath.Join(p.dir, "trash") }

func (p paths) tasks() string { return filepath.Join(p.dir, "tasks") }

func (p paths) task(id core.TaskID) string { return filepath.Join(p.tasks(), dotted(id)) }

// out is where the output is.
func (p paths) out() logfile.Dir { return logfile.Dir(p.logs) }

func (p paths) logsOf(w core.WorkloadID) string { return p.out().Workload(w) }

func (p paths) log(id core.TaskID) string { return p.out().Log(id) }

// dotted is the name of a task where a slash cannot stand; undotted reads it.
func dotted(id core.TaskID) string {
	return string(id.Workload) + "." + logfile.Numbers(id)
}

func undotted(s string) (core.TaskID, error) {
	parts := strings.Split(s, ".")
	if n := len(parts); n > 3 { // a workload's id may have dots itself
		parts = []string{strings.Join(parts[:n-2], "."), parts[n-2], parts[n-1]}
	}
	last := len(parts) - 1
	parts[last] = strings.Replace(parts[last], "-", "/", 1)
	return core.ParseTaskID(strings.Join(parts, "/"))
}

// makeDir makes a directory whose parents are there, usually.
func makeDir(path string) error {
	switch err := os.Mkdir(path, 0o700); {
	case err == nil || errors.Is(err, os.ErrExist):
		return nil
	case errors.Is(err, os.ErrNotExist):
		return os.MkdirAll(path, 0o700)
	default:
		return err
	}
}

func checkTask(id core.TaskID) error { return logfile.CheckTask(id) }

// dirName is a short name of a data directory, unique on the machine.
func dirName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}
