package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// A migration is one numbered file, run once, in one transaction with the
// number that remembers it. A library would bring its own tables, a second way
// to configure connections and features (down, dirty, Go steps) that a database
// with one owner must not have.
type migration struct {
	number int
	text   string
}

// migrations returns them in order; numbers begin at 1 and leave no gap.
func migrations(d dialect) ([]migration, error) {
	names, err := fs.Glob(migrationFiles, d.migrations+"/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]migration, 0, len(names)) // Glob sorts, and numbers have four digits
	for i, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number != i+1 || len(digits) != 4 {
			return nil, fmt.Errorf("migration %s: its name must begin with %04d_", name, i+1)
		}
		text, err := fs.ReadFile(migrationFiles, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{number, string(text)})
	}
	return all, nil
}

// newest is the format that this version writes.
func newest(d dialect) (int, error) {
	all, err := migrations(d)
	return len(all), err
}

// migrate brings the database to the newest format.
func migrate(ctx context.Context, conn *sql.Conn, d dialect) error {
	all, err := migrations(d)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := m.run(ctx, conn, d); err != nil {
			return fmt.Errorf("migration %04d: %w", m.number, err)
		}
	}
	return nil
}

func (m migration) run(ctx context.Context, conn *sql.Conn, d dialect) (err error) {
	version, err := formatOf(ctx, conn)
	if err != nil || version >= m.number {
		return err
	}
	if _, err := conn.ExecContext(ctx, d.begin); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(context.Background(), "ROLLBACK") // the first error says more
		}
	}()
	// Another process may have been faster between looking and beginning.
	if version, err = formatOf(ctx, conn); err != nil {
		return err
	}
	switch {
	case version == m.number-1:
		if _, err = conn.ExecContext(ctx, m.text); err != nil {
			return err
		}
		if _, err = conn.ExecContext(ctx, fmt.Sprintf(d.setVersion, m.number)); err != nil {
			return err
		}
	case version < m.number:
		return fmt.Errorf("the format is %d: %w", version, store.ErrCorrupt)
	}
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	return err
}

func formatOf(ctx context.Context, conn *sql.Conn) (version int, err error) {
	err = conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}
