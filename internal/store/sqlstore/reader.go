package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// columns are those of scanWorkload, from workloads w and specs s.
const columns = `w.seq, w.id, w.rev, w.version, w.project, w.name, w.kind, w.user_name, w.phase, w.attempt,
	w.created_us, w.ended_us, w.status, s.document`

const withSpecs = ` FROM workloads w JOIN specs s ON s.seq = w.seq `

const taskColumns = `SELECT t.workload, t.attempt, t.idx, t.run, t.body FROM `

// standing are tasks of an attempt by their last runs, of those that nobody has
// replaced.
const standing = `tasks t WHERE t.workload = $1 AND t.attempt = $2 AND t.stands <> '' AND NOT EXISTS
	(SELECT 1 FROM tasks n WHERE n.workload = t.workload AND n.attempt = t.attempt AND n.idx = t.idx AND n.run > t.run) `

const transitionColumns = `SELECT seq, workload, attempt, from_phase, event, to_phase, target, reason, message,
	actor, at_us, cause, left_for FROM transitions WHERE `

// deliveryColumns leaves out no delivery where $1, $2 or $3 is empty.
const deliveryColumns = `SELECT id, body FROM deliveries
	WHERE ($1 = '' OR id = $1) AND ($2 = '' OR user_name = $2) AND ($3 = '' OR state = $3) `

// reader holds the statements of the reading connections.
type reader struct {
	db  *sql.DB
	all []*sql.Stmt

	counters, installation, workload, byName, changed       *sql.Stmt
	awake, awakeTasks, tasks, tasksOfAll, projects, recalls *sql.Stmt
	transitions, transitionsOf, secrets, pools, nodes       *sql.Stmt
	licenses, reservations                                  *sql.Stmt
	promises, spans, subscriptions, nextDelivery, templates *sql.Stmt
	delivery, deliveriesOf, deliveriesDue                   *sql.Stmt
	findTasks, countTasks                                   *sql.Stmt
	access, auditHead                                       *sql.Stmt
}

func newReader(ctx context.Context, db *sql.DB, d dialect) (*reader, error) {
	r := &reader{db: db}
	for _, q := range readerQueries(r, d) {
		stmt, err := db.PrepareContext(ctx, q.text)
		if err != nil {
			return nil, errors.Join(err, closeAll(r.all))
		}
		*q.to, r.all = stmt, append(r.all, stmt)
	}
	return r, nil
}

// query is the text of one statement, and where it goes once it is prepared.
type query struct {
	to   **sql.Stmt
	text string
}

