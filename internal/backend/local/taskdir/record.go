//go:build linux

package taskdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/core/osuser"
)

// A task directory holds its FIFO, its private files and one record file to
// which every step appends a line. What is there after a crash says how far it
// had got:
//
//	assignment     written, then the process is forked
//	state          it was forked: pid and start time
//	stop           it was told to end, with the deadline
//	exit           its main process has ended
//	no FIFO, exit  its tree is gone and its output complete
//
// One file instead of one each: making and removing files is what a short task
// costs most, since a journaling file system looks long for an inode that was
// not freed just now. The page cache outlives processes and a dead machine has
// no processes, so most of it is not synced. But that a process may have existed
// must outlive the machine, or it would be started a second time under the same
// name, or nobody would know what became of it: the assignment is on the disk
// before anything is forked.
const (
	RecordFile       = "record"
	AssignmentRecord = "assignment"
	StateRecord      = "state"
	StopRecord       = "stop"
	ExitRecord       = "exit"
	HolderRecord     = "holder" // a process that holds its terminal or input open
	FifoFile         = "out"
	FilesDir         = "files"
)

// Assigned is what a later supervisor needs of an assignment. The
// environment and the private files stay out: they may be secrets.
type Assigned struct {
	Assignment backend.Assignment  `json:"assignment"`
	Container  *protocol.Container `json:"box,omitempty"`
	As         *osuser.Account     `json:"account,omitempty"`
	Boot       string              `json:"boot"`
	Group      cgroup.Group        `json:"group"`
	Private    string              `json:"private,omitempty"` // where what it must read itself lies, if not here
	At         time.Time           `json:"at"`
	Log        int64               `json:"log,omitempty"` // bytes that the log had before
}

// Forked says which process a task became.
type Forked struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // clock ticks after boot, as in /proc/PID/stat
	At    time.Time `json:"at"`
	Note  string    `json:"note,omitempty"`
	// Engine is what the first process of a container was when it was recorded.
	Engine string `json:"engine,omitempty"`
}

// Stopped says that a task was told to end.
type Stopped struct {
	Deadline time.Time `json:"deadline"`
	Mild     bool      `json:"mild,omitempty"` // see tell
}

// Write appends a record in one write; the last of a name counts. It
// begins a line of its own even behind one that a full disk cut short.
func Write(dir, name string, v any) error {
	f, err := appendRecord(dir, name, v)
	if err != nil {
		return err
	}
	return f.Close()
}

// recordRoom is kept for the records that follow the first.
const recordRoom = 8 << 10

// WriteSynced is Write, with the record and the names by which it is found
// on the disk when it returns.
func WriteSynced(dir, name string, v any) error {
	f, err := appendRecord(dir, name, v)
	if err != nil {
		return err
	}
	// Room for how it ends, whatever fills the disk meanwhile.
	if st, err := f.Stat(); err == nil {
		_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, st.Size(), recordRoom)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	// A journaling file system has done this with the file, and says so at once.
	for _, d := range []string{dir, filepath.Dir(dir)} {
		f, err := os.Open(d)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("sync %s: %w", d, err)
		}
	}
	return nil
}

func appendRecord(dir, name string, v any) (*os.File, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, RecordFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(data)+len(name)+3)
	line = append(append(append(append(line, '\n'), name...), ' '), data...)
	if _, err = f.Write(append(line, '\n')); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read reads the last record of a name into v and reports whether there
// is one. A line that was cut short counts as none.
func Read(dir, name string, v any) (bool, error) {
	path := filepath.Join(dir, RecordFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var last []byte
	for line := range bytes.Lines(data) {
		if rest, ours := bytes.CutPrefix(line, []byte(name+" ")); ours && bytes.HasSuffix(line, []byte{'\n'}) && json.Valid(rest) {
			last = rest
		}
	}
	if last == nil {
		return false, nil
	}
	if err := json.Unmarshal(last, v); err != nil {
		return false, fmt.Errorf("%s: %s: %w", path, name, err)
	}
	return true, nil
}

// Remove removes the records of a task.
func Remove(dir string) error {
	// The usual case first: looking into the directory costs more.
	_ = os.Remove(filepath.Join(dir, RecordFile))
	if os.Remove(dir) == nil {
		return nil
	}
	return os.RemoveAll(dir)
}

// Exists reports whether there is anything at path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
