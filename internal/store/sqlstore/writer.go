package sqlstore

import (
	"context"
	"database/sql"
	"errors"
)

// writer is the one connection that writes, with its statements.
type writer struct {
	turn  chan struct{} // holds one token; who has it may use the rest
	conn  *sql.Conn
	all   []*sql.Stmt // everything below
	begin *sql.Stmt
	end   *sql.Stmt
	undo  *sql.Stmt

	acquire, stamp, forget                           *sql.Stmt
	insertWorkload, updateWorkload, sameID, sameName *sql.Stmt
	insertSpec, insertLabel, updateSpec, dropLabel   *sql.Stmt
	insertSecret, dropSecret, document               *sql.Stmt
	stepWorkload, stepTask                           *sql.Stmt
	putTask, putProject, insertTransition, insertKey *sql.Stmt
	putPool, putNode, dropProject, dropPool          *sql.Stmt
	putReservation, dropReservation                  *sql.Stmt
	putLicense, dropLicense                          *sql.Stmt
	dropNode, held, insertPromise, dropPromises      *sql.Stmt
	putSubscription, dropSubscription                *sql.Stmt
	putTemplate, dropTemplate                        *sql.Stmt
	putDelivery, forgetDeliveries                    *sql.Stmt
	putAccess, dropAccess                            *sql.Stmt
	insertAudit, moveAuditHead                       *sql.Stmt
}

func newWriter(ctx context.Context, conn *sql.Conn, d dialect) (*writer, error) {
	w := &writer{turn: make(chan struct{}, 1), conn: conn}
	for _, q := range []query{
		{&w.begin, d.begin},
		{&w.end, "COMMIT"},
		{&w.undo, "ROLLBACK"},
		{&w.acquire, `UPDATE meta SET term = term + 1, holder = $1 WHERE one = 1 RETURNING term`},
		{&w.stamp, `UPDATE meta SET revision = revision + 1 WHERE one = 1 AND term = $1 RETURNING revision`},
		{&w.held, `SELECT term, holder FROM meta WHERE one = 1`},
		{&w.forget, `DELETE FROM keys WHERE at_us < $1`},
		{&w.insertWorkload, `INSERT INTO workloads (seq, id, rev, version, project, name, kind, user_name,
			phase, live, awake, deleted, attempt, created_us, ended_us, status)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`},
		{&w.updateWorkload, `UPDATE workloads SET rev = $1, version = $2, phase = $3, live = $4, awake = $5,
			deleted = $6, attempt = $7, ended_us = $8, status = $9
			WHERE seq = $10 AND id = $11 AND version = $12
			AND project = $13 AND name = $14 AND kind = $15 AND user_name = $16`},
		// The columns that it leaves alone are in most indexes: the engine would
		// write each of them anew.
		{&w.stepWorkload, `UPDATE workloads SET rev = $1, version = $2, phase = $3, attempt = $7, ended_us = $8, status = $9
			WHERE live = $4 AND awake = $5 AND deleted = $6 AND seq = $10 AND id = $11 AND version = $12
			AND project = $13 AND name = $14 AND kind = $15 AND user_name = $16`},
		{&w.sameID, `SELECT seq, id, version, project, name, kind, user_name FROM workloads
			WHERE id = $1 OR seq = $2 ORDER BY id = $1 DESC LIMIT 1`},
		{&w.sameName, `SELECT id FROM workloads WHERE name = $1 AND project = $2 AND deleted = 0`},
		{&w.insertSpec, `INSERT INTO specs (seq, document) VALUES ($1, $2)`},
		{&w.insertLabel, `INSERT INTO labels (name, value, seq) VALUES ($1, $2, $3)`},
		{&w.updateSpec, `UPDATE specs SET document = $1 WHERE seq = $2`},
		{&w.document, `SELECT document FROM specs WHERE seq = $1`},
		{&w.dropLabel, `DELETE FROM labels WHERE name = $1 AND value = $2 AND seq = $3`},
		// Of a task that keeps what it holds, so that no index is touched.
		{&w.stepTask, `UPDATE tasks SET body = $4, stands = $9 WHERE workload = $1 AND attempt = $2 AND idx = $3 AND run = $8
			AND placed_us IS $5 AND released_us IS $6 AND milli = $7`},
		{&w.putTask, `INSERT INTO tasks (workload, attempt, idx, body, placed_us, released_us, milli, run, stands)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (workload, attempt, idx, run) DO UPDATE SET
			body = excluded.body, placed_us = excluded.placed_us, released_us = excluded.released_us, milli = excluded.milli,
			stands = excluded.stands`},
		{&w.dropPromises, `DELETE FROM promises`},
		{&w.insertPromise, `INSERT INTO promises (place, workload, tasks) VALUES ($1, $2, $3)`},
		{&w.insertSecret, `INSERT INTO secrets (user_name, name, body) VALUES ($1, $2, $3)`},
		{&w.dropSecret, `DELETE FROM secrets WHERE user_name = $1 AND name = $2`},
		{&w.putSubscription, `INSERT INTO subscriptions (user_name, name, body) VALUES ($1, $2, $3)
			ON CONFLICT (user_name, name) DO UPDATE SET body = excluded.body`},
		{&w.dropSubscription, `DELETE FROM subscriptions WHERE user_name = $1 AND name = $2`},
		{&w.putTemplate, `INSERT INTO templates (project, kind, name, body) VALUES ($1, $2, $3, $4)
			ON CONFLICT (project, kind, name) DO UPDATE SET body = excluded.body`},
		{&w.dropTemplate, `DELETE FROM templates WHERE project = $1 AND kind = $2 AND name = $3`},
		{&w.putAccess, `INSERT INTO access (sort, name, body) VALUES ($1, $2, $3)
			ON CONFLICT (sort, name) DO UPDATE SET body = excluded.body`},
		{&w.dropAccess, `DELETE FROM access WHERE sort = $1 AND name = $2`},
		{&w.insertAudit, `INSERT INTO audit (seq, at_us, actor, noun, action, result, body) VALUES ($1, $2, $3, $4, $5, $6, $7)`},
		{&w.moveAuditHead, `UPDATE audit_head SET seq = $1, hash = $2 WHERE one = 1 AND seq = $3 AND hash = $4`},
		{&w.putDelivery, `INSERT INTO deliveries (id, user_name, state, at_us, next_us, body, target) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, next_us = excluded.next_us, body = excluded.body, target = excluded.target`},
		{&w.forgetDeliveries, `DELETE FROM deliveries WHERE next_us IS NULL AND at_us < $1`},
		{&w.putProject, `INSERT INTO projects (id, body) VALUES ($1, $2)
			ON CONFLICT (id) DO UPDATE SET body = excluded.body`},
		{&w.dropProject, `DELETE FROM projects WHERE id = $1`},
		{&w.putPool, `INSERT INTO pools (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body`},
		{&w.dropPool, `DELETE FROM pools WHERE name = $1`},
		{&w.putReservation, `INSERT INTO reservations (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body`},
		{&w.dropReservation, `DELETE FROM reservations WHERE name = $1`},
		{&w.putLicense, `INSERT INTO licenses (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body`},
		{&w.dropLicense, `DELETE FROM licenses WHERE name = $1`},
		{&w.putNode, `INSERT INTO nodes (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = excluded.body`},
		{&w.dropNode, `DELETE FROM nodes WHERE id = $1`},
		{&w.insertTransition, `INSERT INTO transitions (seq, workload, attempt, from_phase, event, to_phase,
			target, reason, message, actor, at_us, cause, left_for) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`},
		{&w.insertKey, `INSERT INTO keys (user_name, key, hash, workload, at_us) VALUES ($1, $2, $3, $4, $5)`},
	} {
		var err error
		if *q.to, err = conn.PrepareContext(ctx, q.text); err != nil {
			return nil, errors.Join(err, closeAll(w.all))
		}
		w.all = append(w.all, *q.to)
	}
	w.turn <- struct{}{}
	return w, nil
}

