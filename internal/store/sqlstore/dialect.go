package sqlstore

import "embed"

//go:embed migrations
var migrationFiles embed.FS

// dialect is what differs between engines. All other SQL is shared text:
// $1 placeholders, ON CONFLICT, RETURNING.
type dialect struct {
	migrations string // folder of the numbered files
	begin      string // starts a transaction that may write, and waits for its turn
	setVersion string // with the version as %d; part of the migration's transaction
	// use returns the clause that makes a listing go by an index, or nothing
	// where the engine keeps statistics and chooses well by itself.
	use func(index string) string
}

var sqliteDialect = dialect{
	migrations: "migrations/sqlite",
	begin:      "BEGIN IMMEDIATE",
	setVersion: "PRAGMA application_id = 1299412082; PRAGMA user_version = %d",
	use:        func(index string) string { return " INDEXED BY " + index },
}

// applicationID marks our SQLite files ("Mstr" in the file's header), so
// that another program's database is never mistaken for ours.
const applicationID = 1299412082
