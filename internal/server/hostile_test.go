package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/store/sqlstore"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

const (
	// hostileWorld is how many requests one server hears; the next is a new one.
	hostileWorld = 2000
	// heapMost bounds what all of them may leave in memory, in bytes.
	heapMost = 1 << 30
	// answerMost bounds a refusal, in bytes: nobody is sent back what they have sent.
	answerMost = 64 << 10
)

// TestHostileRequests makes requests of which few are right, at every operation that the
// API describes, with and without access control, as people of several roles. None may
// be answered with 500, or by silence; every refusal is a problem that says what is wrong;
// what was refused has changed nothing; and the server goes on.
//
// MUSTER_HOSTILE=100000 makes that many; MUSTER_HOSTILE_SEED=N those of one server again.
func TestHostileRequests(t *testing.T) {
	total := 2 * hostileWorld
	if testing.Short() {
		total = 600
	}
	if n, err := strconv.Atoi(os.Getenv("MUSTER_HOSTILE")); err == nil {
		total = n
	}
	statuses, done := map[int]int{}, map[string]bool{}
	only, one := strconv.Atoi(os.Getenv("MUSTER_HOSTILE_SEED"))
	sent, peak := 0, uint64(0)
	for seed := 0; sent < total; seed++ {
		if one == nil {
			seed, total = only, min(total, hostileWorld)
		}
		n := min(hostileWorld, total-sent, max(total/2, 1))
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSiege(t, seed, seed%2 == 1)
			for i := range n {
				if s.attack(i); s.wrong > 10 {
					break
				}
			}
			if t.Failed() {
				t.Fatalf("MUSTER_HOSTILE_SEED=%d makes the same requests", seed)
			}
			s.goesOn()
			for status, n := range s.statuses {
				statuses[status] += n
			}
			maps.Copy(done, s.done)
			peak = max(peak, s.peak)
		})
		if sent += n; one == nil {
			break
		}
	}
	var text []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		text = append(text, fmt.Sprintf("%d: %d", status, statuses[status]))
	}
	t.Logf("%d requests; answers %s; %d operations have done something; at most %d MiB in memory", sent, strings.Join(text, ", "), len(done), peak>>20)
	if ok := statuses[200] + statuses[201]; !t.Failed() && sent >= hostileWorld && (ok < sent/20 || statuses[422] < sent/50 || len(done) < 80) {
		t.Errorf("of %d requests %d were right and %d wrong, at %d operations: they are too much alike", sent, ok, statuses[422], len(done))
	}
}

// siege is a server and who besieges it.
type siege struct {
	*realm
	hostile  *hostile
	people   []string // "": the server's owner, by the socket
	shared   bool
	statuses map[int]int
	done     map[string]bool // operations that were right at least once
	peak     uint64
	wrong    int
	changed  int // how often it was looked whether a refusal had changed something
}

// roles are those whose people take part, and in what scope.
var besiegers = [][2]string{
	{rbac.SystemAdministrator, "-"}, {"department-administrator", "research"}, {"project-lead", "vision"}, {"l1-researcher", "vision"}, {"viewer", "vision"}, {"", ""},
}

func newSiege(t *testing.T, seed int, shared bool) *siege {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "muster.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() }) //nolint:errcheck // after what uses it
	s := &siege{realm: newRealmOver(t, newWorldOver(t, st, nil, fakebackend.Node("node-1", 64000, 64<<30, 4, "Fake A100"))), shared: shared, statuses: map[int]int{}, done: map[string]bool{}, people: []string{""}}
	s.plain = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(s.plain.CloseIdleConnections)
	s.must("PUT", "/v1/access", `{"enabled":false}`, nil)
	s.submit(`{"name":"runs","project":"vision","command":["fake","run=forever"],"resources":{"gpu":4}}`)
	s.submit(`{"name":"waits","project":"vision","command":["fake"],"resources":{"gpu":4}}`)
	described, err := s.server.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"runs", "waits", "vision", "audio", "default", "research", "node-1", "-", "person0", "person2", "cpu", "l1-researcher"}
	s.hostile = newHostile(t, described, uint64(seed), names)
	s.repair()
	return s
}

