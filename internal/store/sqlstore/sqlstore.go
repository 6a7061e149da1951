// Package sqlstore keeps the records in an SQL database: SQLite, written so
// that another engine can share the text of the queries.
//
// It decides nothing. A commit is one transaction that checks the term, takes
// the next revision, compares and swaps versions and appends; everything else
// is reading. Failure leaves the database as it was: what cannot be written
// whole is not written at all, and a file that is newer, damaged or foreign is
// never touched.
//
// What a workload was submitted as (ID, Seq, Name, Project, Kind, User,
// CreatedAt, Spec) is written once, by its first version, but for a Spec that
// the batch says was edited. Later versions write the rest; another ID, Seq,
// Name, Project, Kind or User is an error, another CreatedAt is not looked at. Times are kept to the microsecond, in
// UTC. Text that is not valid UTF-8 comes back with U+FFFD in the wrong
// places. Empty lists and maps come back as nil.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/musterhq/muster/internal/store"
)

var _ store.Store = (*Store)(nil)

// Store is a database on one file. Its methods may be called concurrently.
type Store struct {
	path    string
	dialect dialect
	writers *sql.DB // one connection
	readers *sql.DB // a few, which cannot write
	w       *writer
	r       *reader
	room    *reserve
}

// Acquire implements store.Store.
func (s *Store) Acquire(ctx context.Context, holder string) (store.Term, error) {
	var term int64
	err := s.w.transact(ctx, func() error {
		return s.w.acquire.QueryRowContext(context.Background(), clean(holder)).Scan(&term)
	})
	if err != nil {
		return 0, s.fail("taking over the database", err)
	}
	return store.Term(term), nil
}

// Close implements store.Store. It waits for calls in progress; the log of
// recent commits is folded into the file.
func (s *Store) Close() error {
	if err := s.close(); err != nil {
		return s.fail("closing the database", err)
	}
	return nil
}

// close also ends what Open has only begun. Readers go first: the connection
// that closes last folds the log in, and they cannot write.
func (s *Store) close() error {
	var err error
	if s.r != nil {
		err = closeAll(s.r.all)
	}
	if s.readers != nil {
		err = errors.Join(err, s.readers.Close())
	}
	if s.w != nil {
		err = errors.Join(err, s.w.close())
	}
	if s.writers != nil {
		err = errors.Join(err, s.writers.Close())
	}
	return err
}
