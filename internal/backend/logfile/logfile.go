// Package logfile is the output of tasks as backends keep it on disk: one file
// for each task, and beside it an index that says when what was written.
//
// A log that cannot be written, because the disk is full, says how much is
// missing; it makes no task fail. Readers need no writer, only the files.
package logfile

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// Dir is a directory of logs.
//
//	W/A.I.log   the output of task I of attempt A of workload W
//	W/A.I.idx   when which part of it was written
type Dir string

// Workload is where the logs of all tasks of a workload lie.
func (d Dir) Workload(w core.WorkloadID) string { return filepath.Join(string(d), string(w)) }

// Log is the file of a task's output.
func (d Dir) Log(id core.TaskID) string { return d.file(id, ".log") }

// Index is the file that says when its output was written.
func (d Dir) Index(id core.TaskID) string { return d.file(id, ".idx") }

func (d Dir) file(id core.TaskID, end string) string {
	return filepath.Join(d.Workload(id.Workload), Numbers(id)+end)
}

// Numbers are those of a task in the names of files: attempt, index and, beyond
// the first, run.
func Numbers(id core.TaskID) string {
	s := strconv.Itoa(id.Attempt) + "." + strconv.Itoa(id.Index)
	if id.Run > 0 {
		s += "-" + strconv.Itoa(id.Run)
	}
	return s
}

// CheckWorkload refuses IDs that would leave the directory.
func CheckWorkload(id core.WorkloadID) error {
	s := string(id)
	if s == "" || len(s) > 200 || s[0] == '.' || strings.ContainsAny(s, "/\x00\n") {
		return fmt.Errorf("workload id %q: want 1 to 200 characters without '/', line break or a leading '.'", s)
	}
	return nil
}

// CheckTask refuses IDs that would leave the directory.
func CheckTask(id core.TaskID) error {
	if id.Attempt < 0 || id.Index < 0 || id.Run < 0 {
		return fmt.Errorf("task id %s: attempt, index and run must not be negative", id)
	}
	return CheckWorkload(id.Workload)
}
