package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

func TestAWorkloadRunsAndTellsItsWholeLife(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake","run=10ms","log=hello"],"resources":{"gpu":1}}`)
	got := w.await("a", "Completed")
	var path []string
	for _, tr := range got.Transitions {
		path = append(path, tr.To)
	}
	if want := "Submitted Queued Reserved Starting Running Terminating Completed"; strings.Join(path, " ") != want {
		t.Errorf("path %v, want %s", path, want)
	}
	a := got.Attempts[0]
	if len(a.Tasks) != 1 || a.Tasks[0].State != "succeeded" || *a.ExitCode != 0 || len(a.Tasks[0].Devices) != 1 {
		t.Errorf("attempt %+v", a)
	}
	if got.GPUSeconds <= 0 || got.EndedAt == nil || got.StartedAt == nil {
		t.Errorf("not accounted: %v GPU-seconds, started %v, ended %v", got.GPUSeconds, got.StartedAt, got.EndedAt)
	}
	for d, want := range map[string]string{"mcli": "COMPLETED", "jobq": "Succeeded", "runai-job": "Succeeded", "runai-workload": "Completed", "modelarts": "JOBSTAT_COMPLETED"} {
		if s := got.Statuses[d]; s.Status != want || !s.End {
			t.Errorf("%s says %+v, want %s and the end", d, s, want)
		}
	}
	var log string
	w.call("GET", "/v1/projects/default/workloads/a/logs", "", &log)
	if log != "hello\n" {
		t.Errorf("log %q", log)
	}
	w.call("GET", "/v1/projects/-/workloads/"+got.ID+"/logs?follow=true", "", &log)
	if log != "hello\n" {
		t.Errorf("log by id, followed: %q", log)
	}
}

func TestRefusalsSayWhatAndWhatNext(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake","run=forever"],"resources":{"gpu":2}}`)
	const create = "/v1/projects/-/workloads"
	for _, c := range []struct {
		method, path, body string
		status             int
		code, field        string
	}{
		{"POST", create, `{"name":"a","command":"true"}`, 409, "conflict", "name"},
		{"POST", create, `{"nme":"b","command":"true"}`, 422, "invalid", "nme"},
		{"POST", create, "command: [", 422, "invalid", ""},
		{"POST", create, `{"command":"true","resources":{"gpu":3}}`, 422, "unschedulable", "resources.gpu"},
		{"POST", create, `{"command":"true","resources":{"cpu":5}}`, 422, "unschedulable", "resources.cpu"},
		{"POST", create, `{"command":"true","resources":{"memory":"9Gi"}}`, 422, "unschedulable", "resources.memory"},
		{"POST", create, `{"kind":"distributed","workers":3,"command":"true","resources":{"gpu":1}}`, 422, "unschedulable", "workers"},
		{"POST", "/v1/projects/other/workloads", `{"project":"mine","command":"true"}`, 422, "invalid", "project"},
		{"GET", "/v1/projects/default/workloads/nobody", "", 404, "not_found", ""},
		{"POST", "/v1/projects/default/workloads/nobody:stop", "", 404, "not_found", ""},
		{"POST", "/v1/projects/default/workloads/a:dance", "", 404, "not_found", ""},
		{"POST", "/v1/projects/default/workloads/a:restart", "", 409, "illegal_phase", ""},
		{"POST", "/v1/projects/default/workloads/a:stop", `{"gracePeriod":"soon"}`, 422, "invalid", "gracePeriod"},
		{"GET", "/v1/projects/default/workloads/a/logs?attempt=7", "", 404, "not_found", ""},
		{"GET", "/v1/projects/default/workloads/a/logs?task=7", "", 404, "not_found", ""},
		{"GET", "/v1/projects/-/workloads?phase=Sleeping", "", 422, "invalid", "phase"},
		{"GET", "/v1/projects/-/workloads?kind=game", "", 422, "invalid", "kind"},
		{"GET", "/v1/projects/-/workloads?limit=0", "", 422, "invalid", ""},
		{"GET", "/v1/projects/-/workloads?cursor=x", "", 422, "invalid", "cursor"},
		{"GET", "/v1/watch?after=x", "", 422, "invalid", "after"},
		{"POST", "/v1/projects", `{"name":"-bad"}`, 422, "invalid", "name"},
		{"POST", "/v1/projects", `{"name":"default"}`, 409, "conflict", "name"},
		{"POST", "/v1/projects/nobody:stop", "", 404, "not_found", ""},
		{"GET", "/nowhere", "", 404, "not_found", ""},
	} {
		p := w.refused(c.method, c.path, c.body, c.status, c.code)
		if c.field != "" && !slices.ContainsFunc(p.Errors, func(f api.FieldProblem) bool { return f.Path == c.field }) {
			t.Errorf("%s %s %s: field %q is not named in %+v", c.method, c.path, c.body, c.field, p.Errors)
		}
	}
	w.submit(`{"name":"waits","command":["fake"],"resources":{"gpu":1}}`)
	w.refused("GET", "/v1/projects/default/workloads/waits/logs", "", 404, "no_logs")
}

