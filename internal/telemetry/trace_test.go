package telemetry_test

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/telemetry"
)

// receiver takes what the protocol's own types can read, and nothing else.
type receiver struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	spans  map[string]*trace.Span // by identity
	bodies map[string]bool        // what came; one that comes again was delivered again, as its sender heard no answer
	busy   int                    // so many requests are refused for now
	header http.Header
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, spans: map[string]*trace.Span{}, bodies: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.busy > 0 {
			r.busy--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(q.Body)
		if err != nil || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", q.URL.Path, q.Header.Get("Content-Type"), err)
		}
		r.header = q.Header
		if r.bodies[string(body)] {
			return
		}
		r.bodies[string(body)] = true
		// In its JSON, OTLP writes identities in hexadecimal, where protobuf's own
		// would be in base64.
		var export collector.ExportTraceServiceRequest
		if err := protojson.Unmarshal([]byte(base64Identities(t, string(body))), &export); err != nil {
			t.Errorf("not OTLP: %v in %s", err, body)
		}
		for _, rs := range export.ResourceSpans {
			if rs.Resource.Attributes[0].Value.GetStringValue() != "muster" {
				t.Errorf("resource %v", rs.Resource)
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					if r.spans[string(s.SpanId)] != nil {
						t.Errorf("span %s came twice", s.Name)
					}
					r.spans[string(s.SpanId)] = s
				}
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() map[string]*trace.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]*trace.Span{}
	for k, v := range r.spans {
		out[k] = v
	}
	return out
}

func TestAWorkloadsLifeIsATrace(t *testing.T) {
	r := receive(t)
	r.busy = 1 // it is tried again
	x := open(t, 2)
	tr := telemetry.NewTracer(telemetry.TraceOptions{Endpoint: r.URL, Headers: []string{"Authorization=Bearer x=y"}, Version: "1", Log: slog.New(slog.DiscardHandler)})
	go tr.Run(t.Context(), x.ctl)
	time.Sleep(50 * time.Millisecond)
	w := x.submit(`{"name":"twice","image":"img","command":["fake","init=Pulling/400ms","run=30ms","exit=1,0"],"resources":{"gpu":1},"retry":{"limit":1,"backoff":"10ms"}}`)
	x.await("it has completed", func() bool { return x.phase(w) == lifecycle.Completed })
	var root *trace.Span
	x.await("its root has come", func() bool {
		for _, s := range r.all() {
			if len(s.ParentSpanId) == 0 {
				root = s
			}
		}
		return root != nil
	})
	all := r.all()
	names := map[string]int{}
	for _, s := range all {
		names[s.Name]++
		if string(s.TraceId) != string(root.TraceId) || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("span %s is of another trace, or ends before it begins", s.Name)
		}
		if len(s.ParentSpanId) > 0 {
			p := all[string(s.ParentSpanId)]
			if p == nil {
				t.Errorf("span %s has no parent", s.Name)
			} else if s.StartTimeUnixNano < p.StartTimeUnixNano || s.EndTimeUnixNano > p.EndTimeUnixNano {
				t.Errorf("span %s (%d to %d) is not within %s (%d to %d)", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano, p.Name, p.StartTimeUnixNano, p.EndTimeUnixNano)
			}
		}
	}
	for name, n := range map[string]int{"workload twice": 1, "attempt 0": 1, "attempt 1": 1, "pull": 2, "run": 2, "queue": 2} {
		if names[name] < n {
			t.Errorf("%d spans %q, want %d; there are %v", names[name], name, n, names)
		}
	}
	if root.Status.Code != trace.Status_STATUS_CODE_OK || r.header.Get("Authorization") != "Bearer x=y" {
		t.Errorf("status %v, header %q", root.Status, r.header.Get("Authorization"))
	}
	first := core.Workload{ID: w.ID, Name: "twice", Project: "default"}
	env := telemetry.TraceEnv(&first)
	parent := ""
	for _, s := range all {
		if s.Name == "attempt 0" {
			parent = hex.EncodeToString(s.SpanId)
			if s.Status.Code != trace.Status_STATUS_CODE_ERROR {
				t.Errorf("attempt 0 ended with 1 and is %v", s.Status)
			}
		}
	}
	if env[0] != "TRACEPARENT=00-"+hex.EncodeToString(root.TraceId)+"-"+parent+"-01" || !strings.Contains(env[1], "muster.workload.name=twice") {
		t.Errorf("%q", env)
	}
}

// What is run again after its end is told anew, and only that: the receiver
// refuses a span that comes twice.
func TestWhatIsRunAgainIsToldOnce(t *testing.T) {
	r := receive(t)
	x := open(t, 2)
	tr := telemetry.NewTracer(telemetry.TraceOptions{Endpoint: r.URL, Version: "1", Log: slog.New(slog.DiscardHandler)})
	go tr.Run(t.Context(), x.ctl)
	time.Sleep(50 * time.Millisecond)
	w := x.submit(`{"name":"again","command":["fake","run=30ms","exit=1,0,0"],"retry":{"limit":1,"backoff":"10ms"}}`)
	roots := func() (all []*trace.Span) {
		for _, s := range r.all() {
			if len(s.ParentSpanId) == 0 {
				all = append(all, s)
			}
		}
		slices.SortFunc(all, func(a, b *trace.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
		return all
	}
	x.await("the first root has come", func() bool { return len(roots()) == 1 })
	if err := x.ctl.Apply(t.Context(), submission.Restart(draft.Ref{ID: w.ID}, "user:u")); err != nil {
		t.Fatal(err)
	}
	x.await("the second root has come", func() bool { return len(roots()) == 2 })
	first, second := roots()[0], roots()[1]
	if second.StartTimeUnixNano < first.EndTimeUnixNano || string(first.TraceId) != string(second.TraceId) {
		t.Errorf("the second, %v, does not follow the first, %v", second, first)
	}
	below := map[string]string{}
	for _, s := range r.all() {
		if strings.HasPrefix(s.Name, "attempt") {
			below[s.Name] = string(s.ParentSpanId)
		}
	}
	if want := map[string]string{"attempt 0": string(first.SpanId), "attempt 1": string(first.SpanId), "attempt 2": string(second.SpanId)}; !maps.Equal(below, want) {
		t.Errorf("the attempts are below %q, want %q", below, want)
	}
}

// base64Identities writes identities as protobuf's JSON has them.
func base64Identities(t *testing.T, body string) string {
	t.Helper()
	return identity.ReplaceAllStringFunc(body, func(field string) string {
		m := identity.FindStringSubmatch(field)
		raw, err := hex.DecodeString(m[2])
		if err != nil {
			t.Errorf("%s is not hexadecimal", field)
		}
		return `"` + m[1] + `":"` + base64.StdEncoding.EncodeToString(raw) + `"`
	})
}

var identity = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([^"]*)"`)
