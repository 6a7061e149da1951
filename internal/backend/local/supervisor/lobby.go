//go:build linux

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/spare"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
)

// What a task must read itself (private files, the script before its command) lies
// in its directory, which nobody but the server's user gets to: it may be in a
// home. Of a task that runs as somebody else it lies where everybody may pass, in
// the lobby, and each file is that user's alone.

// lobbyIn are the places for a lobby; the first that can be had is taken. The
// first is in memory, and empty after a restart of the machine.
var lobbyIn = []string{"/run", "/tmp"}

// privatePlace makes the directory for what a task must read itself. It is there
// when the records tell of it, or not at all.
func (t *task) privatePlace(a backend.Assignment) (string, error) {
	k := t.supervisor
	c := credential(a.UID, a.GID)
	if t.container != nil || c == nil || os.Getuid() != 0 || int(c.Uid) == 0 {
		return t.dir, nil
	}
	for try := 0; ; try++ {
		lobby, err := k.lobby()
		if err != nil {
			return "", err
		}
		dir := filepath.Join(lobby, filepath.Base(t.dir))
		if err := os.RemoveAll(dir); err != nil { // of one that was not started
			return "", err
		}
		// Ours, so that nobody puts something in the way of what is written there.
		err = os.Mkdir(dir, 0o711)
		if err == nil {
			return dir, os.Chmod(dir, 0o711) // whatever the mask
		}
		if !os.IsNotExist(err) || try == 10 { // the last of the others has just gone, and the lobby with it
			return "", err
		}
	}
}

// lobby makes the directory that everybody may pass through.
func (k *supervisor) lobby() (string, error) {
	var last error
	for _, in := range lobbyIn {
		dir := filepath.Join(in, "muster-"+taskdir.ShortName(k.paths.Dir)+"-files")
		if err := os.Mkdir(dir, 0o711); err != nil && !os.IsExist(err) {
			last = err
			continue
		}
		// Anyone may have made what is in a directory for temporary files.
		info, err := os.Lstat(dir)
		if err != nil {
			last = err
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(st.Uid) != os.Getuid() {
			last = fmt.Errorf("%s belongs to somebody else; remove it", dir)
			continue
		}
		return dir, os.Chmod(dir, 0o711) // whatever the mask
	}
	return "", fmt.Errorf("there is no place for the files of a task that runs as another user: %w", last)
}

// clearPrivate removes what a task was given to read; it may hold secrets.
func (t *task) clearPrivate() {
	files, spares := filepath.Join(t.private, taskdir.FilesDir), t.spares()
	names, _ := os.ReadDir(files)
	for _, name := range names {
		_ = spares.Keep(spare.File, filepath.Join(files, name.Name()))
	}
	_ = spares.Keep(spare.Dir, files)
	for _, name := range []string{preludeFile, stageFile} {
		_ = os.Remove(filepath.Join(t.private, name))
	}
	if t.private != t.dir {
		_ = os.Remove(t.private)
		_ = os.Remove(filepath.Dir(t.private)) // after the last
	}
}

// nothing keeps no spare.
var nothing spare.Pool

// spares is where what t leaves may be kept for others: nowhere, if somebody else may
// have had it, or if nothing proves that all of its processes are over.
func (t *task) spares() *spare.Pool {
	if t.container != nil || t.as != nil || credential(t.a.UID, t.a.GID) != nil || t.group.V2 == "" {
		return &nothing
	}
	return t.supervisor.spares
}

// discard takes away what a task has left, its record first.
func (t *task) discard() error {
	if err := t.spares().Keep(spare.File, filepath.Join(t.dir, taskdir.RecordFile)); err != nil {
		return err
	}
	return t.spares().Keep(spare.Dir, t.dir)
}

// elsewhere is where what the task must read itself lies; empty: in its directory.
func (t *task) elsewhere() string {
	if t.private == t.dir {
		return ""
	}
	return t.private
}
