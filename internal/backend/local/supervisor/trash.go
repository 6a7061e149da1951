//go:build linux

package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/backend/local/taskdir"
)

// discardContainer takes away what a container has left. Its changes to the file
// tree may be many files, and nobody shall wait for their removal: they are
// moved aside, where a later supervisor looks too.
func (t *task) discardContainer() {
	k := t.supervisor
	if t.container == nil {
		return
	}
	aside := filepath.Join(k.paths.Trash(), filepath.Base(t.dir)+"."+strconv.FormatInt(time.Now().UnixNano(), 36))
	err := taskdir.MakeDir(k.paths.Trash())
	if err == nil {
		err = os.Rename(filepath.Join(t.dir, containerDir), aside)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.log.Error("cannot take a container's files away", "task", t.id, "err", err)
		return
	}
	k.emptyTrash()
}

// emptyTrash begins to remove what was moved aside; the supervisor stays until that
// is done.
func (k *supervisor) emptyTrash() {
	k.mu.Lock()
	k.sweeps++
	k.checkIdle()
	k.mu.Unlock()
	go func() {
		k.sweeping.Lock()
		err := removeIn(k.paths.Trash())
		k.sweeping.Unlock()
		if err != nil {
			k.log.Error("cannot remove the files of ended containers", "err", err)
		}
		k.mu.Lock()
		k.sweeps--
		k.checkIdle()
		k.mu.Unlock()
	}()
}

// removeIn removes what is in a directory now, and leaves the directory: something
// else may just be moved into it; the process that moves it deletes it.
func removeIn(dir string) error {
	all, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, d := range all {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, d.Name())))
	}
	return err
}
