package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// serve returns a client of a server that answers with h.
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(Options{Address: srv.URL, Token: "secret", UserAgent: "test/1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(w http.ResponseWriter, status int, v any) {
	kind := "application/json"
	if status >= 400 {
		kind = "application/problem+json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // a test's own server
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"unix:///a/b.sock": "unix /a/b.sock", "unix:/a/b.sock": "unix /a/b.sock", "/a/b.sock": "unix /a/b.sock", "./b.sock": "unix ./b.sock",
		"http://host:80": "tcp host:80", "https://host": "tcp host",
		"": "error", "host:80": "error", "ftp://host": "error", "http://": "error", "unix:": "error", "unix://": "error",
	} {
		network, target, _, err := parseAddress(address)
		got := network + " " + target
		if err != nil {
			got = "error"
			var p *api.Problem
			if !errors.As(err, &p) || p.Code != "invalid" || p.Hint == "" {
				t.Errorf("%q: %#v", address, err)
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", address, got, want)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, api.Version{Version: r.URL.Path})
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	c, err := New(Options{Address: "unix://" + path})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := c.Version(t.Context()); err != nil || v.Version != "/version" {
		t.Errorf("%v %v", v, err)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	var got string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.TrimSpace(r.Method + " " + r.URL.String() + " " + string(body))
		if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("User-Agent") != "test/1" {
			t.Errorf("headers %v", r.Header)
		}
		answer(w, 200, struct{}{})
	})
	ctx := t.Context()
	zero, five := 0, 5
	for want, do := range map[string]func() error{
		`POST /v1/projects/-/workloads?dry_run=true {"command":"ls"}`: func() error {
			_, err := c.Submit(ctx, []byte(`{"command":"ls"}`), SubmitOptions{DryRun: true})
			return err
		},
		"POST /v1/projects/a/workloads command: ls": func() error {
			_, err := c.Submit(ctx, []byte("command: ls"), SubmitOptions{Project: "a", YAML: true, Key: "k"})
			return err
		},
		`POST /v1/workloads:bulk [{"command":"ls"}]`: func() error {
			_, err := c.Bulk(ctx, []json.RawMessage{json.RawMessage(`{"command":"ls"}`)})
			return err
		},
		`POST /v1/workloads:bulk?dry_run=true&together=true [{"command":"ls"}]`: func() error {
			_, err := c.Together(ctx, []json.RawMessage{json.RawMessage(`{"command":"ls"}`)}, SubmitOptions{DryRun: true})
			return err
		},
		"GET /v1/projects/-/workloads?cursor=9&kind=training&label=a%3Db&limit=7&live=true&phase=Queued%2CFailed&prefix=x&since=2026-01-02T03%3A04%3A05Z&user=ana&view=summary": func() error {
			_, err := c.Workloads(ctx, ListOptions{
				User: "ana", Kinds: []string{"training"}, Phases: []string{"Queued", "Failed"}, Live: true, Prefix: "x", Summary: true,
				Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Labels: map[string]string{"a": "b"}, Limit: 7, Cursor: "9",
			})
			return err
		},
		"GET /v1/projects/a/workloads/b%2Fc":                     func() error { _, err := c.Workload(ctx, "a", "b/c"); return err },
		`POST /v1/projects/a/workloads/b:stop {"message":"why"}`: func() error { _, err := c.Stop(ctx, "a", "b", api.StopOptions{Message: "why"}); return err },
		`POST /v1/projects/a/workloads/b:stop {"tasks":[]}`: func() error { // none, which is not all
			_, err := c.Stop(ctx, "a", "b", api.StopOptions{Tasks: []int{}})
			return err
		},
		"POST /v1/projects/a/workloads/b:restart {}": func() error { _, err := c.Restart(ctx, "a", "b", api.RestartOptions{}); return err },
		"DELETE /v1/projects/a/workloads/b":          func() error { _, err := c.Delete(ctx, "a", "b"); return err },
		"GET /v1/projects/a/workloads/b/transitions?after=4&limit=2": func() error {
			_, err := c.Transitions(ctx, "a", "b", 4, 2, "")
			return err
		},
		"GET /v1/transitions": func() error { _, err := c.Transitions(ctx, "", "", 0, 0, ""); return err },
		"GET /v1/projects/a/workloads/b/logs?attempt=0&follow=true&offset=3&tail=5&task=2": func() error {
			body, err := c.Logs(ctx, "a", "b", LogOptions{Attempt: &zero, Task: 2, Tail: &five, Offset: 3, Follow: true})
			if err == nil {
				body.Close()
			}
			return err
		},
		"GET /v1/projects/a/workloads/b/logs?part=build&since=2026-01-02T03%3A04%3A05Z&task=0&times=true": func() error {
			body, err := c.Logs(ctx, "a", "b", LogOptions{Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Times: true, Part: "build"})
			if err == nil {
				if body.Offset != -1 {
					t.Errorf("offset %d of a server that does not say", body.Offset)
				}
				body.Close()
			}
			return err
		},
		"GET /v1/projects/a/workloads/b/transitions?dialect=mcli":  func() error { _, err := c.Transitions(ctx, "a", "b", 0, 0, "mcli"); return err },
		"GET /v1/lifecycle?dialect=mcli":                           func() error { _, err := c.Lifecycle(ctx, "mcli"); return err },
		`POST /v1/projects/a/workloads/b:approve {"check":"x"}`:    func() error { _, err := c.Approve(ctx, "a", "b", api.DecisionOptions{Check: "x"}); return err },
		`POST /v1/projects/a/workloads/b:reject {"message":"why"}`: func() error { _, err := c.Reject(ctx, "a", "b", api.DecisionOptions{Message: "why"}); return err },
		`POST /v1/projects/a/workloads/b:hold {"message":"x"}`:     func() error { _, err := c.Hold(ctx, "a", "b", api.HoldOptions{Message: "x"}); return err },
		"POST /v1/projects/a/workloads/b:release {}":               func() error { _, err := c.Release(ctx, "a", "b", api.HoldOptions{}); return err },
		`POST /v1/projects/a/workloads/b:preempt {}`:               func() error { _, err := c.Preempt(ctx, "a", "b", api.PreemptOptions{}); return err },
		`POST /v1/projects/a/workloads/b:move {"message":"why"}`:   func() error { _, err := c.Move(ctx, "a", "b", api.PreemptOptions{Message: "why"}); return err },
		`POST /v1/projects/a/workloads/b:scale {"replicas":0}`:     func() error { _, err := c.Scale(ctx, "a", "b", api.ScaleOptions{}); return err },
		"POST /v1/projects/a/workloads/b:update command: ls":       func() error { _, err := c.Update(ctx, "a", "b", []byte("command: ls")); return err },
		`PUT /v1/projects/a/rules {"budgetPeriod":"30d"}`: func() error {
			_, err := c.Projects.SetRules(ctx, "a", api.ProjectRules{BudgetPeriod: "30d"})
			return err
		},
		"GET /v1/usage?by=project%2Cuser&every=24h0m0s&project=p": func() error {
			_, err := c.Usage(ctx, UsageOptions{Project: "p", By: []string{"project", "user"}, Every: 24 * time.Hour})
			return err
		},
		"GET /v1/secrets": func() error { _, err := c.Secrets.List(ctx); return err },
		`POST /v1/secrets {"name":"a","type":"hf","values":{"token":"eA=="}}`: func() error {
			_, err := c.Secrets.Create(ctx, api.NewSecret{Name: "a", Type: "hf", Values: map[string][]byte{"token": []byte("x")}})
			return err
		},
		"GET /v1/notifications": func() error { _, err := c.Notifications.List(ctx); return err },
		`POST /v1/notifications {"name":"a","on":["Failed"],"email":"a@b"}`: func() error {
			_, err := c.Notifications.Create(ctx, api.NewNotification{Name: "a", On: []string{"Failed"}, Receiver: api.Receiver{Email: "a@b"}})
			return err
		},
		"DELETE /v1/notifications/a%2Fb":                        func() error { return c.Notifications.Delete(ctx, "a/b") },
		"GET /v1/notifications/deliveries?limit=5&state=failed": func() error { _, err := c.Notifications.Deliveries(ctx, "failed", 5); return err },
		`POST /v1/notifications/redeliver {"id":"a"}`:           func() error { _, err := c.Notifications.Redeliver(ctx, "a"); return err },
		`POST /v1/notifications/test {"name":"a"}`: func() error {
			_, err := c.Notifications.Test(ctx, api.NotificationTest{Name: "a"})
			return err
		},
		"DELETE /v1/secrets/a%2Fb":              func() error { return c.Secrets.Delete(ctx, "a/b") },
		"GET /v1/cluster":                       func() error { _, err := c.Cluster(ctx); return err },
		`PUT /v1/access/audit {"enabled":true}`: func() error { _, err := c.Access.SwitchAudit(ctx, true); return err },
		"GET /v1/projects":                      func() error { _, err := c.Projects.List(ctx); return err },
		`POST /v1/projects {"name":"a"}`:        func() error { _, err := c.Projects.Create(ctx, api.NewProject{Name: "a"}); return err },
		`POST /v1/projects/a:stop {"note":"n"}`: func() error { _, err := c.Projects.Stop(ctx, "a", api.ProjectOptions{Note: "n"}); return err },
		"POST /v1/projects/a:start":             func() error { _, err := c.Projects.Start(ctx, "a"); return err },
		"GET /v1/departments":                   func() error { _, err := c.Departments.List(ctx); return err },
		"DELETE /v1/departments/a":              func() error { return c.Departments.Delete(ctx, "a") },
		"GET /v1/pools":                         func() error { _, err := c.Pools.List(ctx); return err },
		"DELETE /v1/pools/a%2Fb":                func() error { return c.Pools.Delete(ctx, "a/b") },
		"GET /v1/nodes":                         func() error { _, err := c.Nodes.List(ctx); return err },
		"GET /v1/nodes/a":                       func() error { _, err := c.Nodes.Get(ctx, "a"); return err },
		"GET /v1/quota?pool=b&project=a":        func() error { _, err := c.Quota(ctx, "a", "b"); return err },
		`PATCH /v1/projects/a {"parent":null}`: func() error {
			_, err := c.Projects.Change(ctx, "a", map[string]any{"parent": nil})
			return err
		},
		`PATCH /v1/pools/a {"note":"n"}`: func() error { _, err := c.Pools.Change(ctx, "a", map[string]any{"note": "n"}); return err },
		`POST /v1/pools {"name":"a","selector":"x=y"}`: func() error {
			_, err := c.Pools.Create(ctx, api.NewPool{Name: "a", PoolSpec: api.PoolSpec{Selector: "x=y"}})
			return err
		},
		`POST /v1/nodes/a/cordon {"note":"n"}`: func() error { _, err := c.Nodes.Change(ctx, "a", "cordon", api.NodeOptions{Note: "n"}); return err },
		`POST /v1/nodes/a/drain?dry_run=true {"force":true}`: func() error {
			_, err := c.Nodes.Drain(ctx, "a", api.NodeOptions{Force: true}, true)
			return err
		},
		`POST /v1/apply?dry_run=true {"items":[{"kind":"Pool"}]}`: func() error {
			_, err := c.Apply(ctx, api.Manifest{Items: []map[string]any{{"kind": "Pool"}}}, true)
			return err
		},
		"GET /v1/lifecycle":           func() error { _, err := c.Lifecycle(ctx, ""); return err },
		"GET /v1/server":              func() error { _, err := c.Server(ctx); return err },
		"PUT /v1/server/move records": func() error { _, err := c.MoveIn(ctx, strings.NewReader("records")); return err },
		"GET /readyz":                 func() error { return c.Ready(ctx) },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/problem"):
			answer(w, 409, api.Problem{Title: "Conflict", Code: "illegal_phase", Detail: "no", Hint: "do", Errors: []api.FieldProblem{{Path: "name"}}})
		default:
			http.Error(w, "<html>a proxy speaks", http.StatusBadGateway)
		}
	})
	var p *api.Problem
	if _, err := c.Workload(t.Context(), "a", "problem"); !errors.As(err, &p) || p.Code != "illegal_phase" || p.Status != 409 || p.Hint != "do" || len(p.Errors) != 1 {
		t.Errorf("%#v", err)
	}
	if _, err := c.Workload(t.Context(), "a", "proxy"); !errors.As(err, &p) || p.Code != "unavailable" || !strings.Contains(p.Detail, "a proxy speaks") {
		t.Errorf("%#v", err)
	}
}

func TestAnAbsentServerIsAProblem(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Address: "unix://" + filepath.Join(t.TempDir(), "none"), Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	var p *api.Problem
	if _, err = c.Version(t.Context()); !errors.As(err, &p) || p.Code != CodeUnreachable || p.Hint == "" {
		t.Errorf("%#v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Version(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%#v", err)
	}
}

// dropper breaks the first connections without an answer.
func dropper(t *testing.T, drop int32, keys *sync.Map) (*Client, *atomic.Int32) {
	var calls atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if keys != nil {
			keys.Store(r.Header.Get("Idempotency-Key"), true)
		}
		if calls.Add(1) <= drop {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
			return
		}
		answer(w, 200, api.Workload{Name: "x"})
	})
	return c, &calls
}

