package store

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// AuditQuery selects entries of the audit log. Zero fields do not restrict.
type AuditQuery struct {
	After  int64 // only greater Seqs
	Before int64 // only smaller ones
	Since  time.Time
	Until  time.Time
	Actor  string // as it is written: user:NAME
	Noun   string
	Action string
	Result core.AuditResult
	Newest bool // the newest first
	Limit  int  // at most; 0: all
}

// Selects reports whether an entry is one that q selects, but for its Limit.
func (q *AuditQuery) Selects(e *core.AuditEntry) bool {
	return e.Seq > q.After && (q.Before == 0 || e.Seq < q.Before) &&
		(q.Since.IsZero() || !e.At.Before(q.Since)) && (q.Until.IsZero() || e.At.Before(q.Until)) &&
		(q.Actor == "" || e.Actor == q.Actor) && (q.Noun == "" || e.Noun == q.Noun) && (q.Action == "" || e.Action == q.Action) && (q.Result == "" || e.Result == q.Result)
}

// CheckAccess refuses records without names, and entries that were not sealed one
// after the other.
func CheckAccess(b *Batch) error {
	c := &b.Access
	for i := range c.Users {
		if c.Users[i].Name == "" {
			return fmt.Errorf("user %d of the batch: it has no name", i)
		}
	}
	for i := range c.Roles {
		if c.Roles[i].Name == "" {
			return fmt.Errorf("role %d of the batch: it has no name", i)
		}
	}
	for i := range c.Rules {
		if c.Rules[i].ID == "" {
			return fmt.Errorf("access rule %d of the batch: it has no id", i)
		}
	}
	for i := range c.Tokens {
		if c.Tokens[i].ID == "" || c.Tokens[i].Hash == "" {
			return fmt.Errorf("token %d of the batch: it has no id or no hash", i)
		}
	}
	for i := range b.Audit {
		e := &b.Audit[i]
		if e.Hash == "" || e.Seq <= 0 || i > 0 && (e.Seq != b.Audit[i-1].Seq+1 || e.Previous != b.Audit[i-1].Hash) {
			return fmt.Errorf("entry %d of the audit log, %d of the batch: it is not sealed, or not after the one before", e.Seq, i)
		}
	}
	return nil
}
