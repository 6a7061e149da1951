package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	_, inVault := os.Stat(filepath.Join(dir, vaultFile))
	if _, err := os.Stat(key); err != nil && inVault != nil {
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
	if at, err := os.ReadFile(filepath.Join(dir, vaultFile)); err == nil {
		return precondition(fmt.Sprintf("%d secrets are sealed with keys at %s", len(all), strings.TrimSpace(string(at))), "start the server with --secrets-vault or --secrets-key-file, as before")
	}
	return precondition(fmt.Sprintf("%s is gone, and %d secrets of %s can be opened with nothing else", key, len(all), filepath.Join(dir, "muster.db")),
		"restore the file from a backup; if it is lost, make an empty data directory, or restore a backup of both")
}

// closeDir closes a data directory that everybody may write to, where it is ours to
// close: they could put and take away the server's files, its database and its keys.
// It is then as the directories that servers make, 0700: nothing needs others to pass,
// as what a task of another user reads lies elsewhere (lobby.go of the local backend).
// Where a group may, or others may only look, somebody has decided so. It says what it
// found, or nothing.
func closeDir(dir string) (found string, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("the data directory cannot be used: %w", err)
	}
	mode := info.Mode()
	if mode.Perm()&0o002 == 0 {
		return "", nil
	}
	if mode&fs.ModeSticky != 0 { // as /tmp, which a machine needs as it is
		return fmt.Sprintf("everybody may put files into it (mode 1%03o), and it is left so, as a place for everybody's files; choose a directory of its own", mode.Perm()), nil
	}
	if err := os.Chmod(dir, mode&^0o077); err != nil { // that of a volume that somebody else has made
		return fmt.Sprintf("everybody may write to it, and that cannot be changed: %v", err), nil
	}
	return fmt.Sprintf("everybody could write to it (mode %04o); now it is closed to everybody else", mode.Perm()), nil
}
