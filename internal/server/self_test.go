package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/launch"
)

func bearer(id string, attempt int) []string {
	return []string{"Authorization", "Bearer " + launch.TaskToken(core.WorkloadID(id), attempt, mac)}
}

func TestATaskSaysHowFarItHasCome(t *testing.T) {
	w := newWorld(t)
	id := w.submit(`{"name":"a","command":["fake","run=forever"]}`).ID
	w.submit(`{"name":"b","command":["fake","run=forever"]}`)
	w.await("a", "Running")
	as := bearer(id, 0)
	var own api.Workload
	if r := w.call("GET", "/v1/self", "", &own, as...); r.StatusCode != http.StatusOK || own.Name != "a" {
		t.Fatalf("%s %q", r.Status, own.Name)
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/self/report", `{"step":7,"total":10,"metrics":{"loss":0.25},"message":"warm","task":0}`},
		{"POST", "/v1/self/checkpoint", `{"path":"/ckpt/7","step":7}`},
		{"PATCH", "/v1/self/metadata", `{"team":"nlp","n":{"deep":[1]},"gone":1}`},
		{"PATCH", "/v1/self/metadata", `{"gone":null}`},
	} {
		if r := w.call(c.method, c.path, c.body, nil, as...); r.StatusCode != http.StatusNoContent {
			t.Errorf("%s %s: %s", c.method, c.path, r.Status)
		}
	}
	w.call("GET", "/v1/projects/default/workloads/a", "", &own)
	if p := own.Progress; p == nil || p.Step != 7 || p.Total != 10 || p.Metrics["loss"] != 0.25 || p.Message != "warm" || time.Time(p.At).IsZero() {
		t.Errorf("progress %+v", p)
	}
	if c := own.Checkpoint; c == nil || c.Path != "/ckpt/7" || c.Step != 7 {
		t.Errorf("checkpoint %+v", c)
	}
	if len(own.Metadata) != 2 || string(own.Metadata["team"]) != `"nlp"` {
		t.Errorf("metadata %s", own.Metadata)
	}
	// Of an attempt that is over nothing is kept; what it said stays.
	w.call("POST", "/v1/projects/default/workloads/a:stop", "", nil)
	w.await("a", "Stopped")
	w.refused("POST", "/v1/self/report", `{"step":8}`, http.StatusConflict, "illegal_phase", as...)
	w.call("GET", "/v1/projects/default/workloads/a", "", &own)
	if own.Progress.Step != 7 {
		t.Errorf("progress %+v", own.Progress)
	}
	w.refused("GET", "/v1/self", "", http.StatusForbidden, "forbidden", as...)
	w.call("POST", "/v1/projects/default/workloads/a:restart", "", nil)
	w.await("a", "Running")
	w.refused("GET", "/v1/self", "", http.StatusForbidden, "forbidden", as...) // of the attempt before
	if r := w.call("GET", "/v1/self", "", nil, bearer(id, 1)...); r.StatusCode != http.StatusOK {
		t.Errorf("the present attempt: %s", r.Status)
	}
	w.call("POST", "/v1/projects/default/workloads/a:stop", "", nil)
	w.await("a", "Stopped")
	// Its user may say more, of an ended one too.
	if r := w.call("PATCH", "/v1/projects/default/workloads/a/metadata", `{"note":"good"}`, &own); r.StatusCode != http.StatusOK || len(own.Metadata) != 3 {
		t.Errorf("%s %s", r.Status, own.Metadata)
	}
}

