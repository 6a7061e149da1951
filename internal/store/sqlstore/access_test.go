package sqlstore

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/store"
)

// verifyAll follows the whole audit log, as the server does.
func verifyAll(t *testing.T, s *Store) *audit.Broken {
	t.Helper()
	all, err := s.Audit(t.Context(), store.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := s.AuditHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := audit.Head{}
	for i := range all {
		if b := audit.Follow(&all[i], at); b != nil {
			return b
		}
		at = audit.Head{Seq: all[i].Seq, Hash: all[i].Hash}
	}
	return audit.Ends(at, written)
}

// TestWhoWritesIntoTheDatabaseIsFoundOut changes what is stored of the audit log behind
// the server's back.
func TestWhoWritesIntoTheDatabaseIsFoundOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql string
		at  int64
	}{
		"nothing":             {"SELECT 1", 0},
		"another actor":       {`UPDATE audit SET body = replace(body, 'user:ann', 'user:eve') WHERE seq = 3`, 3},
		"another result":      {`UPDATE audit SET body = replace(body, '"done"', '"refused"') WHERE seq = 2`, 2},
		"what cannot be read": {`UPDATE audit SET body = '{' WHERE seq = 4`, 4},
		"one is gone":         {`DELETE FROM audit WHERE seq = 2`, 2},
		"the last is gone":    {`DELETE FROM audit WHERE seq = 5`, 5},
		"all are gone":        {`DELETE FROM audit`, 1},
		"two change places":   {`UPDATE audit SET seq = 99 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 99`, 2},
	} {
		path := filepath.Join(t.TempDir(), "muster.db")
		s := mustOpen(t, path)
		term, err := s.Acquire(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		head := audit.Head{}
		for i := range 5 {
			e := core.AuditEntry{At: time.Unix(int64(i), 0), Actor: "user:ann", Action: fmt.Sprint("act ", i), Result: core.AuditDone}
			head = audit.Seal(&e, head)
			if _, err := s.Commit(t.Context(), term, &store.Batch{Audit: []core.AuditEntry{e}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		change(t, path, c.sql)
		switch b := verifyAll(t, mustOpen(t, path)); {
		case c.at == 0 && b != nil:
			t.Errorf("%s: entry %d is found broken: %s", name, b.Seq, b.Problem)
		case c.at > 0 && (b == nil || b.Seq != c.at):
			t.Errorf("%s: %+v, want entry %d found broken", name, b, c.at)
		}
	}
}

// BenchmarkLoadAccess reads 10,000 users with 20,000 rules and 10,000 tokens over 1,000
// projects, and makes the policy of them.
func BenchmarkLoadAccess(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "muster.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	term, err := s.Acquire(b.Context(), "b")
	if err != nil {
		b.Fatal(err)
	}
	batch := &store.Batch{}
	for i := range 1000 {
		batch.Projects = append(batch.Projects, core.NewProject(core.ProjectID(fmt.Sprintf("p%d", i)), time.Unix(1, 0)))
	}
	for i := range 10_000 {
		u := core.User{Name: fmt.Sprintf("u%d", i), Kind: core.SubjectUser, CreatedAt: time.Unix(1, 0)}
		batch.Access.Users = append(batch.Access.Users, u)
		for k, role := range []string{"l1-researcher", "viewer"} {
			batch.Access.Rules = append(batch.Access.Rules, core.AccessRule{ID: fmt.Sprintf("r%d-%d", i, k), Subject: u.Subject(), Role: role, Scope: batch.Projects[(i+k)%1000].ID})
		}
		batch.Access.Tokens = append(batch.Access.Tokens, core.Token{ID: fmt.Sprintf("t%d", i), User: u.Name, Hash: fmt.Sprintf("h%d", i)})
	}
	if _, err := s.Commit(b.Context(), term, batch); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a, err := s.Access(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		projects, err := s.Projects(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if p := rbac.New(a, projects); len(p.Users()) != 10_000 {
			b.Fatal("some are missing")
		}
	}
}
