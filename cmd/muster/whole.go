package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/store"
)

// A data directory of which a part is gone is not begun anew as if nothing had
// been there: what is left tells that there was more.

// refuseEmptied refuses a database without a byte where the keys of secrets are
// there, which a server makes once its database is filled.
func refuseEmptied(dir string) error {
	db, key := filepath.Join(dir, "muster.db"), filepath.Join(dir, "secrets.key")
	info, err := os.Stat(db)
	if err != nil || info.Size() > 0 {
		return nil // whoever has moved it away wants a new one
	}
	if _, err := os.Stat(key); err != nil {
		return nil // a server that was ended while it made it
	}
	return precondition(fmt.Sprintf("%s is empty, though a server has used it: what it held is lost", db),
		"restore it from a backup, with its -wal if there is one; or, to begin anew, remove the empty file")
}

// refuseKeyless refuses to make a new key where there are secrets that only the
// old one opens.
func refuseKeyless(ctx context.Context, dir string, st store.Store) error {
	key := filepath.Join(dir, "secrets.key")
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	all, err := st.Secrets(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	return precondition(fmt.Sprintf("%s is gone, and %d secrets of %s can be opened with nothing else", key, len(all), filepath.Join(dir, "muster.db")),
		"restore the file from a backup; if it is lost, make an empty data directory, or restore a backup of both")
}

// refuseOpen refuses a data directory in which everybody may put and take away
// files: they would be those of the server, its database and its keys.
func refuseOpen(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("the data directory cannot be used: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return precondition(fmt.Sprintf("everybody may write to the data directory %s (mode %04o)", dir, mode), "chmod 700 "+dir+", and look whether what is in it is yours")
	}
	return nil
}
