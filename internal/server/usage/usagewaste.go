package usage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/timeseries"
)

// Bounds of what is looked at for one answer.
const (
	wasteUses      = 100_000 // uses of devices
	wasteWorkloads = 5000    // that are read for what they lost
)

// waste finds what of charged time came to nothing. A nil one does nothing.
type waste struct {
	s         *routes
	now       time.Time
	uses      []core.Use // of one span, to be told
	looked    int
	workloads map[core.WorkloadID]*core.Workload
	cut       bool
}

func (s *routes) newWaste(now time.Time) *waste {
	return &waste{s: s, now: now, workloads: map[core.WorkloadID]*core.Workload{}}
}

// note keeps a use for tell: while uses are read, nothing else may be.
func (x *waste) note(u core.Use) {
	switch {
	case x == nil:
	case x.looked >= wasteUses:
		x.cut = true
	default:
		x.looked++
		x.uses = append(x.uses, u)
	}
}

// sum tells of what was noted since the last time.
func (x *waste) sum(ctx context.Context, each func(u core.Use, idle, lost float64)) error {
	if x == nil {
		return nil
	}
	for i := range x.uses {
		u := &x.uses[i]
		w, err := x.workload(ctx, u.Workload)
		if err != nil {
			return err
		}
		if idle, lost := x.idle(u), lostOf(w, u); idle+lost > 0 {
			each(*u, idle, lost)
		}
	}
	x.uses = x.uses[:0]
	return nil
}

// workload reads one; nil: it is gone, or too many were asked for.
func (x *waste) workload(ctx context.Context, id core.WorkloadID) (*core.Workload, error) {
	if w, known := x.workloads[id]; known {
		return w, nil
	}
	if len(x.workloads) >= wasteWorkloads {
		x.cut = true
		return nil, nil
	}
	w, err := x.s.Store.Workload(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		w, err = nil, nil
	}
	if err == nil {
		x.workloads[id] = w
	}
	return w, err
}

// idle is for how long the device was seen doing nothing, in device-seconds, as
// far back as that is kept.
func (x *waste) idle(u *core.Use) float64 {
	from := u.From
	if kept := x.now.Add(-timeseries.Day); kept.After(from) {
		from = kept
	}
	if !from.Before(u.To) {
		return 0
	}
	r := x.s.Control.Series().Range(from, u.To, 0, x.now)
	sum := 0.0
	for i, v := range x.s.Control.Series().Query(timeseries.Key{Of: control.SeriesOfDevice(u.Node, u.Device), Metric: control.GPUBusy}, r) {
		if v != 0 || math.IsNaN(v) {
			continue
		}
		begin := r.From.Add(time.Duration(i) * r.Step)
		sum += overlap(begin, begin.Add(r.Step), from, u.To)
	}
	return sum * float64(u.Milli) / 1000
}

// overlap is how long two spans have in common, in seconds.
func overlap(a, b, from, to time.Time) float64 {
	if a.Before(from) {
		a = from
	}
	if b.After(to) {
		b = to
	}
	return max(b.Sub(a).Seconds(), 0)
}

// left reports whether the attempt of a use had to leave its place for others, or with
// its node, rather than that it failed.
func (x *waste) left(u core.Use) bool {
	w := x.workloads[u.Workload]
	if w == nil || u.Attempt >= len(w.Attempts) {
		return false
	}
	a := &w.Attempts[u.Attempt]
	return a.Event == lifecycle.NodeLost || slices.Contains(lifecycle.Displacements(), a.Cause)
}

// lostOf is what of a use has to be spent again, in device-seconds.
func lostOf(w *core.Workload, u *core.Use) float64 {
	if w == nil || u.Attempt >= len(w.Attempts) {
		return 0
	}
	return w.Attempts[u.Attempt].Lost(u.Succeeded, u.From, u.To).Seconds() * float64(u.Milli) / 1000
}

// missing says what is not known.
func (x *waste) missing() []string {
	if x == nil {
		return nil
	}
	out := x.s.Control.Missing()
	if x.cut {
		out = append(out, fmt.Sprintf("what was idle and lost is of the first %d devices' uses and %d workloads only; a shorter time tells all", wasteUses, wasteWorkloads))
	}
	return out
}