// repair makes people again whom requests have taken away, and access control as it
// was to be.
func (s *siege) repair() {
	s.t.Helper()
	s.ahead.Add(int64(2 * time.Minute)) // whoever showed a token of before is let in again
	s.must("PUT", "/v1/access", fmt.Sprintf(`{"enabled":%v}`, s.shared), nil)
	if !s.shared {
		return
	}
	s.people = []string{""}
	for i, of := range besiegers {
		name := fmt.Sprintf("person%d", i)
		s.call("DELETE", "/v1/users/"+name, "", nil)
		s.person(name, of[0], of[1])
		s.people = append(s.people, name)
	}
}

// attack makes one request and looks at its answer.
func (s *siege) attack(i int) {
	s.t.Helper()
	if i%250 == 249 {
		s.repair()
		s.remember()
	}
	a := s.hostile.next(i)
	who := s.people[s.hostile.IntN(len(s.people))]
	look := a.method != http.MethodGet && s.hostile.one(10)
	before := ""
	if look {
		before = s.state()
	}
	status, header, body, err := s.send(a, who)
	if err != nil {
		if a.cut && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
			return // whoever stops in the middle need not be answered
		}
		s.wrong++
		s.t.Errorf("as %q: %s: %v", who, a, err)
		return
	}
	s.statuses[status]++
	if status < 300 && a.method == a.op.method {
		s.done[a.method+" "+a.op.path] = true
	}
	if problem := wrongAnswer(a, status, header, body); problem != "" {
		s.wrong++
		s.t.Errorf("as %q: %s\nanswered %d %v %.2000q: %s", who, a, status, header, body, problem)
	}
	if look && status >= 400 {
		s.changed++
		if after := s.state(); after != before {
			s.wrong++
			s.t.Errorf("as %q: %s\nwas refused with %d %.500q, and has changed something:\n%s\n%s", who, a, status, body, before, after)
		}
	}
	if status == http.StatusUnauthorized && who != "" {
		s.repair() // a request of before took the token away
	}
}

// remember notes how much memory there is in use.
func (s *siege) remember() {
	s.t.Helper()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if s.peak = max(s.peak, m.HeapAlloc); m.HeapAlloc > heapMost {
		runtime.GC()
		if runtime.ReadMemStats(&m); m.HeapAlloc > heapMost {
			s.t.Fatalf("requests have left %d MiB in memory", m.HeapAlloc>>20)
		}
	}
}

// wrongAnswer says what is wrong with an answer; empty: nothing.
func wrongAnswer(a attack, status int, header http.Header, body []byte) string {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case status >= 500 && status != http.StatusServiceUnavailable && status != http.StatusNotImplemented && status != http.StatusInsufficientStorage:
		return "the server failed"
	case status < 400:
		if media == "application/json" && a.method != http.MethodHead && len(body) > 0 && !json.Valid(body) {
			return "that is no JSON"
		}
		return ""
	case a.method == http.MethodHead:
		return ""
	case media != "application/problem+json":
		return "a refusal is a problem"
	case len(body) > answerMost:
		return fmt.Sprintf("a refusal of %d bytes", len(body))
	}
	var p api.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		return err.Error()
	}
	switch {
	case p.Status != status || p.Code == "" || p.Code == "internal" || p.Detail == "":
		return "the problem does not say what was wrong"
	case !utf8.Valid(body):
		return "that is no UTF-8"
	case status == http.StatusServiceUnavailable && p.Code != "unavailable" && p.Code != "unsupported":
		return "what is not available?"
	}
	for _, word := range []string{"interface {}", "map[string]", "Go struct", "Go value", "json: ", "reflect.", "strconv.", "runtime error", "sql:", "SQLITE", "constraint failed", "goroutine "} {
		if strings.Contains(p.Detail+p.Hint, word) && !strings.Contains(a.String(), word) {
			return "a word of the program: " + word
		}
	}
	return ""
}

