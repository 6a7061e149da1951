package sim

import (
	"cmp"
	"context"
	"slices"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/store"
)

// inquireEvery is after how many steps everything is asked that users may ask, and
// inquireOf of how many who wait.
const inquireEvery, inquireOf = 40, 3

// inquire records what the engine answers to those who look on.
func (w *World) inquire() {
	if w.engine == nil || w.record == nil || w.steps%inquireEvery != 0 {
		return
	}
	entries, err := w.memory.Live(context.Background())
	if err != nil {
		w.fail("%w", err)
	}
	slices.SortFunc(entries, func(a, b store.Entry) int { return cmp.Compare(a.Workload.ID, b.Workload.ID) })
	asked := 0
	for _, e := range entries {
		if e.Workload.Phase == lifecycle.Queued && asked < inquireOf {
			asked++
			if s := answerOf(w, explanation.StudyOf(draft.Ref{ID: e.Workload.ID})); s != nil {
				w.recorded("answers", s.Answer())
			}
		}
	}
	w.recorded("answers", answerOf(w, report.Cluster()))
	w.recorded("answers", answerOf(w, report.Clusters()))
	w.recorded("answers", answerOf(w, report.WhoHolds()))
	w.recorded("answers", answerOf(w, report.Standings()))
	w.recorded("answers", answerOf(w, report.TakeCensus()))
}

// answerOf is what a question is answered; a refusal is recorded.
func answerOf[R any](w *World, command draft.Command[R]) R {
	q := draft.Question[R]{Command: command}
	if err := w.engine.Do(context.Background(), w.clock(), []draft.Work{&q})[0]; err != nil {
		w.recorded("errors", err)
	}
	return q.Answer
}
