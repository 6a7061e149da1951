package control

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/engine/draft"
)

// TestTheOldestActionIsFound: a look at a backend proves nothing of what was decided
// before it and is still on its way, wherever in the queue that stands.
func TestTheOldestActionIsFound(t *testing.T) {
	q := actionQueue{wake: make(chan struct{}, 1)}
	if _, ok := q.oldest(); ok {
		t.Error("an empty queue has an oldest action")
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	q.push([]draft.Action{{At: now}, {}, {At: now.Add(-time.Second)}}) // the second is one that a former server left
	want := func(at time.Time) {
		t.Helper()
		if got, ok := q.oldest(); !ok || !got.Equal(at) {
			t.Errorf("the oldest is of %v, %v; want %v", got, ok, at)
		}
	}
	want(time.Time{})
	items := q.drain()
	want(time.Time{})
	q.carried(1)
	want(time.Time{})
	q.carried(1)
	want(now.Add(-time.Second))
	q.back(items)
	want(time.Time{})
}
