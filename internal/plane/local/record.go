//go:build linux

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/plane"
)

// The files of a task directory, in the order in which they come to be. What
// is there after a crash says how far it had got:
//
//	assignment.json            written, then the process is forked
//	state.json                 it was forked: pid and start time
//	stop.json                  it was told to end, with the deadline
//	exit.json                  its main process has ended
//	no FIFO beside exit.json   its tree is gone and its output complete
//
// The page cache outlives processes and a dead machine has no processes, so
// nothing here is synced.
const (
	assignmentFile = "assignment.json"
	stateFile      = "state.json"
	stopFile       = "stop.json"
	exitFile       = "exit.json"
	fifoFile       = "out"
	privateDir     = "files"
)

// assignmentRecord is what a later keeper needs of an assignment. The
// environment and the private files stay out: they may be secrets.
type assignmentRecord struct {
	Assignment plane.Assignment `json:"assignment"`
	Boot       string           `json:"boot"`
	Group      taskGroup        `json:"group"`
	At         time.Time        `json:"at"`
}

type stateRecord struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // clock ticks after boot, as in /proc/PID/stat
	At    time.Time `json:"at"`
	Note  string    `json:"note,omitempty"`
}

type stopRecord struct {
	Deadline time.Time `json:"deadline"`
}

// writeRecord writes in one go; a reader after a crash finds the whole record
// or an empty file, which readRecord treats as none.
func writeRecord(dir, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(data, '\n'), 0o600)
}

// replaceRecord never leaves half a record, even over an older one.
func replaceRecord(dir, name string, v any) error {
	if err := writeRecord(dir, name+".new", v); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name))
}

// readRecord reports whether there is such a record.
func readRecord(dir, name string, v any) (bool, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return true, nil
}

// removeTaskDir removes the records of a task, and the directories above when
// they are empty.
func removeTaskDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	attempt := filepath.Dir(dir)
	if os.Remove(attempt) == nil {
		_ = os.Remove(filepath.Dir(attempt)) // fails while other attempts are there
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
