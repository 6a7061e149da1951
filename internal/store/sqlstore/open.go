package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/store"
)

const (
	// lockWait is how long a commit waits for another process to end its own.
	lockWait = 10 * time.Second
	// openAgain is how long to pause before another attempt at opening a
	// database that another process is just making.
	openAgain = 10 * time.Millisecond
	// readConnections bounds memory (each has its own cache) and is more than
	// the cores of a small machine, so that a long listing stops nobody.
	readConnections = 4
	// pageSize is that of SQLite, as it makes databases by itself.
	pageSize = 4096
	// checkLimit is the size in bytes up to which every page is checked when
	// the database is opened; beyond it that would delay a restart.
	checkLimit = 256 << 20
)

// writePragmas: the log is synced with every commit (FULL), so what was
// answered survives loss of power. No memory map: a failing disk would be a
// signal instead of an error, and it would count as memory of the server. The
// log is folded in every 32 MiB, sooner on a small volume: steps touch the same
// pages again and again, and each fold writes a page once, however often it has
// changed.
func writePragmas(volume int64) []string {
	fold := within(volume, foldAt, foldPart)
	return []string{
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(0)", "mmap_size(0)", "cache_size(-16384)",
		fmt.Sprintf("wal_autocheckpoint(%d)", max(1, fold/pageSize)), fmt.Sprintf("journal_size_limit(%d)", 2*fold),
	}
}

var readPragmas = []string{"query_only(1)", "mmap_size(0)", "cache_size(-2048)"}

// Open opens the database file at path, or makes it, with its folder, for this
// user only. It fails with store.ErrNewer or store.ErrCorrupt without touching
// the file. Many processes may open it; store.Acquire tells who writes.
//
// The change to write-ahead logging, which only the first to open a database
// makes, is refused at once (SQLITE_BUSY) where another reads the file: SQLite
// calls no busy handler where waiting could be a deadlock. So Open tries again.
func Open(ctx context.Context, path string) (*Store, error) {
	const doing = "opening the database"
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	for began := time.Now(); ; {
		s, err := openOnce(ctx, path, doing)
		if !isBusy(err) || time.Since(began) > lockWait {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(openAgain):
		}
	}
}

func openOnce(ctx context.Context, path, doing string) (*Store, error) {
	if err := prepareFile(ctx, path); err != nil {
		return nil, failure(path, doing, err)
	}
	s := &Store{path: path, dialect: sqliteDialect, room: newReserve(realPath(path))}
	if err := s.open(ctx); err != nil {
		return nil, s.fail(doing, errors.Join(err, s.close()))
	}
	s.room.renew()
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	var err error
	if s.writers, err = connect(s.path, "rw", 1, writePragmas(s.room.size)); err != nil {
		return err
	}
	conn, err := s.writers.Conn(ctx)
	if err != nil {
		return err
	}
	if err := migrate(ctx, conn, s.dialect); err != nil {
		return errors.Join(err, conn.Close())
	}
	if s.w, err = newWriter(ctx, conn, s.dialect); err != nil {
		return errors.Join(err, conn.Close())
	}
	if s.readers, err = connect(s.path, "rw", readConnections, readPragmas); err != nil {
		return err
	}
	s.r, err = newReader(ctx, s.readers, s.dialect)
	return err
}

func connect(path, mode string, most int, pragmas []string) (*sql.DB, error) {
	q := url.Values{"mode": {mode}, "_busy_timeout": {fmt.Sprint(lockWait.Milliseconds())}, "_pragma": pragmas}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// Newest is the format of databases that this version writes, the last that it reads.
func Newest() (int, error) { return newest(sqliteDialect) }

// Format is that of the database at path, which is not changed.
func Format(ctx context.Context, path string) (int, error) {
	db, err := connect(path, "ro", 1, readPragmas)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, failure(path, "reading the format of the database", err)
	}
	return version, nil
}

// realPath is the path by which the system knows a file.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// prepareFile makes the file if there is none, and otherwise looks whether it
// may be touched at all. It never opens an existing file itself: closing it
// again would drop the locks of other connections of this process.
func prepareFile(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file; name a file, such as %s", path, filepath.Join(path, "muster.db"))
	case info.Size() > 0:
		return inspect(ctx, path, info.Size())
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		// Another process that makes the database fills the file before its log.
		if now, err := os.Stat(path); err == nil && now.Size() > 0 {
			return inspect(ctx, path, now.Size())
		}
		return damaged(path, fmt.Sprintf("the file is empty, but its log %s-wal is not", path))
	}
	if info != nil {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process made it just now
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder makes a new file's name survive loss of power.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// inspect refuses a file that is not ours, newer, or damaged. The connection
// is read-only, so that not even a log left behind by a crash is folded in.
func inspect(ctx context.Context, path string, size int64) error {
	db, err := connect(path, "ro", 1, readPragmas)
	if err != nil {
		return err
	}
	defer db.Close()
	var application, version, tables int
	err = db.QueryRowContext(ctx, "SELECT (SELECT application_id FROM pragma_application_id), "+
		"(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)").
		Scan(&application, &version, &tables)
	if err != nil {
		return err
	}
	if application == 0 && version == 0 && tables == 0 {
		return nil // made, but never filled: as good as new
	}
	if application != applicationID {
		return damaged(path, "it is the database of another program")
	}
	known, err := newest(sqliteDialect)
	if err != nil {
		return err
	}
	if version > known {
		return fmt.Errorf("%s: %w (its format is %d, this version knows up to %d): it was left as it is; "+
			"run that version or a later one, or restore a backup made before", path, store.ErrNewer, version, known)
	}
	var page int64
	if err := db.QueryRowContext(ctx, "SELECT page_size FROM pragma_page_size").Scan(&page); err != nil {
		return err
	}
	if size%page != 0 { // SQLite would take what is missing for zeros, and fail at whoever reads it
		return damaged(path, fmt.Sprintf("its %d bytes are no whole pages of %d: its end is missing", size, page))
	}
	if size > checkLimit {
		return nil
	}
	var seen string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&seen); err != nil {
		return err
	}
	if seen != "ok" {
		return damaged(path, seen)
	}
	return nil
}
