package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
)

// TraceOptions say where traces go.
type TraceOptions struct {
	Endpoint string   // of an OTLP/HTTP receiver; /v1/traces is added to it
	Headers  []string // NAME=VALUE, of every request
	Version  string   // of this program
	Log      *slog.Logger
}

// Tracer tells each workload's life as a trace: the workload is the root, its
// attempts are below it, and their steps below them. One that is run again after
// its end has another root: what was told of the first is told.
type Tracer struct {
	o      TraceOptions
	url    string
	http   *http.Client
	walker *walker
	queue  []span
	pause  time.Duration
	warned time.Time
}

const (
	spansMost  = 20_000 // that wait to be sent; beyond it the oldest are lost
	spansBatch = 512
	sendEvery  = 2 * time.Second
	pauseMost  = time.Minute
)

// NewTracer returns a tracer; Run starts it.
func NewTracer(o TraceOptions) *Tracer {
	at := strings.TrimSuffix(o.Endpoint, "/")
	if !strings.HasSuffix(at, "/v1/traces") {
		at += "/v1/traces"
	}
	return &Tracer{o: o, url: at, http: &http.Client{}, walker: newWalker()}
}

// TraceEnv is what a task of an attempt is given so that its own spans belong to
// its trace.
func TraceEnv(w *core.Workload) []string {
	trace, parent := traceOf(w.ID), attemptSpan(w.ID, w.Attempt)
	attributes := []string{"muster.workload.id=" + string(w.ID), "muster.workload.name=" + w.Name, "muster.project=" + string(w.Project), "muster.attempt=" + strconv.Itoa(w.Attempt)}
	for i, a := range attributes {
		k, v, _ := strings.Cut(a, "=")
		attributes[i] = k + "=" + url.PathEscape(v)
	}
	return []string{
		"TRACEPARENT=00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(parent[:]) + "-01",
		"OTEL_RESOURCE_ATTRIBUTES=" + strings.Join(attributes, ","),
	}
}

// Identities follow from the workload's, so that a restarted server, and tasks
// that were started before it, speak of the same trace.
func traceOf(id core.WorkloadID) (out [16]byte) {
	sum := sha256.Sum256([]byte("muster trace " + id))
	copy(out[:], sum[:])
	return out
}

func spanOf(of string) (out [8]byte) {
	sum := sha256.Sum256([]byte("muster span " + of))
	copy(out[:], sum[:])
	return out
}

// rootSpan is the root over the attempts that begin with one of that number.
func rootSpan(id core.WorkloadID, first int) [8]byte {
	if first == 0 {
		return spanOf(string(id))
	}
	return spanOf(fmt.Sprintf("%s/from/%d", id, first))
}

// firstOf is the attempt with which a workload was begun, or run again after its
// end, to which another attempt belongs.
func firstOf(w *core.Workload, attempt int) int {
	for ; attempt > 0; attempt-- {
		if attempt < len(w.Attempts) && w.Attempts[attempt].Anew {
			break
		}
	}
	return attempt
}

func attemptSpan(id core.WorkloadID, attempt int) [8]byte {
	return spanOf(fmt.Sprintf("%s/%d", id, attempt))
}

