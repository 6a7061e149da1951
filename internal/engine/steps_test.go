package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// TestStepsOfAScriptAreKeptWithItsTask: each once, up to a bound, and while the
// attempt lasts.
func TestStepsOfAScriptAreKeptWithItsTask(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := ask(o, o.submit(`{"name":"a","command":["fake"]}`)).Workload
	o.seen(opens, w.ID, 0, core.TaskRunning)
	task := core.TaskID{Workload: w.ID}
	says := func(id int, name string) draft.Work {
		return submission.NoteStep(submission.StepReport{Task: task, Step: core.JobStep{ID: id, Name: name, Tasks: 2, CPUs: 3, On: []int{0}}})
	}
	ends := func(id, code int) draft.Work {
		return submission.NoteStep(submission.StepReport{Task: task, Ended: true, Step: core.JobStep{ID: id, ExitCode: code}})
	}
	kept := func() []core.JobStep {
		t.Helper()
		all, err := o.st.Tasks(t.Context(), w.ID, 0)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0].Steps
	}
	at := opens.Add(time.Minute)
	o.at(at, says(0, "a"))
	o.at(at.Add(time.Second), says(0, "another"))
	o.at(at.Add(2*time.Second), ends(0, 3))
	o.at(at.Add(3*time.Second), ends(0, 4))
	o.at(at.Add(3*time.Second), ends(7, 4))
	got := kept()
	if len(got) != 1 || got[0].Name != "a" || got[0].Tasks != 2 || got[0].CPUs != 3 || len(got[0].On) != 1 || got[0].ExitCode != 3 || !got[0].StartedAt.Equal(at) || !got[0].EndedAt.Equal(at.Add(2*time.Second)) {
		t.Errorf("%+v", got)
	}
	for id := 1; id < 600; id++ {
		o.at(at.Add(4*time.Second), says(id, "b"))
	}
	if got := kept(); len(got) != 500 || got[499].ID != 499 || !got[499].EndedAt.IsZero() {
		t.Errorf("%d steps are kept", len(got))
	}
	// What is not there, and what is over.
	for _, wrong := range []core.TaskID{{Workload: w.ID, Index: 1}, {Workload: w.ID, Attempt: 1}} {
		err := o.e.Do(t.Context(), at.Add(5*time.Second), []draft.Work{submission.NoteStep(submission.StepReport{Task: wrong, Step: core.JobStep{Name: "c"}})})[0]
		var e *draft.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, "attempt") || e.Hint == "" {
			t.Error(wrong, err)
		}
	}
}
