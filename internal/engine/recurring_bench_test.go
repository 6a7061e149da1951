package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/recurring"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/testing/memstore"

	"io"
	"log/slog"
	"math/rand"
)

// BenchmarkSchedules is what 10,000 schedules cost: a round in which none of them is
// due, and the list of a project that has a tenth of them.
func BenchmarkSchedules(b *testing.B) {
	random := rand.New(rand.NewSource(1))
	e, err := engine.Open(context.Background(), draft.Deps{
		Store: memstore.New(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Elapsed: func() time.Duration { return 0 },
		NewID: naming.NewID(random), NewName: naming.NewName(random), Port: func() int { return 1 },
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	do := func(work ...draft.Work) {
		b.Helper()
		for _, err := range e.Do(context.Background(), opens, work) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	for p := range 10 {
		project := fmt.Sprintf("p%d", p)
		do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: project, Project: func(*core.Project) error { return nil }}}, false))
		var all []draft.Work
		for n := range 1000 {
			s := every(fmt.Sprintf("%d %d * * *", n%60, n%24))
			s.Project, s.Name = core.ProjectID(project), fmt.Sprintf("s%d", n)
			if all = append(all, recurring.Put(s)); len(all) == 100 {
				do(all...)
				all = nil
			}
		}
	}
	do()
	b.Run("round", func(b *testing.B) {
		for b.Loop() {
			do()
			_ = e.NextWake()
		}
	})
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			do(recurring.List("p3"))
		}
	})
}
