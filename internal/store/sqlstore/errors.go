package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/musterhq/muster/internal/store"
)

// fail says what was being done to which file, tells apart what the contract
// tells apart, and names the next step.
func (s *Store) fail(doing string, err error) error { return failure(s.path, doing, err) }

func failure(path, doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", doing, store.ErrNotFound)
	}
	var e *sqlite.Error
	if isOurs(err) || !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	switch code := e.Code(); {
	case code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_WRITE,
		code == sqlite3.SQLITE_IOERR_SHMSIZE, code == sqlite3.SQLITE_IOERR_TRUNCATE:
		return fmt.Errorf("%s: %w: nothing was written; free space on the volume of %s, then try again (%w)",
			doing, store.ErrFull, path, err)
	case code&0xff == sqlite3.SQLITE_CORRUPT, code&0xff == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w", doing, damaged(path, err.Error()))
	case code&0xff == sqlite3.SQLITE_BUSY:
		return fmt.Errorf("%s: another process has held %s locked for %s; end it, then try again: %w",
			doing, path, lockWait, err)
	case code&0xff == sqlite3.SQLITE_READONLY, code&0xff == sqlite3.SQLITE_CANTOPEN, code&0xff == sqlite3.SQLITE_PERM:
		return fmt.Errorf("%s: %s and its folder must be readable and writable for this user: %w", doing, path, err)
	default:
		return fmt.Errorf("%s: %s: %w", doing, path, err)
	}
}

// damaged is ErrCorrupt with what was seen and what to do.
func damaged(path, seen string) error {
	return fmt.Errorf("%s: %w (%s): it was left as it is; restore a backup over it, or move it away "+
		"together with its -wal and -shm files to begin anew", path, store.ErrCorrupt, seen)
}

// isOurs reports whether err already carries a word of the contract.
func isOurs(err error) bool {
	for _, e := range []error{
		store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrNewer, store.ErrCorrupt,
		store.ErrFull, store.ErrTermLost, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// isBusy reports whether another connection held a lock that was needed.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// isDuplicate reports whether a row was refused because a unique value of it
// is taken.
func isDuplicate(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return true
	default:
		return false
	}
}