// transact runs do in a transaction: all of it is durable when transact
// returns nil, and nothing of it happened when it returns an error. Once it
// has begun ctx is looked at between statements and never inside one, so that
// no answer leaves open whether a commit happened.
func (w *writer) transact(ctx context.Context, do func() error) (err error) {
	select {
	case <-w.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { w.turn <- struct{}{} }()
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.conn == nil {
		return errClosed
	}
	if err := run(w.begin); err != nil {
		return err
	}
	if err = do(); err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = run(w.end)
	}
	if err != nil {
		_ = run(w.undo) // it fails where the engine has undone it already
	}
	return err
}

var errClosed = errors.New("the database is closed")

// close waits for the commit in progress. A statement left open would keep the
// connection from folding the log in.
func (w *writer) close() error {
	<-w.turn
	defer func() { w.turn <- struct{}{} }()
	if w.conn == nil {
		return nil
	}
	err := closeAll(w.all)
	err = errors.Join(err, w.conn.Close())
	w.conn = nil
	return err
}

func closeAll(stmts []*sql.Stmt) error {
	var err error
	for _, s := range stmts {
		err = errors.Join(err, s.Close())
	}
	return err
}

func run(s *sql.Stmt, args ...any) error {
	_, err := s.ExecContext(context.Background(), args...)
	return err
}

// updated runs an update of one row and reports whether there was one.
func updated(s *sql.Stmt, args ...any) (bool, error) {
	result, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	return changed == 1, err
}
