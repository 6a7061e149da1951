package control_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// begin runs a control plane over st in real time until the test ends; what Run
// returned comes out of the channel.
func begin(t *testing.T, st store.Store) (*control.Control, <-chan error) {
	t.Helper()
	random := rand.New(rand.NewSource(1))
	c, err := control.New(context.Background(), control.Options{Deps: draft.Deps{
		Store: st, Holder: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Elapsed: func() time.Duration { return 0 },
		NewID: naming.NewID(random), NewName: naming.NewName(random), Port: func() int { return 29500 },
	}}, []backend.Backend{fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 4000, 8<<30, 0, "")})}, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(cancel)
	<-c.Ready()
	return c, ended
}

func submit(t *testing.T, c *control.Control, doc string) (*core.Workload, error) {
	t.Helper()
	d, err := spec.Load([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	made, err := control.Do(context.Background(), c, submission.Submit(submission.Submission{Doc: d, User: "u", Actor: "user:u"}))
	if err != nil {
		return nil, err
	}
	return made.Workload, nil
}

func TestADeposedWriterEndsAndAnswersNobodyFalsely(t *testing.T) {
	st := memstore.New()
	c, ended := begin(t, st)
	if _, err := submit(t, c, `{"name":"a","command":["fake"]}`); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Acquire(context.Background(), "another"); err != nil {
		t.Fatal(err)
	}
	_, err := submit(t, c, `{"name":"b","command":["fake"]}`)
	var refused *draft.Error
	if !errors.As(err, &refused) || refused.Code != draft.CodeUnavailable {
		t.Errorf("a deposed writer answered %v", err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, store.ErrTermLost) {
			t.Errorf("Run returned %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Run goes on")
	}
	if _, err := st.ByName(context.Background(), core.DefaultProject, "b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was refused is there: %v", err)
	}
	if _, err := submit(t, c, `{"command":["fake"]}`); !errors.Is(err, control.ErrStopped) {
		t.Errorf("after the end: %v", err)
	}
}

// scarceStore has no room for more records while it is scarce.
type scarceStore struct {
	store.Store
	scarce atomic.Bool
}

func (s *scarceStore) Scarce() bool { return s.scarce.Load() }

// TestWithoutRoomNothingNewIsTaken: what must end ends, and leaves the room that
// is kept for that alone.
func TestWithoutRoomNothingNewIsTaken(t *testing.T) {
	st := &scarceStore{Store: memstore.New()}
	c, _ := begin(t, st)
	w, err := submit(t, c, `{"name":"a","command":["fake","run=1h"]}`)
	if err != nil {
		t.Fatal(err)
	}
	st.scarce.Store(true)
	_, err = submit(t, c, `{"name":"b","command":["fake"]}`)
	var refused *draft.Error
	if !errors.As(err, &refused) || refused.Code != draft.CodeFull {
		t.Errorf("a submission without room answered %v", err)
	}
	err = c.Apply(t.Context(), organisation.CreateSecret(core.Secret{User: "u", Name: "s"}))
	if !errors.As(err, &refused) || refused.Code != draft.CodeFull {
		t.Errorf("a secret without room answered %v", err)
	}
	if err := c.Apply(t.Context(), submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:u"})); err != nil {
		t.Errorf("a stop without room answered %v", err)
	}
	st.scarce.Store(false)
	if _, err := submit(t, c, `{"name":"b","command":["fake"]}`); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestAFullDiskRefusesAndLosesNothing(t *testing.T) {
	st := &memstore.Full{Store: memstore.New(), Room: make(chan struct{})}
	c, _ := begin(t, st)
	_, err := submit(t, c, `{"name":"a","command":["fake"]}`)
	var refused *draft.Error
	if !errors.As(err, &refused) || refused.Code != draft.CodeFull {
		t.Fatalf("a full disk answered %v", err)
	}
	close(st.Room)
	w, err := submit(t, c, `{"name":"a","command":["fake","run=10ms"]}`)
	if err != nil {
		t.Fatalf("the name of what was refused is taken: %v", err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got, err := st.Workload(context.Background(), w.ID)
		if err == nil && got.Phase == lifecycle.Completed {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it did not complete: %+v, %v", got, err)
		}
	}
}

func TestAStopsOwnGraceCountsAlsoAfterARestart(t *testing.T) {
	st, ctx := memstore.New(), context.Background()
	deps := draft.Deps{
		Store: st, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Elapsed: func() time.Duration { return 0 },
		NewID: naming.NewID(rand.New(rand.NewSource(1))), NewName: func(string) string { return "a" },
	}
	node := engine.Inventory("p", []core.Node{{ID: "n", Backend: "p", Pool: "default", Ready: true, CPU: 4000}})
	e, err := engine.Open(ctx, deps, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	doc, err := spec.Load([]byte(`{"name":"a","command":["fake"],"gracePeriod":"1s"}`))
	if err != nil {
		t.Fatal(err)
	}
	long := 5 * time.Minute
	stop := submission.Stop(submission.StopRequest{Ref: draft.Ref{Project: core.DefaultProject, Name: "a"}, Actor: "user:u", Grace: &long})
	for _, err := range append(e.Do(ctx, now, []draft.Work{node, submission.Submit(submission.Submission{Doc: doc, User: "u", Actor: "user:u"})}), e.Do(ctx, now, []draft.Work{stop})...) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if wake := e.NextWake(); wake.Before(now.Add(long)) {
		t.Errorf("it would be ended by force at +%s, within the grace of %s", wake.Sub(now), long)
	}
	again, err := engine.Open(ctx, deps, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Do(ctx, now, []draft.Work{node})
	again.Resume()
	actions := again.TakeActions()
	if len(actions) != 1 || actions[0].Kind != draft.ActStop || actions[0].Grace != long {
		t.Errorf("after a restart the backend is asked for %+v", actions)
	}
}
