//go:build linux

package local

import (
	"fmt"
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
//	dir/tasks/W/A/I/       one task: its records and its FIFO
//	logs/W/A/I.log         its output
//	logs/W/A/I.idx         when which part of it was written
type paths struct{ dir, logs string }

func (p paths) lock() string   { return filepath.Join(p.dir, "keeper.lock") }
func (p paths) socket() string { return filepath.Join(p.dir, socketName) }
func (p paths) journal() string {
	return filepath.Join(p.dir, "keeper.log")
}
func (p paths) tasks() string { return filepath.Join(p.dir, "tasks") }

func (p paths) task(id core.TaskID) string {
	return filepath.Join(p.tasks(), string(id.Workload), strconv.Itoa(id.Attempt), strconv.Itoa(id.Index))
}

func (p paths) logsOf(w core.WorkloadID) string { return filepath.Join(p.logs, string(w)) }

func (p paths) log(id core.TaskID) string {
	return filepath.Join(p.logsOf(id.Workload), strconv.Itoa(id.Attempt), strconv.Itoa(id.Index)+".log")
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
	if id.Attempt < 0 || id.Index < 0 {
		return fmt.Errorf("task id %s: attempt and index must not be negative", id)
	}
	return checkWorkload(id.Workload)
}
