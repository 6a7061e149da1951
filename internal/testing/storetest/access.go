package storetest

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/store"
)

func testAccess(t *testing.T, w *world) {
	at := epoch.Add(time.Millisecond + 1)
	ann := core.User{Name: "ann", Kind: core.SubjectUser, Groups: []string{"vision"}, Note: "Zürich ≠ \"x\"", CreatedAt: at, CreatedBy: "root"}
	robot := core.User{Name: "robot", Kind: core.SubjectServiceAccount, CreatedAt: epoch}
	role := core.Role{Name: "watcher", Permissions: []core.Permission{{Verb: "read", Noun: "nodes"}, {Verb: "delete", Noun: "workloads", Own: true}}, Assigns: []string{"viewer"}, CreatedAt: at}
	rule := core.AccessRule{ID: "r1", Subject: ann.Subject(), Role: "watcher", Scope: "vision", CreatedAt: at, CreatedBy: "root"}
	other := core.AccessRule{ID: "r2", Subject: core.Subject{Kind: core.SubjectGroup, Name: "vision"}, Role: "viewer", Scope: core.SystemScope, CreatedAt: at}
	token := core.Token{ID: "t1", User: "robot", Hash: "abc", Scope: "vision", Permissions: []core.Permission{{Verb: "read", Noun: "*"}}, CreatedAt: at, ExpiresAt: at, UsedAt: at}
	found := func(want core.Access) {
		t.Helper()
		got, err := w.s.Access(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "Access", []core.Access{got}, []core.Access{want})
	}
	found(core.Access{})
	for _, bad := range []core.AccessChange{
		{Users: []core.User{{}}}, {Roles: []core.Role{{}}}, {Rules: []core.AccessRule{{}}}, {Tokens: []core.Token{{ID: "x"}}}, {Tokens: []core.Token{{Hash: "x"}}},
	} {
		w.refused(nil, &store.Batch{Access: bad})
	}
	on := core.AccessControl{Enabled: true, ChangedAt: at, ChangedBy: "root"}
	w.commit(&store.Batch{Access: core.AccessChange{Control: &on, Users: []core.User{robot, ann}, Roles: []core.Role{role}, Rules: []core.AccessRule{other, rule}, Tokens: []core.Token{token}}})
	w.reopen()
	found(core.Access{Control: on, Users: []core.User{ann, robot}, Roles: []core.Role{role}, Rules: []core.AccessRule{rule, other}, Tokens: []core.Token{token}})
	// Drops come first; a name that comes back in the same batch is a new record.
	ann.Disabled, ann.Groups, token.UsedAt = true, nil, time.Time{}
	w.commit(&store.Batch{Access: core.AccessChange{
		DropUsers: []string{"ann", "robot", "nobody"}, Users: []core.User{ann}, DropRoles: []string{"watcher"}, DropRules: []string{"r2"}, DropTokens: []string{"t1"}, Tokens: []core.Token{token},
	}})
	found(core.Access{Control: on, Users: []core.User{ann}, Rules: []core.AccessRule{rule}, Tokens: []core.Token{token}})
}

func testAudit(t *testing.T, w *world) {
	var all []core.AuditEntry
	head := audit.Head{}
	for i := range 6 {
		e := core.AuditEntry{At: epoch.Add(time.Duration(i) * time.Minute), Actor: []string{"user:ann", "user:bob"}[i%2], Action: "delete-pool", Noun: "pools", Result: core.AuditDone}
		if i == 3 {
			e.Result, e.Noun, e.Action = core.AuditRefused, "nodes", "drain-node"
			e.Changes = []core.AuditChange{{Object: "node a", Before: `{"x":1}`, After: "ü"}}
		}
		head = audit.Seal(&e, head)
		all = append(all, e)
	}
	skipped, unsealed, forked := all[1], all[0], all[0]
	unsealed.Hash = ""
	w.refused(store.ErrConflict, &store.Batch{Audit: []core.AuditEntry{skipped}})
	w.refused(nil, &store.Batch{Audit: []core.AuditEntry{unsealed}})
	w.refused(nil, &store.Batch{Audit: []core.AuditEntry{all[0], all[2]}})
	w.commit(&store.Batch{Audit: all[:2]})
	w.refused(store.ErrConflict, &store.Batch{Audit: all[1:2]}) // it is there
	forked.Actor = "user:eve"
	audit.Seal(&forked, audit.Head{Seq: 2, Hash: all[0].Hash})
	w.refused(store.ErrConflict, &store.Batch{Audit: []core.AuditEntry{forked}}) // it follows another
	w.commit(&store.Batch{Audit: all[2:], Projects: []core.Project{core.NewProject("p", epoch)}})
	w.reopen()
	got, err := w.s.AuditHead(t.Context())
	if err != nil || got != head {
		t.Fatalf("the audit log ends at %+v, %v, want %+v", got, err, head)
	}
	for _, c := range []struct {
		name string
		q    store.AuditQuery
		want []core.AuditEntry
	}{
		{"all", store.AuditQuery{}, all},
		{"after", store.AuditQuery{After: 4}, all[4:]},
		{"before", store.AuditQuery{Before: 3, Newest: true}, []core.AuditEntry{all[1], all[0]}},
		{"limit", store.AuditQuery{Limit: 2, Newest: true}, []core.AuditEntry{all[5], all[4]}},
		{"actor", store.AuditQuery{Actor: "user:bob"}, []core.AuditEntry{all[1], all[3], all[5]}},
		{"result", store.AuditQuery{Result: core.AuditRefused}, all[3:4]},
		{"noun", store.AuditQuery{Noun: "nodes"}, all[3:4]},
		{"action", store.AuditQuery{Action: "drain-node"}, all[3:4]},
		{"time", store.AuditQuery{Since: epoch.Add(time.Minute), Until: epoch.Add(3 * time.Minute)}, all[1:3]},
		{"none", store.AuditQuery{Actor: "user:eve"}, nil},
	} {
		found, err := w.s.Audit(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "Audit "+c.name, found, c.want)
	}
}
