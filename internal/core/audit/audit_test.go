package audit_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
)

func chain(n int) ([]core.AuditEntry, audit.Head) {
	all, head := make([]core.AuditEntry, n), audit.Head{}
	for i := range all {
		all[i] = core.AuditEntry{At: time.Unix(1_700_000_000, int64(i)*1234), Actor: "user:ann", Action: "create-workload", Result: core.AuditDone, Changes: []core.AuditChange{{Object: "workload", After: `{"phase":"Queued"}`}}}
		head = audit.Seal(&all[i], head)
	}
	return all, head
}

func verify(all []core.AuditEntry, written audit.Head) *audit.Broken {
	head := audit.Head{}
	for i := range all {
		if b := audit.Follow(&all[i], head); b != nil {
			return b
		}
		head = audit.Head{Seq: all[i].Seq, Hash: all[i].Hash}
	}
	return audit.Ends(head, written)
}

func TestEveryChangeOfAChainShows(t *testing.T) {
	all, head := chain(5)
	if b := verify(all, head); b != nil {
		t.Fatalf("an untouched chain is broken: %+v", b)
	}
	for name, c := range map[string]struct {
		touch func(all []core.AuditEntry) []core.AuditEntry
		at    int64
	}{
		"actor":   {func(all []core.AuditEntry) []core.AuditEntry { all[2].Actor = "user:bob"; return all }, 3},
		"time":    {func(all []core.AuditEntry) []core.AuditEntry { all[1].At = all[1].At.Add(time.Hour); return all }, 2},
		"change":  {func(all []core.AuditEntry) []core.AuditEntry { all[4].Changes[0].After = ""; return all }, 5},
		"removed": {func(all []core.AuditEntry) []core.AuditEntry { return append(all[:2:2], all[3:]...) }, 3},
		"cut":     {func(all []core.AuditEntry) []core.AuditEntry { return all[:3] }, 4},
		"first":   {func(all []core.AuditEntry) []core.AuditEntry { return all[1:] }, 1},
		"made anew": {func(all []core.AuditEntry) []core.AuditEntry { // whoever does so has to make the rest anew too
			all[1].Actor = "user:bob"
			audit.Seal(&all[1], audit.Head{Seq: 1, Hash: all[0].Hash})
			return all
		}, 3},
		"all anew": {func(all []core.AuditEntry) []core.AuditEntry {
			all[0].Actor = "user:bob"
			h := audit.Head{}
			for i := range all {
				h = audit.Seal(&all[i], h)
			}
			return all
		}, 5},
	} {
		fresh, head := chain(5)
		if b := verify(c.touch(fresh), head); b == nil || b.Seq != c.at {
			t.Errorf("%s: %+v, want it broken at %d", name, b, c.at)
		}
	}
}
