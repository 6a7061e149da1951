// Package bulk does something with many workloads after whoever asked for it was
// answered, and remembers what each said.
package bulk

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
)

const (
	// Most is how many workloads one bulk action may name, and how many
	// outcomes are kept of those that have ended, the newest.
	Most = 50_000
	// actedAtOnce is how many workloads of a bulk action are asked at a time: they
	// share commits, and leave room for others in them.
	actedAtOnce = 32
	// actionsAtOnce is how many bulk actions go on at a time, actionsKept how many
	// that have ended are remembered.
	actionsAtOnce = 8
	actionsKept   = 50
)

// Actions are those that go on, and those that ended of late. They live as
// long as the server: what they have done is durable, the rest of them is not
// done by another server that begins.
type Actions struct {
	log     *slog.Logger
	mu      sync.Mutex
	boot    string // begins the ids of this server's
	count   int
	all     []*Action // oldest first
	closing <-chan struct{}
}

// New returns a list without any; what goes on ends with closing.
func New(log *slog.Logger, closing <-chan struct{}) *Actions {
	return &Actions{log: log, boot: strings.ToLower(rand.Text()[:8]), closing: closing}
}

// Action is one action on many workloads; Actions.mu guards it, so it is looked at in With alone.
type Action struct {
	About    api.BulkAction
	outcomes []*api.BulkOutcome // of each workload, in order; nil: it has not answered
	cancel   chan struct{}
}

// Ask asks one workload, and says what it answered.
type Ask func(ctx context.Context, id string) api.BulkOutcome

// Begin starts an action on workloads.
func (b *Actions) Begin(ctx context.Context, about api.BulkAction, ids []string, ask Ask, clock func() time.Time) (api.BulkAction, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	going := 0
	for _, a := range b.all {
		if a.About.EndedAt == nil {
			going++
		}
	}
	if going >= actionsAtOnce {
		return about, problem.New(http.StatusTooManyRequests, "too_often", fmt.Sprintf("%d bulk actions are running, which is the most at a time", going), "wait for one to end, or cancel one: GET /v1/bulk-actions lists them")
	}
	b.count++
	about.ID, about.Total, about.State, about.StartedAt = fmt.Sprintf("%s-%d", b.boot, b.count), len(ids), "running", api.Time(clock())
	a := &Action{About: about, outcomes: make([]*api.BulkOutcome, len(ids)), cancel: make(chan struct{})}
	b.all = append(b.all, a)
	b.forget()
	// Whoever has asked may leave; it is still they who did it.
	go b.run(context.WithoutCancel(ctx), a, ids, ask, clock)
	return a.About, nil
}

// forget lets go of the oldest that have ended, so that what is kept is bounded.
func (b *Actions) forget() {
	ended, outcomes := 0, 0
	for i := len(b.all) - 1; i >= 0; i-- {
		a := b.all[i]
		if a.About.EndedAt == nil {
			continue
		}
		ended++
		if outcomes += len(a.outcomes); ended > actionsKept || ended > 1 && outcomes > Most {
			b.all = slices.Delete(b.all, i, i+1)
		}
	}
}

// run asks all workloads, a few at a time, and says when it is over.
func (b *Actions) run(ctx context.Context, a *Action, ids []string, ask Ask, clock func() time.Time) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(actedAtOnce, len(ids)) {
		workers.Go(func() {
			for i := range next {
				b.answered(a, i, b.one(ctx, ask, ids[i]))
			}
		})
	}
	state := "done"
feed:
	for i := range ids {
		select { // first, as below both may be ready
		case <-a.cancel:
			state = "cancelled"
			break feed
		default:
		}
		select {
		case next <- i:
		case <-a.cancel:
			state = "cancelled"
			break feed
		case <-b.closing:
			state = "cancelled"
			break feed
		}
	}
	close(next)
	workers.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	a.About.State, a.About.EndedAt = state, wire.At(clock())
	b.forget()
}

// one asks one workload of many. Its panic is its own outcome: nobody above would
// take it.
func (b *Actions) one(ctx context.Context, ask Ask, id string) (o api.BulkOutcome) {
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("a bulk action panicked", "workload", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			o = api.BulkOutcome{ID: id, Problem: problem.Internal()}
		}
	}()
	return ask(ctx, id)
}

func (b *Actions) answered(a *Action, i int, o api.BulkOutcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.outcomes[i] = &o
	if o.Problem != nil {
		a.About.Refused++
	} else {
		a.About.Done++
	}
}

// List is how far all have come, the newest first.
func (b *Actions) List() []api.BulkAction {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]api.BulkAction, 0, len(b.all))
	for _, a := range slices.Backward(b.all) {
		out = append(out, a.About)
	}
	return out
}

// With calls f with the action of an id, or says what has become of it.
func (b *Actions) With(id string, f func(*Action)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.all {
		if a.About.ID == id {
			f(a)
			return nil
		}
	}
	if boot, number, ok := strings.Cut(id, "-"); ok {
		if n, err := strconv.Atoi(number); boot != b.boot && err == nil {
			return problem.New(http.StatusGone, "not_found", "the server has started again since bulk action "+strconv.Quote(id)+", which has ended it", "what it had done stays done; ask for the rest again")
		} else if err == nil && n > 0 && n <= b.count {
			return problem.New(http.StatusGone, "not_found", "bulk action "+strconv.Quote(id)+" ended too long ago for its outcomes to be kept", "muster get shows the workloads as they are")
		}
	}
	return problem.New(http.StatusNotFound, "not_found", "there is no bulk action "+strconv.Quote(id), "GET /v1/bulk-actions lists them")
}

// Cancel lets no further workload be asked.
func (a *Action) Cancel() {
	select {
	case <-a.cancel:
	default:
		close(a.cancel)
	}
}

// Page is what workloads answered, from the place of a cursor on, and the place
// after it; 0: that was all.
func (a *Action) Page(from, limit int, refused bool) (out []api.BulkOutcome, next int) {
	for i := from; i < len(a.outcomes); i++ {
		o := a.outcomes[i]
		if o == nil || refused && o.Problem == nil {
			continue
		}
		if len(out) == limit {
			return out, i
		}
		out = append(out, *o)
	}
	return out, 0
}