func TestSubmitIsRepeatedUnderTheSameKey(t *testing.T) {
	t.Parallel()
	var keys sync.Map
	c, calls := dropper(t, 2, &keys)
	if w, err := c.Submit(t.Context(), []byte("{}"), SubmitOptions{}); err != nil || w.Name != "x" {
		t.Fatalf("%v %v", w, err)
	}
	n := 0
	keys.Range(func(k, _ any) bool { n++; return k != "" })
	if calls.Load() != 3 || n != 1 {
		t.Errorf("%d calls with %d keys, want 3 with one", calls.Load(), n)
	}
}

func TestWhatIsNotIdempotentIsNotRepeated(t *testing.T) {
	t.Parallel()
	c, calls := dropper(t, 1, nil)
	var p *api.Problem
	if _, err := c.Restart(t.Context(), "a", "b", api.RestartOptions{}); !errors.As(err, &p) || p.Code != CodeUnreachable {
		t.Errorf("%#v", err)
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestWatchResumesAndLosesNothing(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	var resumed []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		resumed = append(resumed, r.Header.Get("Last-Event-ID")+"/"+r.URL.Query().Get("after")+"/"+r.URL.Query().Get("name"))
		w.Header().Set("Content-Type", "text/event-stream")
		switch connections.Add(1) {
		case 1:
			fmt.Fprint(w, ": heartbeat\n\nevent: synced\ndata: {}\n\nid: 7\nevent: workload\ndata: {\"name\":\ndata: \"a\"}\n\nid: 8\nevent: workload\ndata: {\"name\":\"b\"}\n\nid: 9\nevent: workl") // and breaks
		case 2:
			http.Error(w, "restarting", http.StatusServiceUnavailable)
		default:
			fmt.Fprint(w, "id: 8\r\nevent: workload\r\ndata: {\"name\":\"b2\"}\r\n\r\nevent: novelty\ndata: 1\n\nid: 9\nevent: workload\ndata: {\"name\":\"c\"}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	var got []string
	broken := 0
	for e, err := range c.Watch(t.Context(), WatchOptions{Name: "n", After: 5, Broken: func(error, time.Duration) { broken++ }}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Synced:
			got = append(got, "synced")
		default:
			got = append(got, fmt.Sprintf("%s@%d", e.Workload.Name, e.Revision))
		}
		if len(got) == 5 {
			break
		}
	}
	if s := strings.Join(got, " "); s != "synced a@7 b@8 b2@8 c@9" {
		t.Errorf("told %s", s)
	}
	// The whole of revision 8 is asked for again: it may have been cut in two.
	if s := strings.Join(resumed, " "); s != "5/5/n 7/7/n 7/7/n" || broken != 2 {
		t.Errorf("resumed %s, broken %d times", s, broken)
	}
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	refused := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 422, api.Problem{Code: "invalid", Detail: "after: no"})
	})
	n := 0
	for _, err := range refused.Watch(t.Context(), WatchOptions{}) {
		n++
		var p *api.Problem
		if !errors.As(err, &p) || p.Code != "invalid" {
			t.Errorf("%#v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
	silent := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "event: synced\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range silent.Watch(ctx, WatchOptions{}) {
		if err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nevent: workload\ndata: {}\n\n"))
	f.Add([]byte(":\n\n\ndata\ndata:\n\nid\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newEventReader(strings.NewReader(string(data)))
		for range len(data) + 1 {
			if _, err := r.next(); err != nil {
				return
			}
		}
		t.Error("more events than bytes")
	})
}