// send makes a request and reads its answer, of one that goes on for ever its head.
func (s *siege) send(a attack, who string) (int, http.Header, []byte, error) {
	if a.cut {
		return s.sendCut(a, who)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, base := s.plain, s.tcp
	if who == "" {
		client, base = s.http, "http://muster"
	}
	r, err := http.NewRequestWithContext(ctx, "GET", base, bytes.NewReader(a.body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Method = a.method
	path, query, _ := strings.Cut(a.path, "?")
	r.URL.Opaque, r.URL.RawQuery = "//"+r.URL.Host+path, query
	for k, v := range a.header {
		r.Header[k] = []string{v}
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+s.tokens[who])
	}
	// What a client follows by itself is of no interest.
	resp, err := client.Transport.RoundTrip(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || a.follows && resp.StatusCode < 300 {
		return resp.StatusCode, resp.Header, nil, nil
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body, err
}

// sendCut ends the connection's half in the middle of the body.
func (s *siege) sendCut(a attack, who string) (int, http.Header, []byte, error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.tcp, "http://"))
	if err != nil {
		return 0, nil, nil, err
	}
	defer c.Close()
	token := "secret"
	if who != "" {
		token = s.tokens[who]
	} else if s.shared {
		token = s.tokens[s.people[1]]
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, nil, nil, err
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n", a.method, a.path, token, len(a.body)+100)
	for k, v := range a.header {
		fmt.Fprintf(&head, "%s: %s\r\n", k, clean(v))
	}
	if _, err := c.Write(append([]byte(head.String()+"\r\n"), a.body...)); err != nil {
		return 0, nil, nil, io.EOF // it was refused before
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return 0, nil, nil, io.EOF
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: a.method})
	if err != nil {
		var broken *net.OpError
		if errors.As(err, &broken) && !broken.Timeout() {
			err = io.EOF // reset: what was not read any more was thrown away
		}
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || a.follows && resp.StatusCode < 300 {
		return resp.StatusCode, resp.Header, nil, nil
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body, err
}

// lists are what a refused request must not have changed. What changes by itself, as
// phases, next times and last uses do, is left out.
var lists = []string{
	"/v1/access", "/v1/users", "/v1/service-accounts", "/v1/roles", "/v1/access-rules", "/v1/tokens", "/v1/departments", "/v1/projects", "/v1/pools", "/v1/licenses", "/v1/reservations", "/v1/notifications", "/v1/secrets",
	"/v1/projects/vision/policies", "/v1/projects/vision/templates", "/v1/projects/vision/environments", "/v1/projects/vision/computes", "/v1/projects/vision/datasources", "/v1/projects/vision/datavolumes",
}

// state is what is kept, as the server's owner reads it.
func (s *siege) state() string {
	s.t.Helper()
	var b strings.Builder
	for _, path := range lists {
		var answer any
		s.call("GET", path, "", &answer)
		b.WriteString(path + " ")
		text, err := json.Marshal(steady(answer))
		if err != nil {
			s.t.Fatal(err)
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.String()
}

// moving are members that change without a request.
var moving = []string{"lastUsed", "lastUsedAt", "usedAt", "used", "held", "holds", "usage", "free", "inUse", "active", "state", "waiting", "running", "allocated", "requested", "share", "fairShare", "quota", "counts", "gpuHours", "spent", "now", "since", "workloads", "queued"}

// steady is a value without what changes by itself.
func steady(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if slices.Contains(moving, k) {
				delete(v, k)
			} else {
				v[k] = steady(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = steady(v[i])
		}
	}
	return v
}

// goesOn: after all of it the server has not panicked, and does what it is asked.
func (s *siege) goesOn() {
	s.t.Helper()
	s.repair()
	s.remember()
	var metrics string
	s.call("GET", "/metrics", "", &metrics)
	if !strings.Contains(metrics, "muster_request_panics_total 0\n") {
		s.t.Error("a request panicked")
	}
	if s.changed == 0 {
		s.t.Error("it was never looked whether a refusal has changed something")
	}
	s.must("PUT", "/v1/access", `{"enabled":false}`, nil)
	s.must("POST", "/v1/projects", `{"name":"afterwards"}`, nil)
	s.submit(`{"name":"after","project":"afterwards","command":["fake"]}`)
	// Whether it runs depends on what was cordoned, and on who holds the GPUs; that the
	// scheduler has looked at it does not.
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var w api.Workload
		if s.must("GET", "/v1/projects/afterwards/workloads/after", "", &w); w.Phase != "Submitted" {
			break
		} else if time.Now().After(deadline) {
			s.t.Fatalf("afterwards a workload is %s: %s", w.Phase, w.Message)
		}
	}
	s.must("GET", "/v1/projects/afterwards/workloads/after/why", "", nil)
}
