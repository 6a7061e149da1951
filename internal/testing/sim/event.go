package sim

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is something that happens at an instant of virtual time.
type event struct {
	at  time.Time
	seq int // those of one instant happen in the order in which they were made
	run func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(e[i].at.Compare(e[j].at), cmp.Compare(e[i].seq, e[j].seq)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push serves container/heap.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop serves container/heap.
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func (e *events) pop() event { return heap.Pop(e).(event) }

// after makes something happen in d.
func (w *World) after(d time.Duration, run func()) {
	w.trace.made++
	heap.Push(&w.events, event{w.now.Add(d), w.trace.made, run})
}

// soon makes the present server do something in d, unless it ends before.
func (w *World) soon(d time.Duration, run func()) {
	life := w.life
	w.after(d, func() {
		if w.life == life && w.engine != nil {
			run()
		}
	})
}

// happens is true with that probability, and never in a faultless world.
func (w *World) happens(p float64) bool { return !w.faultless && w.chance.Float64() < p }

// upTo is some time from 0 to most; mostly little.
func (w *World) upTo(most time.Duration) time.Duration {
	if w.faultless {
		return 0
	}
	f := w.chance.Float64()
	return time.Duration(f * f * f * float64(most)).Truncate(time.Microsecond)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// trace is what has happened.
type trace struct {
	lines []string
	sum   hash.Hash64
	made  int // events
}

func (t *trace) note(now time.Time, format string, args ...any) {
	line := fmt.Sprintf("%12s  ", now.Sub(Epoch)) + fmt.Sprintf(format, args...)
	if t.sum == nil {
		t.sum = fnv.New64a()
	}
	t.sum.Write([]byte(line))
	t.lines = append(t.lines, line)
}

func (t *trace) hash() uint64 {
	if t.sum == nil {
		return 0
	}
	return t.sum.Sum64()
}

func (t *trace) text() string { return strings.Join(t.lines, "\n") }

// errorLog makes an error that the engine logs a broken promise: it logs one
// only for what should be impossible, and for commits that failed.
type errorLog struct{ world *World }

// Enabled implements slog.Handler.
func (l *errorLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements slog.Handler.
func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "commit failed" && l.world.disk.failed {
		return nil
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	l.world.fail("the engine logged: %s", text)
	return nil
}

// WithAttrs implements slog.Handler.
func (l *errorLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *errorLog) WithGroup(string) slog.Handler { return l }