func TestOneKeyMakesOneWorkload(t *testing.T) {
	w := newWorld(t)
	doc := `{"command":["fake","run=forever"]}`
	var first, again api.Workload
	if r := w.call("POST", "/v1/projects/-/workloads", doc, &first, "Idempotency-Key", "k1"); r.StatusCode != http.StatusCreated {
		t.Fatal(r.Status)
	}
	if r := w.call("POST", "/v1/projects/-/workloads", doc, &again, "Idempotency-Key", "k1"); r.StatusCode != http.StatusOK {
		t.Error(r.Status)
	}
	if first.ID != again.ID {
		t.Errorf("two workloads: %s and %s", first.ID, again.ID)
	}
	w.refused("POST", "/v1/projects/-/workloads", `{"command":["fake","run=1s"]}`, 409, "conflict", "Idempotency-Key", "k1")
}

func TestWhatWaitsSaysWhyWithNumbers(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"holder","command":["fake","run=forever"],"resources":{"gpu":1},"maxDuration":"1h"}`)
	if may := w.await("holder", "Running").AllowedActions; !slices.Equal(may, []string{"stop", "delete", "preempt", "move", "change"}) {
		t.Errorf("what runs may %v", may)
	}
	w.submit(`{"name":"first","command":["fake"],"resources":{"gpu":2}}`)
	w.submit(`{"name":"second","command":["fake"],"resources":{"gpu":2}}`)
	got := w.await("second", "Queued")
	p := got.Pending
	if p == nil || p.Position != 2 || p.Waiting != 2 || !slices.Equal(p.Ahead, []string{"first"}) || p.EstimatedStart != nil || len(p.Reasons) != 1 {
		t.Fatalf("pending %+v", p)
	}
	// Of the first it is known when it starts, not how long it runs. Lists have it
	// once it has been worked out.
	for p = w.await("first", "Queued").Pending; p != nil && p.EstimatedStart == nil; p = w.await("first", "Queued").Pending {
		time.Sleep(20 * time.Millisecond)
	}
	p = got.Pending
	if r := p.Reasons[0]; r.Token != "WaitingForCapacity" || r.Resource != "gpu" || r.Needed != 2 || r.Free != 1 || r.Total != 2 {
		t.Errorf("reason %+v", r)
	}
	w.call("POST", "/v1/projects/default/workloads/holder:stop", `{"message":"make room"}`, nil, "Content-Type", "application/x-www-form-urlencoded") // as curl -d
	stopped := w.await("holder", "Stopped")
	if !slices.Equal(stopped.AllowedActions, []string{"restart", "delete", "revise"}) {
		t.Errorf("what has ended may %v", stopped.AllowedActions)
	}
	if stopped.Message != "make room" || stopped.Reason != "StoppedByUser" {
		t.Errorf("stopped as %s %q", stopped.Reason, stopped.Message)
	}
	w.await("second", "Completed")
}

func TestAProjectStopsAndStarts(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"early","project":"later","command":["fake"]}`)
	var got api.Workload
	w.call("GET", "/v1/projects/later/workloads/early", "", &got)
	if got.Phase != "Inadmissible" || got.Reason != "QueueNotFound" || got.Statuses["jobq"].Status != "Inadmissible" {
		t.Errorf("%s %s %+v", got.Phase, got.Reason, got.Statuses["jobq"])
	}
	if r := w.call("POST", "/v1/projects", `{"name":"later"}`, nil); r.StatusCode != http.StatusCreated {
		t.Error(r.Status)
	}
	for got.Phase != "Completed" {
		w.call("GET", "/v1/projects/later/workloads/early", "", &got)
	}
	w.call("POST", "/v1/projects/default:stop", `{"note":"upgrade"}`, nil)
	w.submit(`{"name":"b","command":["fake"]}`)
	if held := w.await("b", "Inadmissible"); !strings.Contains(held.Message, "upgrade") {
		t.Errorf("message %q", held.Message)
	}
	w.call("POST", "/v1/projects/default:start", "", nil)
	w.await("b", "Completed")
}