func TestATaskReachesOnlyItself(t *testing.T) {
	w := newWorld(t)
	id := w.submit(`{"name":"a","command":["fake","run=forever"]}`).ID
	w.submit(`{"name":"b","command":["fake","run=forever"]}`)
	w.await("a", "Running")
	as := bearer(id, 0)
	for _, c := range []struct{ method, path string }{
		{"GET", "/v1/projects/default/workloads/b"}, {"GET", "/v1/projects/default/workloads/a"}, {"GET", "/v1/projects/-/workloads"},
		{"POST", "/v1/projects/default/workloads/a:stop"}, {"DELETE", "/v1/projects/default/workloads/b"},
		{"POST", "/v1/projects/-/workloads"}, {"GET", "/v1/secrets"}, {"GET", "/v1/cluster"}, {"GET", "/v1/selfish"}, {"GET", "/metrics"},
		{"GET", "/v1/watch"}, {"GET", "/v1/self/../secrets"},
	} {
		req, err := http.NewRequest(c.method, w.tcp+c.path, strings.NewReader(`{"name":"x","command":["fake"]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(as[0], as[1])
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("over TCP %s %s: %s", c.method, c.path, resp.Status)
		}
		if c.path != "/v1/self/../secrets" {
			w.refused(c.method, c.path, "", http.StatusForbidden, "forbidden", as...)
		}
	}
	wrong := launch.TaskToken(core.WorkloadID(id), 0, func(string) string { return strings.Repeat("0", 64) })
	for _, token := range []string{wrong, "muster_task_", "muster_task_a.b.c", "muster_task_.0.", strings.Replace(as[1][7:], ".0.", ".1.", 1)} {
		w.refused("GET", "/v1/self", "", http.StatusUnauthorized, "unauthenticated", "Authorization", "Bearer "+token)
	}
	w.refused("GET", "/v1/self", "", http.StatusForbidden, "forbidden") // a user is no task
}

func TestWhatATaskMaySayIsBounded(t *testing.T) {
	w := newWorld(t)
	id := w.submit(`{"name":"a","command":["fake","run=forever"]}`).ID
	w.await("a", "Running")
	as := bearer(id, 0)
	many := make([]string, 201)
	for i := range many {
		many[i] = fmt.Sprintf("%q:1", fmt.Sprint("k", i))
	}
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", "/v1/self/metadata", "{" + strings.Join(many, ",") + "}"},
		{"PATCH", "/v1/self/metadata", `{"` + strings.Repeat("k", 201) + `":1}`},
		{"PATCH", "/v1/self/metadata", `{"k":"` + strings.Repeat("v", 100_001) + `"}`},
		{"POST", "/v1/self/report", `{"step":-1}`},
		{"POST", "/v1/self/report", `{"step":1,"metrics":{` + strings.Join(many[:101], ",") + `}}`},
		{"POST", "/v1/self/report", `{"step":1,"surprise":1}`},
		{"POST", "/v1/self/checkpoint", `{"path":""}`},
		{"POST", "/v1/self/checkpoint", `{"path":"a\nb"}`},
	} {
		w.refused(c.method, c.path, c.body, http.StatusUnprocessableEntity, "invalid", as...)
	}
}

func TestPriorityAndLimitsChangeWhileItRuns(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake","run=forever"],"maxDuration":"1h"}`)
	w.await("a", "Running")
	var got api.Workload
	path := "/v1/projects/default/workloads/a"
	if r := w.call("PATCH", path, `{"priority":"high","retry":{"limit":4},"maxDuration":"2h","labels":{"x":"y"}}`, &got); r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, got)
	}
	w.call("GET", path, "", &got)
	spec := string(got.Spec)
	if got.Priority != 125 || !got.Preemptible || got.Phase != "Running" || got.Attempt != 0 || !strings.Contains(spec, `"limit":4`) || !strings.Contains(spec, `"maxDuration":"2h"`) {
		t.Errorf("%d %v %s %s", got.Priority, got.Preemptible, got.Phase, spec)
	}
	var l api.WorkloadList
	if w.call("GET", "/v1/projects/-/workloads?label=x=y", "", &l); len(l.Items) != 1 {
		t.Errorf("found %d by its new label", len(l.Items))
	}
	w.refused("PATCH", path, `{"preemptible":false}`, http.StatusConflict, "illegal_phase") // it would keep what it holds above a quota
	w.refused("PATCH", path, `{"command":"rm"}`, http.StatusUnprocessableEntity, "invalid")
	w.refused("PATCH", path, `{"priority":"utmost"}`, http.StatusUnprocessableEntity, "invalid")
	w.refused("PATCH", path, `{}`, http.StatusUnprocessableEntity, "invalid")
	named := w.submit(`{"namePrefix":"p","command":["fake","run=forever"]}`).Name
	if r := w.call("PATCH", "/v1/projects/default/workloads/"+named, `{"priority":"low"}`, &got); r.StatusCode != http.StatusOK || got.Name != named || got.Priority != 40 {
		t.Error(r.Status, got.Name, got.Priority)
	}
	// A limit ends it from when it is there.
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var p api.Problem
		r := w.call("PATCH", path, `{"maxDuration":"1s"}`, &p)
		if r.StatusCode == http.StatusUnprocessableEntity && strings.Contains(p.Detail, "is over") {
			break
		}
		if w.call("GET", path, "", &got); got.Phase == "TimedOut" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("neither refused nor ended")
		}
	}
	w.call("POST", path+":stop", "", nil)
	w.refused("PATCH", path, `{"priority":"low"}`, http.StatusConflict, "illegal_phase")
}

// TestNobodyDecidesWhatAnothersJobRuns: before its first start what a job asks for may be
// changed by whoever may change it, but nothing by which it would run something else.
func TestNobodyDecidesWhatAnothersJobRuns(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake"],"hold":true,"slurm":{"name":"a"}}`)
	path := "/v1/projects/default/workloads/a"
	var got api.Workload
	if r := w.call("PATCH", path, `{"slurm":{"variables":{"SLURM_MEM_PER_CPU":"4096"}}}`, &got); r.StatusCode != http.StatusOK || !strings.Contains(string(got.Spec), "4096") {
		t.Errorf("%s: %s", r.Status, got.Spec)
	}
	for _, patch := range []string{
		`{"slurm":{"variables":{"SLURM_TASK_PROLOG":"/tmp/x"}}}`, `{"slurm":{"variables":{"LD_PRELOAD":"/tmp/x"}}}`, `{"slurm":{"variables":"x"}}`,
		`{"slurm":{"output":"/tmp/x"}}`, `{"slurm":null}`, `{"slurm":"x"}`, `{"env":{"A":"b"}}`, `{"init":[{"command":"true"}]}`, `{"image":"b"}`, `{"volumes":[]}`,
	} {
		w.refused("PATCH", path, patch, http.StatusUnprocessableEntity, "invalid")
	}
}
