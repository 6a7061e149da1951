package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// picky is a backend that answers, and fails to start what is called bad.
type picky struct {
	*fakebackend.Backend
	mu      sync.Mutex
	healed  bool
	started map[string]bool // names of what was started
}

func (p *picky) Start(ctx context.Context, tasks []backend.Assignment) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, a := range tasks {
		if strings.HasPrefix(a.About.Name, "bad") && !p.healed {
			err = errors.Join(err, fmt.Errorf("start %s: too many open files in system", a.About.Name))
			continue
		}
		p.started[a.About.Name] = true
		err = errors.Join(err, p.Backend.Start(ctx, []backend.Assignment{a}))
	}
	return err
}

func (p *picky) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.healed = true
}

func (p *picky) has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started[name]
}

// onPicky runs f with a control plane over such a backend, in time of its own.
func onPicky(t *testing.T, f func(t *testing.T, c *control.Control, p *picky, st store.Store)) {
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New()
		random := rand.New(rand.NewSource(1))
		p := &picky{Backend: fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 64000, 64<<30, 0, "")}), started: map[string]bool{}}
		c, err := control.New(context.Background(), control.Options{Deps: draft.Deps{
			Store: st, Holder: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Elapsed: func() time.Duration { return 0 },
			NewID: naming.NewID(random), NewName: naming.NewName(random), Port: func() int { return 29500 },
		}}, []backend.Backend{p}, nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		<-c.Ready()
		defer func() { cancel(); <-ended }()
		f(t, c, p, st)
	})
}

func named(t *testing.T, c *control.Control, name string) *core.Workload {
	t.Helper()
	w, err := submit(t, c, `{"name":"`+name+`","command":["fake","run=forever"],"resources":{"cpu":"100m","memory":"1Mi"},"retry":{"system":0}}`)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func phase(t *testing.T, st store.Store, w *core.Workload) lifecycle.Phase {
	t.Helper()
	now, err := st.Workload(context.Background(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now.Phase
}

func stopIt(t *testing.T, c *control.Control, w *core.Workload) {
	t.Helper()
	if err := c.Apply(context.Background(), submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:u"})); err != nil {
		t.Fatal(err)
	}
}

func TestAStartThatFailsKeepsNobodyElseWaiting(t *testing.T) {
	onPicky(t, func(t *testing.T, c *control.Control, p *picky, st store.Store) {
		before := named(t, c, "before")
		time.Sleep(time.Second)
		bad := named(t, c, "bad")
		after := named(t, c, "after")
		time.Sleep(3 * time.Second)
		if !p.has("after") || phase(t, st, after) != lifecycle.Running {
			t.Errorf("what came behind it is %s", phase(t, st, after))
		}
		stopIt(t, c, before)
		time.Sleep(time.Minute / 2)
		if got := phase(t, st, before); !got.End() {
			t.Errorf("what was running and told to stop is %s", got)
		}
		if got := phase(t, st, bad); got != lifecycle.Starting {
			t.Errorf("it is %s already", got)
		}
		tasks, err := st.Tasks(context.Background(), bad.ID, 0)
		if err != nil || len(tasks) != 1 || !strings.Contains(tasks[0].Message, "too many open files") {
			t.Errorf("its task does not say why: %+v, %v", tasks, err)
		}
	})
}

func TestAStopTakesThePlaceOfAStartThatFails(t *testing.T) {
	onPicky(t, func(t *testing.T, c *control.Control, p *picky, st store.Store) {
		bad := named(t, c, "bad")
		time.Sleep(3 * time.Second)
		stopIt(t, c, bad)
		p.heal()
		time.Sleep(2 * time.Minute)
		if p.has("bad") {
			t.Error("it was started after its stop was acknowledged")
		}
		if got := phase(t, st, bad); !got.End() {
			t.Errorf("it is %s", got)
		}
	})
}

func TestAStartThatHealsIsCarriedOut(t *testing.T) {
	onPicky(t, func(t *testing.T, c *control.Control, p *picky, st store.Store) {
		bad := named(t, c, "bad")
		time.Sleep(20 * time.Second)
		p.heal()
		time.Sleep(10 * time.Second)
		if got := phase(t, st, bad); got != lifecycle.Running {
			t.Errorf("it is %s", got)
		}
	})
}

func TestAStartThatKeepsFailingIsGivenUp(t *testing.T) {
	onPicky(t, func(t *testing.T, c *control.Control, p *picky, st store.Store) {
		bad := named(t, c, "bad")
		time.Sleep(10 * time.Minute)
		w, err := st.Workload(context.Background(), bad.ID)
		if err != nil {
			t.Fatal(err)
		}
		if w.Phase != lifecycle.Failed || !strings.Contains(w.Message, "too many open files") {
			t.Errorf("after ten minutes it is %s: %s", w.Phase, w.Message)
		}
		p.heal()
		time.Sleep(time.Minute)
		if p.has("bad") {
			t.Error("it was started after it was given up")
		}
	})
}
