package telemetry

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/report"
)

// Meter counts what happens; it is a control.Meter and a prometheus.Collector.
// Everything is counted from when the server began.
type Meter struct {
	mu       sync.Mutex // of walker and names
	walker   *walker
	projects names
	reasons  names

	submitted, finished, attempts, preemptions, gpuSeconds *prometheus.CounterVec
	queueWait, cycle, estimate                             prometheus.Histogram
	phases                                                 *prometheus.HistogramVec
}

var (
	_ draft.Meter          = (*Meter)(nil)
	_ prometheus.Collector = (*Meter)(nil)
)

// LabelsMost bounds how many projects, and how many reasons, have series of
// their own in what is counted; the rest is counted as Other.
const LabelsMost = 500

// Other stands for all labels beyond LabelsMost.
const Other = "other"

// waits are bounds of what takes from a second to days.
var waits = []float64{0.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}

// NewMeter returns a meter that has counted nothing.
func NewMeter() *Meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_" + name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: "muster_" + name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour}
	}
	m := &Meter{
		walker: newWalker(), projects: names{}, reasons: names{},
		submitted:   counter("runs_submitted_total", "Workloads submitted.", "project"),
		finished:    counter("runs_finished_total", "Workloads that have ended, by the phase that they ended in and why.", "result", "reason"),
		attempts:    counter("run_attempts_total", "Attempts that have ended, by why; empty: its tasks were done.", "reason"),
		preemptions: counter("preemptions_total", "Attempts that had to leave for others, by the scheduler's right to it, or since a person or a drain asked.", "cause"),
		gpuSeconds:  counter("gpu_seconds_total", "GPU time by what became of it: productive (held, and not seen idle), idle (held, and seen doing nothing), lost (of the former two, what an attempt that failed or had to leave did since its last checkpoint), queued (waited for).", "project", "kind"),
		queueWait:   prometheus.NewHistogram(histogram("queue_wait_seconds", "From when an attempt was queued until it had its place.", waits)),
		phases:      prometheus.NewHistogramVec(histogram("start_phase_seconds", "How long each step before the command took.", waits), []string{"phase"}),
		cycle:       prometheus.NewHistogram(histogram("scheduler_cycle_seconds", "How long the scheduler took to plan.", []float64{1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 5})),
		estimate: prometheus.NewHistogram(histogram("estimate_error_seconds", "How long after the middle of the range that was first told an attempt started; negative: before.",
			[]float64{-86400, -14400, -3600, -900, -300, -60, -10, 0, 10, 60, 300, 900, 3600, 14400, 86400})),
	}
	for _, cause := range lifecycle.Displacements() {
		m.preemptions.WithLabelValues(string(cause))
	}
	return m
}

func (m *Meter) all() []prometheus.Collector {
	return []prometheus.Collector{m.submitted, m.finished, m.attempts, m.preemptions, m.gpuSeconds, m.queueWait, m.phases, m.cycle, m.estimate}
}

// Describe implements prometheus.Collector.
func (m *Meter) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Meter) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}

// names are labels that have been given out.
type names map[string]struct{}

// of is the label of a name.
func (n names) of(name string) string {
	if _, ok := n[name]; ok {
		return name
	}
	if len(n) >= LabelsMost {
		return Other
	}
	n[name] = struct{}{}
	return name
}

// Committed implements control.Meter.
func (m *Meter) Committed(changes []draft.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range changes {
		ch := &changes[i]
		for _, s := range m.walker.walk(ch) {
			if s.Name != StepRun && s.Name != StepEnd && s.Name != StepRest {
				m.phases.WithLabelValues(s.Name).Observe(s.To.Sub(s.From).Seconds())
			}
		}
		for j := range ch.Transitions {
			m.step(ch, &ch.Transitions[j])
		}
	}
}

// step counts one transition.
func (m *Meter) step(ch *draft.Change, t *core.Transition) {
	w := ch.Workload
	project := m.projects.of(string(w.Project))
	if t.From == lifecycle.None && t.Event == lifecycle.Submit {
		m.submitted.WithLabelValues(project).Inc()
	}
	if t.To == lifecycle.Starting && t.Attempt < len(w.Attempts) {
		if a := w.Attempts[t.Attempt]; !a.QueuedAt.IsZero() {
			m.queueWait.Observe(max(t.At.Sub(a.QueuedAt).Seconds(), 0))
		}
	}
	leaves := (t.Event == lifecycle.Preempt || t.Event == lifecycle.Move) && t.To == lifecycle.Terminating
	if leaves && (t.Cause == lifecycle.CausePerson || t.Cause == lifecycle.CauseDrain || t.Cause == lifecycle.CauseBudget) { // the rest the scheduler tells of itself
		m.preemptions.WithLabelValues(string(t.Cause)).Inc()
	}
	reason := m.reasons.of(string(t.Reason))
	if t.From == lifecycle.Terminating {
		m.attempts.WithLabelValues(reason).Inc()
		if lost := lost(ch, t); lost > 0 {
			m.gpuSeconds.WithLabelValues(project, "lost").Add(lost)
		}
	}
	if t.To.End() && t.To != lifecycle.Deleted && !t.From.End() {
		m.finished.WithLabelValues(strings.ToLower(string(t.To)), reason).Inc()
	}
}

// lost is the GPU time that has to be spent again of the attempt that a transition
// has ended, in seconds.
func lost(ch *draft.Change, t *core.Transition) float64 {
	attempt := t.Attempt
	if t.To == lifecycle.Queued || t.To == lifecycle.Backoff { // the next attempt has begun with it
		attempt = attemptBefore(ch, t)
	}
	if attempt >= len(ch.Workload.Attempts) {
		return 0
	}
	sum := 0.0
	for _, list := range [][]*core.Task{ch.Former, ch.Tasks} {
		for _, k := range list {
			if k.ID.Attempt == attempt {
				sum += ch.Workload.Attempts[attempt].LostGPU(k)
			}
		}
	}
	return sum
}

// attemptBefore is the attempt that a transition has ended.
func attemptBefore(ch *draft.Change, t *core.Transition) int {
	for _, k := range ch.Former {
		if k.ID.Attempt < t.Attempt {
			return t.Attempt - 1
		}
	}
	return t.Attempt
}

// Displaced implements control.Meter.
func (m *Meter) Displaced(cause lifecycle.Cause) { m.preemptions.WithLabelValues(string(cause)).Inc() }

// Planned implements control.Meter.
func (m *Meter) Planned(took time.Duration) { m.cycle.Observe(took.Seconds()) }

// Estimated implements control.Meter.
func (m *Meter) Estimated(off time.Duration) { m.estimate.Observe(off.Seconds()) }

// Counted implements control.Meter.
func (m *Meter) Counted(n *report.Census, span time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range n.Holdings {
		h := &n.Holdings[i]
		kind := "productive"
		if h.Use == report.UseIdle {
			kind = "idle"
		}
		m.gpuSeconds.WithLabelValues(m.projects.of(string(h.Project)), kind).Add(span.Seconds() * float64(h.Milli) / 1000)
	}
	for _, p := range n.Projects {
		if p.WaitingGPUs > 0 {
			m.gpuSeconds.WithLabelValues(m.projects.of(string(p.Project)), "queued").Add(span.Seconds() * float64(p.WaitingGPUs))
		}
	}
}
