package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// line is an array that runs two tasks at a time, of which those below next have ended.
type line struct {
	*office
	w    *core.Workload
	next int
}

func newLine(tb testing.TB, tasks int) *line {
	o := newOffice(tb, memstore.New())
	return &line{office: o, w: o.made(fmt.Sprintf(`{"name":"line","command":["fake"],"array":{"completions":%d,"parallelism":2},"retry":{"limit":0}}`, tasks))}
}

// goOn has n more of its tasks end, one after another.
func (l *line) goOn(n int) {
	for range n {
		id := core.TaskID{Workload: l.w.ID, Index: l.next}
		zero := 0
		l.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{
			{ID: id, State: core.TaskRunning, At: opens}, {ID: id, State: core.TaskSucceeded, ExitCode: &zero, At: opens.Add(time.Second)},
		}}))
		l.next++
	}
}

// BenchmarkLongArray is what the end of one task of an array costs the engine, its
// followers placed and all of it stored, when so many have ended before. At most
// 5,000 at a time: -benchtime 5000x.
func BenchmarkLongArray(b *testing.B) {
	for _, before := range []int{100, 10_000, 90_000} {
		b.Run(fmt.Sprint(before), func(b *testing.B) {
			l := newLine(b, 100_000)
			l.goOn(before)
			b.ReportAllocs()
			for b.Loop() {
				l.goOn(1)
			}
		})
	}
}

// TestWhatHasEndedCostsNothing: the end of a task takes about as much memory when
// 8,000 of the array have ended before as when a hundred have.
func TestWhatHasEndedCostsNothing(t *testing.T) {
	l := newLine(t, 10_000)
	taken := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l.goOn(200)
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 200
	}
	l.goOn(100)
	first := taken()
	l.goOn(8_000)
	if then := taken(); then > 3*first {
		t.Errorf("the end of a task takes %d bytes after 8,000 others, %d after a hundred", then, first)
	} else {
		t.Logf("%d bytes, then %d", first, then)
	}
}
