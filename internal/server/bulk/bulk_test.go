package bulk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/server/problem"
)

// ids are so many.
func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

// ended waits for the end of a bulk action.
func ended(t *testing.T, b *Actions, id string) api.BulkAction {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		var about api.BulkAction
		if err := b.With(id, func(a *Action) { about = a.About }); err != nil {
			t.Fatal(err)
		}
		if about.EndedAt != nil {
			return about
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not end: %+v", about)
		}
	}
}

// Whoever cancels is obeyed between two workloads: those under way answer, no
// other is asked, and what was done is listed.
func TestABulkActionIsCancelled(t *testing.T) {
	t.Parallel()
	b := New(slog.New(slog.DiscardHandler), make(chan struct{}))
	var asked atomic.Int32
	begun, goOn := make(chan struct{}, 1000), make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	about, err := b.Begin(ctx, api.BulkAction{Action: "stop"}, ids(1000), func(ctx context.Context, id string) api.BulkOutcome {
		asked.Add(1)
		begun <- struct{}{}
		<-goOn
		if id == "3" {
			panic("one of them")
		}
		o := api.BulkOutcome{ID: id, Phase: "Stopped"}
		if ctx.Err() != nil {
			o.Problem = problem.Internal()
		}
		return o
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	leave() // which ends nothing
	for range actedAtOnce {
		<-begun
	}
	if err := b.With(about.ID, (*Action).Cancel); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	about = ended(t, b, about.ID)
	n := int(asked.Load())
	if about.State != "cancelled" || about.Done != n-1 || about.Refused != 1 || n > actedAtOnce+1 {
		t.Errorf("%d were asked: %+v", n, about)
	}
	if err := b.With(about.ID, func(a *Action) {
		a.Cancel() // again, which is harmless
		if all, next := a.Page(0, 1000, false); len(all) != n || next != 0 {
			t.Errorf("%d outcomes are listed, and more from %d", len(all), next)
		}
	}); err != nil {
		t.Error(err)
	}
}

// What is remembered has a bound, and so has what goes on; an id says what has
// become of it.
func TestBulkActionsAreBounded(t *testing.T) {
	t.Parallel()
	closing, hold := make(chan struct{}), make(chan struct{})
	b := New(slog.New(slog.DiscardHandler), closing)
	done := func(_ context.Context, id string) api.BulkOutcome { return api.BulkOutcome{ID: id} }
	var first api.BulkAction
	for i := range actionsKept + 3 {
		about, err := b.Begin(t.Context(), api.BulkAction{}, ids(Most/20), done, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if about = ended(t, b, about.ID); about.Done != Most/20 {
			t.Fatalf("%+v", about)
		}
		if i == 0 {
			first = about
		}
	}
	if n := len(b.List()); n > 21 {
		t.Errorf("%d are kept, with %d outcomes each", n, Most/20)
	}
	var p *api.Problem
	for id, status := range map[string]int{first.ID: http.StatusGone, "before-1": http.StatusGone, b.boot + "-999": http.StatusNotFound, "nothing": http.StatusNotFound} {
		if err := b.With(id, func(*Action) {}); !errors.As(err, &p) || p.Status != status {
			t.Errorf("%s: %v, want %d", id, err, status)
		}
	}
	for range actionsAtOnce {
		if _, err := b.Begin(t.Context(), api.BulkAction{}, ids(100), func(_ context.Context, id string) api.BulkOutcome {
			<-hold
			return api.BulkOutcome{ID: id}
		}, time.Now); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Begin(t.Context(), api.BulkAction{}, ids(1), done, time.Now); !errors.As(err, &p) || p.Code != "too_often" {
		t.Errorf("one too many: %v", err)
	}
	close(closing) // a server that ends asks nobody any more
	close(hold)
	for _, a := range b.List()[:actionsAtOnce] {
		if a = ended(t, b, a.ID); a.State != "cancelled" {
			t.Errorf("after the end of the server: %+v", a)
		}
	}
}
