//go:build linux

package chaos

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// observer sees what the server tells, and what the machine shows beside.
type observer struct {
	w *World

	mu       sync.Mutex
	streamed map[int64]api.Transition // by number
	ended    map[string]int           // attempts that have ended, by workload: all below
	scans    int
}

func newObserver(w *World) *observer {
	return &observer{w: w, streamed: map[int64]api.Transition{}, ended: map[string]int{}}
}

// listen notes every transition that the server tells, from one server to the next.
func (o *observer) listen(ctx context.Context) {
	for e, err := range o.w.host.conn.Watch(ctx, client.WatchOptions{}) {
		if err != nil {
			o.w.found(Violation{Kind: Refused, Who: "watch", Detail: err.Error()})
			return
		}
		if e.Workload != nil {
			o.note(e.Workload)
		}
	}
}

// note takes over what is told of a workload. Whoever is told that an attempt
// is over may take it that nothing of it lives.
func (o *observer) note(w *api.Workload) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range w.Transitions {
		t.Workload, t.Word = w.ID, ""
		o.streamed[t.Seq] = t
	}
	over := w.Attempt
	if w.EndedAt != nil || w.Phase == "Deleted" || w.Phase == "Deleting" {
		over++
	}
	o.ended[w.ID] = max(o.ended[w.ID], over)
}

// look looks at the living tasks again and again.
func (o *observer) look(ctx context.Context, every time.Duration) {
	for ctx.Err() == nil {
		o.once()
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// mourning is how long after its end something of a task may still be there.
// Nothing should be; but what is told and what is seen come by two ways.
const mourning = 2 * time.Second

func (o *observer) once() {
	o.mu.Lock()
	o.scans++
	over := make(map[string]int, len(o.ended))
	for id, n := range o.ended {
		over[id] = n
	}
	o.mu.Unlock()
	all := scan(o.w.name)
	for device, who := range overbooked(all) {
		o.w.found(Violation{Kind: HeldTwice, Who: "device " + device, Detail: "at the same time alive: " + runs(who)})
	}
	for _, p := range all {
		if p.run.Attempt >= over[p.run.Workload] {
			continue
		}
		if !waitFor(mourning, func() bool { return !p.lives() }) {
			o.w.found(Violation{Kind: Alive, Who: p.run.String(), Detail: "a process of it lives on after its end was told"})
		}
	}
}

func runs(all []Run) string {
	var names []string
	for _, r := range all {
		names = append(names, r.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