func readerQueries(r *reader, d dialect) []query {
	return []query{
		{&r.counters, `SELECT (SELECT COALESCE(MAX(seq), 0) FROM workloads),
			(SELECT COALESCE(MAX(seq), 0) FROM transitions), (SELECT revision FROM meta WHERE one = 1)`},
		{&r.installation, `SELECT installation FROM meta WHERE one = 1`},
		{&r.workload, `SELECT ` + columns + withSpecs + `WHERE w.id = $1`},
		{&r.byName, `SELECT ` + columns + withSpecs + `WHERE w.name = $1 AND w.project = $2 AND w.deleted = 0`},
		// Whole revisions: the page ends with the last workload of the
		// revision in which its limit falls.
		{&r.changed, `SELECT ` + columns + withSpecs + `WHERE w.rev > $1 AND w.rev <= COALESCE(
			(SELECT c.rev FROM workloads c WHERE c.rev > $1 ORDER BY c.rev LIMIT 1 OFFSET $2), 9223372036854775807)
			ORDER BY w.rev, w.seq`},
		{&r.awake, `SELECT ` + columns + withSpecs + `WHERE w.awake = 1 ORDER BY w.seq`},
		{&r.awakeTasks, taskColumns + `workloads w` + d.use("workloads_awake") +
			` JOIN tasks t ON t.workload = w.id AND t.attempt = w.attempt
			WHERE w.awake = 1 ORDER BY w.seq, t.idx, t.run`},
		{&r.tasks, taskColumns + `tasks t WHERE t.workload = $1 AND t.attempt = $2 ORDER BY t.idx, t.run`},
		{&r.tasksOfAll, taskColumns + `tasks t WHERE t.workload = $1 ORDER BY t.attempt, t.idx, t.run`},
		{&r.findTasks, taskColumns + standing + `AND t.idx >= $3 AND t.idx < $4 AND ($5 = '' OR $5 LIKE '%,' || t.stands || ',%')
			ORDER BY t.idx LIMIT $6`},
		{&r.countTasks, `SELECT t.stands, COUNT(*) FROM ` + standing + `GROUP BY t.stands`},
		{&r.projects, `SELECT id, body FROM projects ORDER BY id`},
		{&r.pools, `SELECT name, body FROM pools ORDER BY name`},
		{&r.reservations, `SELECT name, body FROM reservations ORDER BY name`},
		{&r.licenses, `SELECT name, body FROM licenses ORDER BY name`},
		{&r.nodes, `SELECT id, body FROM nodes ORDER BY id`},
		{&r.promises, `SELECT workload, tasks FROM promises ORDER BY place`},
		// All tasks are walked, in the order in which they lie: an index for it
		// would cost every task of every workload more.
		{&r.spans, `SELECT w.project, t.placed_us, t.released_us, t.body FROM tasks t JOIN workloads w ON w.id = t.workload
			WHERE t.placed_us IS NOT NULL AND COALESCE(t.released_us, 9223372036854775807) > $1`},
		{&r.secrets, `SELECT user_name, name, body FROM secrets ORDER BY user_name, name`},
		{&r.templates, `SELECT name, body FROM templates ORDER BY project, kind, name`},
		{&r.access, `SELECT sort, name, body FROM access ORDER BY sort, name`},
		{&r.auditHead, `SELECT seq, hash FROM audit_head WHERE one = 1`},
		{&r.subscriptions, `SELECT name, body FROM subscriptions ORDER BY user_name, name`},
		{&r.delivery, deliveryColumns + `AND id = $1 LIMIT $4`},
		{&r.deliveriesOf, deliveryColumns + `AND user_name = $2 ORDER BY seq DESC LIMIT $4`},
		// From receiver to receiver along an index: one with much that waits
		// costs no more than others.
		{&r.deliveriesDue, `WITH RECURSIVE receivers (target) AS (
			SELECT MIN(target) FROM deliveries WHERE next_us IS NOT NULL
			UNION ALL SELECT (SELECT MIN(n.target) FROM deliveries n WHERE n.next_us IS NOT NULL AND n.target > r.target)
			FROM receivers r WHERE r.target IS NOT NULL)
			SELECT d.target, d.id, d.body FROM receivers r JOIN deliveries d ON d.seq =
			(SELECT f.seq FROM deliveries f WHERE f.target = r.target AND f.next_us <= $1 ORDER BY f.next_us, f.seq LIMIT 1)
			ORDER BY d.next_us, d.seq`},
		{&r.nextDelivery, `SELECT MIN(next_us) FROM deliveries WHERE next_us > $1`},
		{&r.recalls, `SELECT workload, hash FROM keys WHERE user_name = $1 AND key = $2`},
		{&r.transitions, transitionColumns + `seq > $1 ORDER BY seq LIMIT $2`},
		{&r.transitionsOf, transitionColumns + `workload = $1 AND seq > $2 ORDER BY seq LIMIT $3`},
	}
}

// Counters implements store.Store.
func (s *Store) Counters(ctx context.Context) (store.Counters, error) {
	var c store.Counters
	err := s.r.counters.QueryRowContext(ctx).Scan(&c.Workload, &c.Transition, &c.Revision)
	return c, s.fail("reading the counters", err)
}

// Installation implements store.Store.
func (s *Store) Installation(ctx context.Context) (string, error) {
	var id string
	err := s.r.installation.QueryRowContext(ctx).Scan(&id)
	return id, s.fail("reading the installation", err)
}

// Remembered implements store.Store.
func (s *Store) Remembered(ctx context.Context, user, key string) (core.WorkloadID, string, error) {
	var id, hash string
	err := s.r.recalls.QueryRowContext(ctx, clean(user), clean(key)).Scan(&id, &hash)
	return core.WorkloadID(id), hash, s.fail("looking for an idempotency key", err)
}

// collect reads every row with scan.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
