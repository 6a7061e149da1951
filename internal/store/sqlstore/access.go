package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/store"
)

// The sorts of rows in the table of access.
const (
	accessControl = "control"
	accessUser    = "user"
	accessRole    = "role"
	accessRule    = "rule"
	accessToken   = "token"
)

// accessRow is a row of the table of access; without a body it is dropped.
type accessRow struct{ sort, name, body string }

func (r *rows) accessOf(b *store.Batch) error {
	if err := store.CheckAccess(b); err != nil {
		return err
	}
	c := &b.Access
	if c.Control != nil {
		x := *c.Control
		x.ChangedAt = kept(x.ChangedAt)
		if err := r.putAccess(accessControl, accessControl, &x); err != nil {
			return err
		}
	}
	r.dropAccess(accessUser, c.DropUsers)
	for _, x := range c.Users {
		x.CreatedAt = kept(x.CreatedAt)
		if err := r.putAccess(accessUser, x.Name, &x); err != nil {
			return err
		}
	}
	r.dropAccess(accessRole, c.DropRoles)
	for _, x := range c.Roles {
		x.CreatedAt = kept(x.CreatedAt)
		if err := r.putAccess(accessRole, x.Name, &x); err != nil {
			return err
		}
	}
	r.dropAccess(accessRule, c.DropRules)
	for _, x := range c.Rules {
		x.CreatedAt = kept(x.CreatedAt)
		if err := r.putAccess(accessRule, x.ID, &x); err != nil {
			return err
		}
	}
	r.dropAccess(accessToken, c.DropTokens)
	for _, x := range c.Tokens {
		x.CreatedAt, x.ExpiresAt, x.UsedAt = kept(x.CreatedAt), kept(x.ExpiresAt), kept(x.UsedAt)
		if err := r.putAccess(accessToken, x.ID, &x); err != nil {
			return err
		}
	}
	r.audit = make([]string, len(b.Audit))
	for i := range b.Audit {
		text, err := json.Marshal(&b.Audit[i])
		if err != nil {
			return fmt.Errorf("entry %d of the audit log: %w", b.Audit[i].Seq, err)
		}
		r.audit[i] = string(text)
	}
	return nil
}

func (r *rows) putAccess(sort, name string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("%s %q: %w", sort, name, err)
	}
	r.access = append(r.access, accessRow{sort, name, string(text)})
	return nil
}

func (r *rows) dropAccess(sort string, names []string) {
	for _, name := range names {
		r.access = append(r.access, accessRow{sort: sort, name: name})
	}
}

func (c *commit) access(b *store.Batch) error {
	for _, x := range c.rows.access {
		err := error(nil)
		if x.body == "" {
			err = c.row(c.w.dropAccess, x.sort, clean(x.name))
		} else {
			err = c.row(c.w.putAccess, x.sort, clean(x.name), x.body)
		}
		if err != nil {
			return err
		}
	}
	for i := range b.Audit {
		if err := c.audited(&b.Audit[i], c.rows.audit[i]); err != nil {
			return err
		}
	}
	return nil
}

// audited adds an entry to the audit log, where it follows the last one.
func (c *commit) audited(e *core.AuditEntry, body string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	follows, err := updated(c.w.moveAuditHead, e.Seq, e.Hash, e.Seq-1, e.Previous)
	if err == nil && !follows {
		return fmt.Errorf("entry %d of the audit log does not follow the last: %w", e.Seq, store.ErrConflict)
	}
	if err != nil {
		return err
	}
	err = run(c.w.insertAudit, e.Seq, e.At.UnixMicro(), clean(e.Actor), clean(e.Noun), clean(e.Action), string(e.Result), body)
	if isDuplicate(err) {
		return fmt.Errorf("entry %d of the audit log is there already: %w", e.Seq, store.ErrConflict)
	}
	return err
}

// Access implements store.Store.
func (s *Store) Access(ctx context.Context) (core.Access, error) {
	var a core.Access
	rows, err := s.r.access.QueryContext(ctx)
	_, err = collect(rows, err, func(rows *sql.Rows) (struct{}, error) {
		var sort, name string
		var body []byte
		if err := rows.Scan(&sort, &name, &body); err != nil {
			return struct{}{}, err
		}
		err := error(nil)
		switch sort {
		case accessControl:
			err = json.Unmarshal(body, &a.Control)
		case accessUser:
			err = appended(&a.Users, body)
		case accessRole:
			err = appended(&a.Roles, body)
		case accessRule:
			err = appended(&a.Rules, body)
		case accessToken:
			err = appended(&a.Tokens, body)
		}
		if err != nil {
			err = unreadable("access: "+sort+" "+name, err)
		}
		return struct{}{}, err
	})
	return a, s.fail("reading who may do what", err)
}

func appended[T any](to *[]T, body []byte) error {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	*to = append(*to, v)
	return nil
}

// readAccess tells of any sort of row whether it decodes.
func readAccess(body []byte) error {
	var any map[string]json.RawMessage
	return json.Unmarshal(body, &any)
}

// AuditHead implements store.Store.
func (s *Store) AuditHead(ctx context.Context) (audit.Head, error) {
	var h audit.Head
	err := s.r.auditHead.QueryRowContext(ctx).Scan(&h.Seq, &h.Hash)
	return h, s.fail("reading where the audit log ends", err)
}

// Audit implements store.Store.
func (s *Store) Audit(ctx context.Context, q store.AuditQuery) ([]core.AuditEntry, error) {
	var e statement
	e.WriteString(`SELECT seq, body FROM audit WHERE seq > ` + e.arg(q.After))
	micros := func(t time.Time) int64 { return t.UnixMicro() }
	if q.Before > 0 {
		e.WriteString(` AND seq < ` + e.arg(q.Before))
	}
	if !q.Since.IsZero() {
		e.WriteString(` AND at_us >= ` + e.arg(micros(q.Since)))
	}
	if !q.Until.IsZero() {
		e.WriteString(` AND at_us < ` + e.arg(micros(q.Until)))
	}
	for _, x := range [][2]string{{"actor", q.Actor}, {"noun", q.Noun}, {"action", q.Action}, {"result", string(q.Result)}} {
		if x[1] != "" {
			e.WriteString(` AND ` + x[0] + ` = ` + e.arg(clean(x[1])))
		}
	}
	e.WriteString(` ORDER BY seq`)
	if q.Newest {
		e.WriteString(` DESC`)
	}
	e.WriteString(` LIMIT ` + e.arg(int64(cmp.Or(q.Limit, -1))))
	rows, err := s.readers.QueryContext(ctx, e.String(), e.args...)
	all, err := collect(rows, err, func(rows *sql.Rows) (core.AuditEntry, error) {
		var seq int64
		var body []byte
		var one core.AuditEntry
		if err := rows.Scan(&seq, &body); err != nil {
			return one, err
		}
		if err := json.Unmarshal(body, &one); err != nil { // whoever verifies says what is wrong with it
			one = core.AuditEntry{Seq: seq, Message: strings.ToValidUTF8("it cannot be read: "+err.Error(), "\uFFFD")}
		}
		return one, nil
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return all, s.fail("reading the audit log", err)
}
