package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// A record that cannot be read refuses the start: nobody can tell what is
// running, held or promised under it, and to go on without it would give its
// devices to others. Who decides that it may go takes it out of the database.

// Unreadable is a record that does not decode, with all rows that belong to it.
type Unreadable struct {
	What string           `json:"what"` // as the refusal names it
	Why  string           `json:"why"`
	Rows map[string][]Row `json:"rows"` // by table
	drop []removal
}

// Row is a row by its columns.
type Row map[string]any

// removal are the rows of a table for which a condition holds.
type removal struct {
	table, where string
	args         []any
}

// sort is how one table's records are read.
type sort struct {
	table string
	keys  []string // columns, beside body, that name a record
	what  string
	read  func(body []byte) error
}

// named is a condition for the record with these values of its keys.
func (k sort) named(values []any) removal {
	r := removal{table: k.table, args: values}
	for i, key := range k.keys {
		r.where += fmt.Sprintf("%s%s = $%d", [2]string{"", " AND "}[min(i, 1)], key, i+1)
	}
	return r
}

func into[T any](body []byte) error { return json.Unmarshal(body, new(T)) }

var sorts = []sort{
	{"projects", []string{"id"}, "project", into[core.Project]},
	{"pools", []string{"name"}, "pool", into[core.Pool]},
	{"licenses", []string{"name"}, "license", into[core.License]},
	{"reservations", []string{"name"}, "reservation", into[core.Reservation]},
	{"nodes", []string{"id"}, "node", into[core.NodeSetting]},
	{"secrets", []string{"user_name", "name"}, "secret", into[core.Secret]},
	{"subscriptions", []string{"user_name", "name"}, "notification", into[core.Subscription]},
	{"templates", []string{"project", "kind", "name"}, "template", into[core.Template]},
	{"access", []string{"sort", "name"}, "access", readAccess},
}

// Salvage looks for records that cannot be read. Those are handed to keep, which
// has them somewhere safe once it returns nil, and are then taken out, all in
// one commit; without keep it only looks. No server may have the database open.
func Salvage(ctx context.Context, path string, keep func([]Unreadable) error) (found []Unreadable, err error) {
	const doing = "looking for what cannot be read"
	s, err := Open(ctx, path) // it is whole, ours, and of the format of today
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	db, err := connect(s.path, "rw", 1, writePragmas(s.room.size))
	if err != nil {
		return nil, s.fail(doing, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, s.fail(doing, err)
	}
	defer tx.Rollback() //nolint:errcheck // after the commit it does nothing
	if found, err = unreadables(ctx, tx); err != nil || len(found) == 0 || keep == nil {
		return found, s.fail(doing, err)
	}
	if err := keep(found); err != nil {
		return found, err
	}
	for _, u := range found {
		for _, d := range u.drop {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+d.table+" WHERE "+d.where, d.args...); err != nil {
				return found, s.fail("taking out "+u.What, err)
			}
		}
	}
	return found, s.fail("taking out what cannot be read", tx.Commit())
}

func unreadables(ctx context.Context, tx *sql.Tx) ([]Unreadable, error) {
	var found []Unreadable
	add := func(what string, why error, drop ...removal) {
		found = append(found, Unreadable{What: what, Why: why.Error(), Rows: map[string][]Row{}, drop: drop})
	}
	for _, k := range sorts {
		all, err := rowsOf(ctx, tx, "SELECT "+strings.Join(k.keys, ", ")+", body FROM "+k.table)
		if err != nil {
			return nil, err
		}
		for _, values := range all {
			if why := k.read(textOf(values[len(k.keys)])); why != nil {
				add(k.what+" "+string(textOf(values[len(k.keys)-1])), why, k.named(values[:len(k.keys)]))
			}
		}
	}
	gone := map[string]bool{}
	workload := func(id string, seq any, what string, why error) {
		if !gone[id] {
			gone[id] = true
			add(what, why, removal{"workloads", "seq = $1", []any{seq}}, removal{"specs", "seq = $1", []any{seq}}, removal{"labels", "seq = $1", []any{seq}},
				removal{"tasks", "workload = $1", []any{id}}, removal{"keys", "workload = $1", []any{id}}, removal{"promises", "workload = $1", []any{id}})
		}
	}
	all, err := rowsOf(ctx, tx, "SELECT w.seq, w.id, w.status, s.document FROM workloads w LEFT JOIN specs s ON s.seq = w.seq")
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		why := decodeStatus(textOf(v[2]), new(core.Workload))
		if why == nil {
			_, why = decodeSpec(textOf(v[3]))
		}
		if id := string(textOf(v[1])); why != nil {
			workload(id, v[0], "workload "+id, why)
		}
	}
	// A task of work that may go on takes the workload with it: what it holds is
	// unknown. One of work that is over goes alone.
	all, err = rowsOf(ctx, tx, "SELECT t.workload, t.attempt, t.idx, t.run, t.body, w.seq, COALESCE(w.awake, 0) FROM tasks t LEFT JOIN workloads w ON w.id = t.workload")
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		why := into[core.Task](textOf(v[4]))
		if why == nil {
			continue
		}
		id := string(textOf(v[0]))
		switch what := fmt.Sprintf("task %s/%v/%v of run %v", id, v[1], v[2], v[3]); {
		case v[6] == int64(1):
			workload(id, v[5], "workload "+id+", for its "+what, why)
		case !gone[id]:
			add(what, why, removal{"tasks", "workload = $1 AND attempt = $2 AND idx = $3 AND run = $4", v[:4]})
		}
	}
	for i := range found {
		for _, d := range found[i].drop {
			if err := found[i].copy(ctx, tx, d); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// copy reads the rows that a removal is about.
func (u *Unreadable) copy(ctx context.Context, tx *sql.Tx, d removal) error {
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+d.table+" WHERE "+d.where, d.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, err := scanAny(rows, len(names))
		if err != nil {
			return err
		}
		r := Row{}
		for i, name := range names {
			r[name] = values[i]
		}
		u.Rows[d.table] = append(u.Rows[d.table], r)
	}
	return rows.Err()
}

func rowsOf(ctx context.Context, tx *sql.Tx, text string) ([][]any, error) {
	rows, err := tx.QueryContext(ctx, text)
	return collect(rows, err, func(rows *sql.Rows) ([]any, error) {
		names, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		return scanAny(rows, len(names))
	})
}

func scanAny(rows *sql.Rows, n int) ([]any, error) {
	values, to := make([]any, n), make([]any, n)
	for i := range values {
		to[i] = &values[i]
	}
	return values, rows.Scan(to...)
}

// textOf is a column that should hold text, whatever it holds.
func textOf(v any) []byte {
	switch x := v.(type) {
	case string:
		return []byte(x)
	case []byte:
		return x
	default:
		return nil
	}
}