func TestListsArePagedAndFiltered(t *testing.T) {
	w := newWorld(t)
	for i := range 7 {
		w.submit(fmt.Sprintf(`{"name":"w-%d","labels":{"n":"%d"},"command":["fake"]}`, i, i%2))
	}
	var names []string
	next := ""
	for page := 0; ; page++ {
		var l api.WorkloadList
		w.call("GET", "/v1/projects/default/workloads?limit=3&view=summary&cursor="+next, "", &l)
		for _, it := range l.Items {
			names = append(names, it.Name)
		}
		if next = l.Next; next == "" {
			break
		}
		if page > 5 {
			t.Fatal("the pages do not end")
		}
	}
	if want := "w-6 w-5 w-4 w-3 w-2 w-1 w-0"; strings.Join(names, " ") != want {
		t.Errorf("listed %v, want %s", names, want)
	}
	var l api.WorkloadList
	w.call("GET", "/v1/projects/-/workloads?label=n=1&prefix=w-", "", &l)
	if len(l.Items) != 3 || len(l.Items[0].Transitions) == 0 || l.Items[0].Spec == nil {
		t.Errorf("filtered: %d items, whole: %v", len(l.Items), l.Items)
	}
}

func TestTogetherTakesAllOrNone(t *testing.T) {
	w := newWorld(t)
	docs := `[{"name":"x","command":["fake"]},{"name":"y","command":["fake"],"after":["x"]}]`
	var r, again api.BulkResult
	w.call("POST", "/v1/workloads:bulk?together=true&dry_run=true", docs, &r)
	if len(r.Items) != 2 || r.Items[1].Workload.Plan == nil {
		t.Fatalf("planned %+v", r.Items)
	}
	w.call("POST", "/v1/workloads:bulk?together=true", docs, &r, "Idempotency-Key", "k")
	w.call("POST", "/v1/workloads:bulk?together=true", docs, &again, "Idempotency-Key", "k")
	if len(again.Items) != 2 || again.Items[1].Workload.ID != r.Items[1].Workload.ID || again.Items[1].Workload.Name != "y" {
		t.Fatalf("%+v, and again %+v", r.Items, again.Items)
	}
	w.await("y", "Completed")
	p := w.refused("POST", "/v1/workloads:bulk?together=true", `[{"name":"z","command":["fake"]},{"name":"y","command":["fake"]}]`, http.StatusConflict, "conflict")
	if len(p.Errors) != 1 || p.Errors[0].Path != "items[1].name" || !strings.Contains(p.Detail, "document 2 (y)") {
		t.Errorf("%+v", p)
	}
	p = w.refused("POST", "/v1/workloads:bulk?together=true&dry_run=true", `[{"name":"z","command":["fake"]},{"name":"z","command":["fake"]}]`, http.StatusConflict, "conflict")
	if p.Errors[0].Path != "items[1].name" {
		t.Errorf("%+v", p)
	}
	p = w.refused("POST", "/v1/workloads:bulk?together=true", `[{"name":"z","command":["fake"]},{"name":"u","command":3}]`, http.StatusUnprocessableEntity, "invalid")
	if p.Errors[0].Path != "items[1].command" {
		t.Errorf("%+v", p)
	}
	w.refused("GET", "/v1/projects/default/workloads/z", "", http.StatusNotFound, "not_found")
	w.refused("POST", "/v1/workloads:bulk?together=true", `[]`, http.StatusUnprocessableEntity, "invalid")
	w.refused("POST", "/v1/workloads:bulk?dry_run=true", docs, http.StatusUnprocessableEntity, "invalid")
	w.refused("POST", "/v1/workloads:bulk?together=true", `[{"name":"z","command":["fake"]}]`, http.StatusConflict, "conflict", "Idempotency-Key", "k")
}

