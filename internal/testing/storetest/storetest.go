// Package storetest is the contract of store.Store as tests. An
// implementation is correct when Run and Kill pass.
package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// Open opens the store whose data are in dir, or makes one there. It is called
// again on the same folder after Close, and after a process was killed.
type Open func(t *testing.T, dir string) store.Store

// Run tests everything but durability, see Kill.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"Empty", testEmpty},
		{"EveryFieldComesBack", testEveryField},
		{"DocumentsComeBack", testDocuments},
		{"TextComesBack", testText},
		{"BigTextComesBack", testBigText},
		{"ValuesAreNotChanged", testValuesAreNotChanged},
		{"VersionsAreCompared", testVersions},
		{"NamesAreUnique", testNames},
		{"IdentityIsWrittenOnce", testIdentity},
		{"FailedBatchWritesNothing", testAtomic},
		{"InvalidBatchIsRefused", testInvalid},
		{"OldTermIsRefused", testTerm},
		{"RevisionsCount", testRevisions},
		{"CancelledCommitWritesNothing", testCancelled},
		{"LiveHasWhatALeaderNeeds", testLive},
		{"EverythingSurvivesReopening", testReopen},
		{"Keys", testKeys},
		{"Projects", testProjects},
		{"Quotas", testQuotas},
		{"Pools", testPools},
		{"Reservations", testReservations},
		{"Licenses", testLicenses},
		{"Nodes", testNodes},
		{"EditedDocuments", testEdited},
		{"Secrets", testSecrets},
		{"Subscriptions", testSubscriptions},
		{"Templates", testTemplates},
		{"Access", testAccess},
		{"AuditLog", testAudit},
		{"Deliveries", testDeliveries},
		{"Uses", testUses},
		{"Promises", testPromises},
		{"RunsAreRecordsOfTheirOwn", testRuns},
		{"PartsOfAnAttempt", testFindTasks},
		{"Spans", testSpans},
		{"TasksByAttemptAndIndex", testTasks},
		{"TransitionsInOrder", testTransitions},
		{"ChangedSinceLosesNothing", testChanged},
		{"ListFilters", testListFilters},
		{"ListPagesAreStable", testListPages},
		{"ListByLabels", testListLabels},
		{"ListByPrefix", testListPrefix},
		{"ListByTime", testListTime},
		{"ListHidesDeleted", testListDeleted},
		{"ListOfMany", testListMany},
		{"ReadersSeeWholeBatches", testWholeBatches},
		{"ReadersDoNotWait", testReadersDoNotWait},
		{"Model", testModel},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newWorld(t, open))
		})
	}
}

// world is one store and what a test has numbered in it so far.
type world struct {
	t    *testing.T
	open Open
	dir  string
	s    store.Store
	term store.Term
	seq  int64 // of the last workload
	step int64 // Seq of the last transition
}

func newWorld(t *testing.T, open Open) *world {
	w := &world{t: t, open: open, dir: t.TempDir()}
	w.s = open(t, w.dir)
	t.Cleanup(func() {
		if err := w.s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	w.lead()
	return w
}

func (w *world) lead() {
	w.t.Helper()
	term, err := w.s.Acquire(w.t.Context(), "a test")
	if err != nil {
		w.t.Fatalf("Acquire: %v", err)
	}
	w.term = term
}

func (w *world) reopen() {
	w.t.Helper()
	if err := w.s.Close(); err != nil {
		w.t.Fatalf("Close: %v", err)
	}
	w.s = w.open(w.t, w.dir)
	w.lead()
}

// commit must succeed.
func (w *world) commit(b *store.Batch) core.Revision {
	w.t.Helper()
	rev, err := w.s.Commit(w.t.Context(), w.term, b)
	if err != nil {
		w.t.Fatalf("Commit: %v", err)
	}
	return rev
}

// refused must fail with want and leave no trace.
func (w *world) refused(want error, b *store.Batch) {
	w.t.Helper()
	before := w.counters()
	_, err := w.s.Commit(w.t.Context(), w.term, b)
	if err == nil {
		w.t.Fatalf("Commit succeeded, want %v", want)
	}
	if want != nil && !errors.Is(err, want) {
		w.t.Fatalf("Commit: %v; want %v", err, want)
	}
	if after := w.counters(); after != before {
		w.t.Fatalf("a refused commit left a trace: counters were %+v and are %+v", before, after)
	}
}

func (w *world) counters() store.Counters {
	w.t.Helper()
	c, err := w.s.Counters(w.t.Context())
	if err != nil {
		w.t.Fatalf("Counters: %v", err)
	}
	return c
}

// stored must be there and be want, as committed in rev.
func (w *world) stored(want *core.Workload, rev core.Revision) {
	w.t.Helper()
	got, err := w.s.Workload(context.Background(), want.ID)
	if err != nil {
		w.t.Fatalf("Workload(%s): %v", want.ID, err)
	}
	sameWorkload(w.t, got, want, rev)
}

func (w *world) list(q store.Query) store.Page {
	w.t.Helper()
	page, err := w.s.List(w.t.Context(), q)
	if err != nil {
		w.t.Fatalf("List(%+v): %v", q, err)
	}
	return page
}
