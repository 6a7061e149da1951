package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// Every number that a task reports becomes a curve, of each task by itself: also where
// several speak at once and the workload's progress has to wait for its turn.
func TestWhatIsReportedBecomesACurve(t *testing.T) {
	w := newWorld(t)
	id := w.submit(`{"name":"a","command":["fake","run=forever"]}`).ID
	other := w.submit(`{"name":"b","command":["fake","run=forever"]}`).ID
	w.await("a", "Running")
	w.await("b", "Running")
	as := bearer(id, 0)
	for step := range 4 {
		for task := range 3 {
			body := fmt.Sprintf(`{"step":%d,"total":10,"task":%d,"metrics":{"loss":%g}}`, step, task, 1/float64(1+step+task))
			if r := w.call("POST", "/v1/self/report", body, nil, as...); r.StatusCode != http.StatusNoContent {
				t.Fatalf("step %d of task %d: %s", step, task, r.Status)
			}
		}
		w.ahead.Add(int64(time.Second))
	}
	w.refused("POST", "/v1/self/report", `{"step":-1,"metrics":{"bad":1}}`, http.StatusUnprocessableEntity, "invalid", as...)
	if r := w.call("POST", "/v1/self/report", `{"step":5,"metrics":{"loss":7}}`, nil, bearer(other, 0)...); r.StatusCode != http.StatusNoContent {
		t.Fatal(r.Status)
	}
	var got api.Reported
	w.call("GET", "/v1/projects/default/workloads/a/reported", "", &got)
	if len(got.Series) != 6 || len(got.Missing) != 0 {
		t.Fatalf("%d series, missing %q: %+v", len(got.Series), got.Missing, got.Series)
	}
	loss := got.Series[3] // of task 1, after its steps
	if loss.ID != id || loss.Task != 1 || loss.Metric != "loss" || loss.Reports != 4 || loss.Max != 0.5 || loss.MaxStep != 0 || loss.Min != 0.2 || loss.MinStep != 3 || loss.Last != 0.2 {
		t.Errorf("%+v", loss)
	}
	if fmt.Sprint(loss.Steps) != "[0 1 2 3]" || len(loss.Values) != 4 || loss.Values[0] != 0.5 || loss.At[3]-loss.At[0] < 2.9 {
		t.Errorf("%+v", loss)
	}
	if pace := got.Series[2]; pace.Metric != "" || pace.Last != 3 {
		t.Errorf("the steps of task 1: %+v", pace)
	}
	for query, n := range map[string]int{"?task=2": 2, "?metric=loss": 6, "?metric=none": 3, "?attempt=0&task=0,1": 4, "?attempt=1": 0} {
		got = api.Reported{}
		if w.call("GET", "/v1/projects/default/workloads/a/reported"+query, "", &got); len(got.Series) != n {
			t.Errorf("%s: %d series, want %d", query, len(got.Series), n)
		}
	}
	if w.call("GET", "/v1/projects/default/workloads/a/reported?points=2&task=0", "", &got); len(got.Series) != 2 || len(got.Series[1].Steps) != 2 {
		t.Errorf("thinned to two points: %+v", got.Series)
	}
	got = api.Reported{}
	if w.call("GET", "/v1/reported?workload="+id+","+other+",00000000000000000000000000&metric=loss", "", &got); len(got.Series) != 8 || got.Series[7].ID != other || got.Series[7].Last != 7 {
		t.Errorf("of two workloads: %d series, %+v", len(got.Series), got.Series)
	}
}

// The same task may not speak without end: what it says too soon is refused, and drawn
// nowhere.
func TestWhatIsReportedTooSoonIsNotDrawn(t *testing.T) {
	w := newWorld(t)
	id := w.submit(`{"name":"a","command":["fake","run=forever"]}`).ID
	w.await("a", "Running")
	refused := 0
	for step := range 300 {
		if r := w.call("POST", "/v1/self/report", fmt.Sprintf(`{"step":%d}`, step), nil, bearer(id, 0)...); r.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	var got api.Reported
	w.call("GET", "/v1/projects/default/workloads/a/reported", "", &got)
	if len(got.Series) != 1 || got.Series[0].Reports != 300-refused {
		t.Fatalf("%d were refused: %+v", refused, got.Series)
	}
}

// A picture of many tasks needs no more of each than its state.
func TestStatesOfAllTasksInALetterEach(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","array":{"completions":5,"parallelism":2},"command":["fake","run=forever"],"resources":{"cpu":0.1}}`)
	w.await("a", "Running")
	var got api.TaskStates
	await(t, "two that run; the others are not there yet", func() bool {
		w.call("GET", "/v1/projects/default/workloads/a/task-states", "", &got)
		return got.States == "rr"
	})
	w.call("POST", "/v1/projects/default/workloads/a:stop", "", nil)
	w.await("a", "Stopped")
	w.call("GET", "/v1/projects/default/workloads/a/task-states", "", &got)
	if len(got.States) < 2 || strings.Contains(got.States, "r") {
		t.Errorf("once it was stopped: %q", got.States)
	}
	w.refused("GET", "/v1/projects/default/workloads/a/task-states?attempt=3", "", http.StatusNotFound, "not_found")
}
