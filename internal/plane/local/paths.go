//go:build linux

package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// paths knows where everything lies.
//
//	dir/keeper.lock        held by the keeper; contains its pid
//	dir/keeper.sock        where it listens
//	dir/keeper.log         what it has to complain about
//	dir/tasks/W.A.I/       task I of attempt A of workload W: its record and its FIFO;
//	                       W.A.I-R of run R, where that is not the first
//	logs/W/A.I.log         its output; A.I-R.log
//	logs/W/A.I.idx         when which part of it was written
type paths struct{ dir, logs string }

func (p paths) lock() string   { return filepath.Join(p.dir, "keeper.lock") }
func (p paths) socket() string { return filepath.Join(p.dir, socketName) }
func (p paths) journal() string {
	return filepath.Join(p.dir, "keeper.log")
}

// trash is where the files of ended containers are until they are removed.
func (p paths) trash() string { return filepath.Join(p.dir, "trash") }

func (p paths) tasks() string { return filepath.Join(p.dir, "tasks") }

func (p paths) task(id core.TaskID) string { return filepath.Join(p.tasks(), dotted(id)) }

func (p paths) logsOf(w core.WorkloadID) string { return filepath.Join(p.logs, string(w)) }

func (p paths) log(id core.TaskID) string {
	return filepath.Join(p.logsOf(id.Workload), numbers(id)+".log")
}

// dotted is the name of a task where a slash cannot stand; undotted reads it.
func dotted(id core.TaskID) string {
	return string(id.Workload) + "." + numbers(id)
}

// numbers are those of a task: attempt, index and, beyond the first, run.
func numbers(id core.TaskID) string {
	s := strconv.Itoa(id.Attempt) + "." + strconv.Itoa(id.Index)
	if id.Run > 0 {
		s += "-" + strconv.Itoa(id.Run)
	}
	return s
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

func (p paths) index(id core.TaskID) string { return strings.TrimSuffix(p.log(id), ".log") + ".idx" }

// checkWorkload refuses IDs that would leave the directory.
func checkWorkload(id core.WorkloadID) error {
	s := string(id)
	if s == "" || len(s) > 200 || s[0] == '.' || strings.ContainsAny(s, "/\x00\n") {
		return fmt.Errorf("workload id %q: want 1 to 200 characters without '/', line break or a leading '.'", s)
	}
	return nil
}

func checkTask(id core.TaskID) error {
	if id.Attempt < 0 || id.Index < 0 || id.Run < 0 {
		return fmt.Errorf("task id %s: attempt, index and run must not be negative", id)
	}
	return checkWorkload(id.Workload)
}
