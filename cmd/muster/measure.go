package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/nodepast"
	"github.com/musterhq/muster/internal/program"
	"github.com/musterhq/muster/internal/reported"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/telemetry"
	"github.com/musterhq/muster/internal/timeseries"
	"github.com/musterhq/muster/internal/waited"
)

// saveEvery is how often the day of measurements is written to disk; a crash
// loses what came since.
const saveEvery = 10 * time.Minute

// measured is the day of measurements, which outlives the process.
type measured struct {
	*timeseries.Store
	path string
	log  *slog.Logger
}

func openMeasured(o cli.ServerOptions, log *slog.Logger) *measured {
	m := &measured{
		Store: timeseries.New(timeseries.Options{Step: o.Monitor.SampleEvery, Max: o.Monitor.SeriesMemory}),
		path:  filepath.Join(o.DataDir, "series"), log: log,
	}
	if err := m.Load(m.path, time.Now()); err != nil {
		log.Warn("charts begin anew: what was measured before cannot be read", "err", err)
	}
	return m
}

// run writes it now and then until ctx is done, and once more then.
func (m *measured) run(ctx context.Context) {
	nowAndThen(ctx, func() {
		if err := m.Save(m.path); err != nil {
			m.log.Warn("what was measured may be lost with this process", "err", err)
		}
	})
}

// nowAndThen saves every saveEvery until ctx is done, and once more then.
func nowAndThen(ctx context.Context, save func()) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-tick.C:
		}
		save()
	}
}

// keepEvery is how often the curves of what is reported are written to disk; a crash
// loses what came since. sweepEvery is how often those go whose workloads are gone.
const (
	keepEvery  = 30 * time.Second
	sweepEvery = time.Hour
)

// curves are what tasks have reported, which outlives the process.
type curves struct {
	*reported.Store
	in  store.Store
	log *slog.Logger
}

func openReported(o cli.ServerOptions, in store.Store, log *slog.Logger) (*curves, error) {
	s, err := reported.Open(filepath.Join(o.DataDir, "reported"))
	return &curves{s, in, log}, err
}

// run writes them now and then until ctx is done, and once more then.
func (c *curves) run(ctx context.Context) {
	tick, sweep := time.NewTicker(keepEvery), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-tick.C:
		case <-sweep.C:
			c.sweep(ctx)
			continue
		}
		if err := c.Save(time.Now()); err != nil {
			c.log.Warn("the newest of what tasks report may be lost with this process", "err", err)
		}
	}
}

func (c *curves) sweep(ctx context.Context) {
	err := c.Sweep(func(id string) (bool, error) {
		w, err := c.in.Workload(ctx, core.WorkloadID(id))
		if errors.Is(err, store.ErrNotFound) {
			return true, nil
		}
		return err == nil && w.Phase == lifecycle.Deleted, err
	})
	if err != nil && ctx.Err() == nil {
		c.log.Warn("curves of workloads that are gone take room", "err", err)
	}
}

// reasons are for what workloads have waited, which outlives the process.
type reasons struct {
	*waited.Ledger
	log *slog.Logger
}

func openWaited(o cli.ServerOptions, log *slog.Logger) *reasons {
	l := waited.New(filepath.Join(o.DataDir, "waited.json"))
	if err := l.Load(); err != nil {
		log.Warn("for what workloads have waited is counted anew", "err", err)
	}
	return &reasons{l, log}
}

// run writes it now and then until ctx is done, and once more then.
func (r *reasons) run(ctx context.Context) {
	nowAndThen(ctx, func() {
		if err := r.Save(); err != nil {
			r.log.Warn("for what workloads have waited lately may be lost with this process", "err", err)
		}
	})
}

// nodesPast is how well nodes were, which outlives the process.
type nodesPast struct {
	*nodepast.Ledger
	log *slog.Logger
}

func openNodesPast(o cli.ServerOptions, log *slog.Logger) *nodesPast {
	l := nodepast.New(filepath.Join(o.DataDir, "nodes-past.json"))
	if err := l.Load(); err != nil {
		log.Warn("how well nodes were is known from now on only", "err", err)
	}
	return &nodesPast{l, log}
}

// run writes it now and then until ctx is done, and once more then.
func (n *nodesPast) run(ctx context.Context) {
	nowAndThen(ctx, func() {
		if err := n.Save(); err != nil {
			n.log.Warn("how well nodes were lately may be lost with this process", "err", err)
		}
	})
}

// openTracer is what tells traces, and what tasks are given for theirs; nil: they
// are not wanted.
func openTracer(o cli.ServerOptions, log *slog.Logger) (*telemetry.Tracer, func(*core.Workload) []string) {
	if o.Monitor.OTLP == "" {
		return nil, nil
	}
	return telemetry.NewTracer(telemetry.TraceOptions{Endpoint: o.Monitor.OTLP, Headers: o.Monitor.OTLPHeaders, Version: program.Version().Version, Log: log}), telemetry.TraceEnv
}

func tracing(t *telemetry.Tracer, c *control.Control) func(context.Context) {
	return func(ctx context.Context) {
		if t != nil {
			t.Run(ctx, c)
		}
	}
}
