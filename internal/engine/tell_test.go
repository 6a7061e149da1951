package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// saves tells of a checkpoint of w, so that it may be made to leave for a better
// order.
func (o *office) saves(now time.Time, w *core.Workload) {
	o.t.Helper()
	o.at(now, submission.Note(submission.SelfReport{Ref: draft.Ref{ID: w.ID}, Attempt: -1, Checkpoint: &core.Checkpoint{Path: "/c"}}))
}

// TestProgressIsSaidNowAndThen: what is more is refused, but for what is said
// once.
func TestProgressIsSaidNowAndThen(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := ask(o, o.submit(`{"name":"a","command":["fake"],"notifications":[{"webhook":"http://h/x","on":["mcli:RUNNING","Running"]}]}`)).Workload
	o.seen(opens, w.ID, 0, core.TaskRunning)
	o.sends("x mcli:RUNNING: Running/")
	at := opens.Add(time.Minute)
	says := func(step int64, task int) draft.Work {
		return submission.Note(submission.SelfReport{Ref: draft.Ref{ID: w.ID}, Progress: &core.Progress{Step: step, Task: task}})
	}
	o.at(at, says(1, 0))
	for task := range 2 { // another task is no way around it
		err := o.e.Do(t.Context(), at.Add(99*time.Millisecond), []draft.Work{says(2, task)})[0]
		var e *draft.Error
		if !errors.As(err, &e) || e.Code != draft.CodeTooOften || !strings.Contains(e.Message, "99ms ago") || e.Hint == "" {
			t.Error(task, err)
		}
	}
	o.at(at.Add(99*time.Millisecond), submission.Note(submission.SelfReport{Ref: draft.Ref{ID: w.ID}, Checkpoint: &core.Checkpoint{Path: "/c"}}))
	o.at(at.Add(100*time.Millisecond), says(3, 0))
	o.at(at.Add(200*time.Millisecond), says(4, 1))
	o.at(at.Add(time.Millisecond), says(5, 1)) // a clock that was set back
	got, err := o.st.Workload(t.Context(), w.ID)
	if err != nil || got.Progress.Step != 5 {
		t.Errorf("%+v, %v", got.Progress, err)
	}
	o.sends("x mcli:RUNNING: Running/")
}

func TestMetadataOfADocumentIsThereFromTheBeginning(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(`{"name":"a","command":["fake"],"metadata":{"dataset":"v3","n":{"x":[1,2.50]},"gone":null}}`)
	if got := o.is(w.ID, lifecycle.Starting).Metadata; len(got) != 2 || string(got["dataset"]) != `"v3"` || string(got["n"]) != `{"x":[1,2.50]}` {
		t.Errorf("%s", got)
	}
	o.do(submission.Note(submission.SelfReport{Ref: draft.Ref{ID: w.ID}, Attempt: -1, Metadata: map[string]json.RawMessage{"dataset": []byte(`"v4"`)}}))
	if got := o.is(w.ID, lifecycle.Starting).Metadata; string(got["dataset"]) != `"v4"` {
		t.Errorf("%s", got)
	}
	long := strings.Repeat("k", 1000)
	o.refused(draft.CodeInvalid, o.submit(`{"name":"b","command":["fake"],"metadata":{"`+long+`":1}}`))
}