func TestViewsLeaveOutWhatTheySay(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"runs","command":["fake","run=1h"],"resources":{"gpu":1}}`)
	w.await("runs", "Running")
	w.submit(`{"name":"waits","command":["fake"],"resources":{"gpu":2}}`)
	w.await("waits", "Queued")
	for view, want := range map[string]struct{ history, tasks, document, why bool }{
		"": {true, true, true, true}, "full": {true, true, true, true}, "table": {tasks: true, document: true, why: true}, "summary": {why: true}, "bare": {},
	} {
		var l api.WorkloadList
		w.call("GET", "/v1/projects/-/workloads?view="+view, "", &l)
		if len(l.Items) != 2 {
			t.Fatalf("%s: %d items", view, len(l.Items))
		}
		waits, runs := l.Items[0], l.Items[1]
		got := struct{ history, tasks, document, why bool }{len(runs.Transitions) > 0, len(runs.Attempts[0].Tasks) > 0, len(runs.Spec) > 0, waits.Pending != nil}
		if got != want || len(waits.Attempts[0].Tasks) > 0 {
			t.Errorf("%s: %+v, want %+v; tasks of what was never placed: %v", view, got, want, waits.Attempts[0].Tasks)
		}
	}
	if res := w.call("GET", "/v1/projects/-/workloads?view=some", "", nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("an unknown view: %d", res.StatusCode)
	}
}

func TestBulkTakesAndRefusesEachByItself(t *testing.T) {
	w := newWorld(t)
	var r api.BulkResult
	w.call("POST", "/v1/workloads:bulk", `[{"name":"x","command":["fake"]},{"name":"x","command":["fake"]},{"bad":1},{"command":["fake"]}]`, &r)
	if len(r.Items) != 4 || r.Items[0].Workload == nil || r.Items[1].Problem == nil || r.Items[2].Problem == nil || r.Items[3].Workload == nil {
		t.Fatalf("%+v", r.Items)
	}
	if r.Items[1].Problem.Code != "conflict" || r.Items[2].Problem.Code != "invalid" {
		t.Errorf("%+v, %+v", r.Items[1].Problem, r.Items[2].Problem)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	w := newWorld(t)
	var out api.Workload
	if r := w.call("POST", "/v1/projects/-/workloads?dry_run=true", `{"name":"a","command":["fake"]}`, &out); r.StatusCode != http.StatusOK {
		t.Error(r.Status)
	}
	w.refused("GET", "/v1/projects/default/workloads/a", "", 404, "not_found")
}

// events reads server-sent events until stop says so.
func (w *world) events(path string, stop func(id, event string, got api.Workload) bool) {
	w.t.Helper()
	resp, err := w.http.Get("http://muster" + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var id, event string
	s := bufio.NewScanner(resp.Body)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		switch line := s.Text(); {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "event: "):
			event = line[7:]
		case strings.HasPrefix(line, "data: "):
			var got api.Workload
			if err := json.Unmarshal([]byte(line[6:]), &got); err != nil {
				w.t.Fatal(err)
			}
			if stop(id, event, got) {
				return
			}
		}
	}
	w.t.Fatalf("the stream ended: %v", s.Err())
}

func TestAWatchResumesWhereItStopped(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake"]}`)
	w.await("a", "Completed")
	last := ""
	w.events("/v1/watch?after=0", func(id, event string, got api.Workload) bool {
		if event == "workload" {
			last = id
			if got.Name != "a" || got.Phase != "Completed" {
				t.Errorf("before synced came %s %s", got.Name, got.Phase)
			}
		}
		return event == "synced"
	})
	w.submit(`{"name":"b","command":["fake"]}`)
	w.await("b", "Completed")
	var seen []string
	w.events("/v1/watch?after="+last, func(_, event string, got api.Workload) bool {
		if event == "workload" {
			seen = append(seen, got.Name)
		}
		return event == "synced"
	})
	if !slices.Equal(seen, []string{"b"}) {
		t.Errorf("after the last event came %v", seen)
	}
	var phases []string
	w.events("/v1/watch?name=c", func(_, event string, got api.Workload) bool {
		if event == "synced" {
			w.submit(`{"name":"c","command":["fake"]}`)
			return false
		}
		for _, tr := range got.Transitions {
			phases = append(phases, tr.To)
		}
		return got.Phase == "Completed"
	})
	if want := "Submitted Queued Reserved Starting Running Terminating Completed"; strings.Join(phases, " ") != want {
		t.Errorf("live: %v", phases)
	}
}