// Run tells what happens until ctx is done.
func (t *Tracer) Run(ctx context.Context, c *control.Control) {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	sub := c.Subscribe()
	defer func() { sub.Close() }()
	var next time.Time
	for {
		select {
		case <-ctx.Done():
			for changes := range drained(sub.C) {
				t.record(changes)
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			t.send(last)
			return
		case changes, ok := <-sub.C:
			if !ok { // we were too slow: what was missed is not told
				sub = c.Subscribe()
				t.walker = newWalker()
				continue
			}
			t.record(changes)
			if len(t.queue) < spansBatch {
				continue
			}
		case <-tick.C:
		}
		if now := time.Now(); !now.Before(next) {
			t.send(ctx)
			next = now.Add(t.pause)
		}
	}
}

// drained yields what is in a channel already.
func drained(c <-chan []draft.Change) func(func([]draft.Change) bool) {
	return func(yield func([]draft.Change) bool) {
		for {
			select {
			case x, ok := <-c:
				if !ok || !yield(x) {
					return
				}
			default:
				return
			}
		}
	}
}

// record makes spans of what has ended.
func (t *Tracer) record(changes []draft.Change) {
	for i := range changes {
		ch := &changes[i]
		for _, s := range t.walker.walk(ch) {
			id, parent := ch.Workload.ID, attemptSpan(ch.Workload.ID, s.Attempt)
			if s.Name == StepRest { // between two attempts
				parent = rootSpan(id, firstOf(ch.Workload, s.Attempt))
			}
			t.add(span{
				trace: traceOf(id), id: spanOf(fmt.Sprintf("%s/%d/%s/%d", id, s.Attempt, s.Name, s.From.UnixNano())), parent: parent,
				name: s.Name, from: s.From, to: s.To, attributes: reasonAttributes(s.Reason, s.Message),
			})
		}
		for j := range ch.Transitions {
			t.step(ch.Workload, &ch.Transitions[j])
		}
	}
}

func reasonAttributes(r lifecycle.Reason, message string) []otlpAttribute {
	var out []otlpAttribute
	if r != lifecycle.ReasonNone {
		out = append(out, text("muster.reason", string(r)))
	}
	if message != "" {
		out = append(out, text("muster.message", message))
	}
	return out
}

// step tells attempts and workloads that a transition has ended.
func (t *Tracer) step(w *core.Workload, tr *core.Transition) {
	if tr.To.End() && tr.To != lifecycle.Deleted && !tr.From.End() {
		first := firstOf(w, tr.Attempt)
		from := w.CreatedAt
		if first > 0 {
			from = w.Attempts[first].QueuedAt
		}
		t.attempts(w, tr, first)
		good := tr.To == lifecycle.Completed || tr.To == lifecycle.Stopped || tr.To == lifecycle.Canceled
		t.add(span{
			trace: traceOf(w.ID), id: rootSpan(w.ID, first), name: "workload " + w.Name, from: from, to: tr.At, failed: !good, message: tr.Message,
			attributes: append([]otlpAttribute{
				text("muster.workload.id", string(w.ID)), text("muster.workload.name", w.Name), text("muster.project", string(w.Project)),
				text("muster.user", w.User), text("muster.kind", string(w.Kind)), text("muster.phase", string(tr.To)),
				number("muster.gpus", int64(w.Spec.TotalGPUs())), number("muster.gpu_seconds", int64(w.GPUSeconds)),
			}, reasonAttributes(tr.Reason, "")...),
		})
	}
}

// attempts tells the attempts of a workload that has ended, from the first that
// was not told before.
func (t *Tracer) attempts(w *core.Workload, tr *core.Transition, first int) {
	for _, a := range w.Attempts[first:min(tr.Attempt+1, len(w.Attempts))] {
		from, to := a.QueuedAt, a.EndedAt
		if from.IsZero() {
			from = w.CreatedAt
		}
		if to.IsZero() {
			to = tr.At
		}
		s := span{
			trace: traceOf(w.ID), id: attemptSpan(w.ID, a.Index), parent: rootSpan(w.ID, first), name: fmt.Sprintf("attempt %d", a.Index), from: from, to: to,
			attributes: append([]otlpAttribute{number("muster.attempt", int64(a.Index))}, reasonAttributes(a.Reason, a.Message)...), message: a.Message,
		}
		if a.ExitCode != nil {
			s.attributes = append(s.attributes, number("process.exit.code", int64(*a.ExitCode)))
			s.failed = *a.ExitCode != 0
		}
		t.add(s)
	}
}

func (t *Tracer) add(s span) {
	if s.to.Before(s.from) {
		s.to = s.from
	}
	t.queue = append(t.queue, s)
	if n := len(t.queue) - spansMost; n > 0 {
		t.queue = t.queue[n:]
	}
}

// send sends what waits, as far as the receiver takes it.
func (t *Tracer) send(ctx context.Context) {
	for len(t.queue) > 0 {
		n := min(len(t.queue), spansBatch)
		again, err := t.post(ctx, t.queue[:n])
		if err != nil && time.Since(t.warned) > time.Minute {
			t.warned = time.Now()
			t.o.Log.Warn("traces are not sent", "err", err, "waiting", len(t.queue), "again", again)
		}
		if err != nil && again {
			t.pause = min(max(2*t.pause, sendEvery), pauseMost)
			return
		}
		t.queue, t.pause = t.queue[n:], 0 // sent, or never to be taken
	}
	t.queue = nil
}