func TestTCPNeedsTheToken(t *testing.T) {
	w := newWorld(t)
	get := func(path, token string) int {
		req, err := http.NewRequest("GET", w.tcp+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, c := range []struct {
		path, token string
		want        int
	}{{"/v1/cluster", "", 401}, {"/v1/cluster", "wrong", 401}, {"/v1/cluster", "secret", 200}, {"/healthz", "", 200}, {"/metrics", "", 401}} {
		if got := get(c.path, c.token); got != c.want {
			t.Errorf("%s with token %q: %d, want %d", c.path, c.token, got, c.want)
		}
	}
}

func TestDeleteLeavesATombstone(t *testing.T) {
	w := newWorld(t)
	first := w.submit(`{"name":"a","command":["fake","run=forever"]}`)
	w.await("a", "Running")
	if r := w.call("DELETE", "/v1/projects/default/workloads/a", "", nil); r.StatusCode != http.StatusOK {
		t.Error(r.Status)
	}
	var gone api.Workload
	for gone.Phase != "Deleted" {
		w.call("GET", "/v1/projects/-/workloads/"+first.ID, "", &gone)
	}
	w.refused("GET", "/v1/projects/default/workloads/a", "", 404, "not_found")
	if again := w.submit(`{"name":"a","command":["fake"]}`); again.ID == first.ID {
		t.Error("the name was not free")
	}
}

// TestABrokenBodyIsTheClientsFault: also where how it is cut into pieces is wrong.
func TestABrokenBodyIsTheClientsFault(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/projects/default/workloads", "/v1/session"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.tcp, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		var p api.Problem
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil || r.StatusCode != http.StatusBadRequest || p.Code != "invalid" {
			t.Errorf("POST %s: %s %+v, %v; want 400, invalid", path, r.Status, p, err)
		}
	}
}

func TestOperatorsPages(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake"]}`)
	w.await("a", "Completed")
	var text string
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ok", "/metrics": `muster_transitions_total{to="Completed"} 1`,
		"/docs": "/v1/projects/{project}/workloads/{name}:stop", "/openapi.json": `"openapi":"3.1.0"`,
	} {
		w.call("GET", path, "", &text)
		if !strings.Contains(text, want) {
			t.Errorf("%s does not have %q:\n%.300s", path, want, text)
		}
	}
	var c api.Cluster
	w.call("GET", "/v1/cluster", "", &c)
	if len(c.Nodes) != 1 || c.Nodes[0].GPU.Total != 2000 || !c.Nodes[0].Devices[0].Fake {
		t.Errorf("cluster %+v", c)
	}
	var l api.Lifecycle
	w.call("GET", "/v1/lifecycle", "", &l)
	if len(l.Phases) != 21 || len(l.Rules) == 0 || !strings.HasPrefix(l.Mermaid, "stateDiagram") {
		t.Errorf("lifecycle: %d phases, %d rules", len(l.Phases), len(l.Rules))
	}
	var st api.ServerStatus
	w.call("GET", "/v1/server", "", &st)
	if st.PID != 1 {
		t.Errorf("server %+v", st)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	w := newWorld(t)
	p := w.refused("POST", "/v1/workloads:bulk", "["+strings.Repeat("0,", 10_000)+"0]", http.StatusUnprocessableEntity, "invalid")
	if !strings.Contains(p.Detail, "10001 documents") {
		t.Errorf("too many documents: %s", p.Detail)
	}
	p = w.refused("GET", "/v1/metrics?step=4294967296s", "", http.StatusUnprocessableEntity, "invalid")
	if !strings.Contains(p.Detail, "longer than what is kept") {
		t.Errorf("too long a step: %s", p.Detail)
	}
}

// A log that breaks off while it is read is not taken for a whole one.
func TestABrokenLogIsNotTakenForAWholeOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"says","resources":{"cpu":0.1},"command":["fake","run=1ms","log=one","log=two"]}`)
	w.await("says", "Completed")
	read := func() (string, error) {
		req, err := http.NewRequest(http.MethodGet, "http://muster/v1/projects/default/workloads/says/logs", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.http.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	whole, err := read()
	if err != nil || whole == "" {
		t.Fatalf("%q, %v", whole, err)
	}
	w.backend.BreakLogs()
	if part, err := read(); err == nil {
		t.Errorf("of %q came %q, and no error", whole, part)
	}
}
