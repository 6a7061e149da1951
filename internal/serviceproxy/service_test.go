package serviceproxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/serviceproxy"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
	"github.com/musterhq/muster/internal/timeseries"
)

// within bounds every wait; what is waited for takes a fraction of it.
const within = 60 * time.Second

// site is a backend whose tasks run nothing, and which answers for each of them
// with a web server of the test.
type site struct {
	*fakebackend.Backend
	mu      sync.Mutex
	servers map[core.TaskID]*httptest.Server
	handler func(core.TaskID) http.Handler
}

func (p *site) Exec(context.Context, core.TaskID, backend.ExecOptions) (int, error) {
	return 0, backend.ErrUnsupported
}

func (p *site) Attach(context.Context, core.TaskID, backend.Streams) error {
	return backend.ErrUnsupported
}

func (p *site) Dial(ctx context.Context, id core.TaskID, _ int) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, err := p.Observe(ctx)
	if err != nil {
		return nil, err
	}
	runs := false
	for _, o := range seen {
		runs = runs || o.ID == id && o.State == core.TaskRunning
	}
	if !runs {
		return nil, backend.ErrNotRunning
	}
	if p.handler == nil { // nobody listens
		return nil, syscall.ECONNREFUSED
	}
	s := p.servers[id]
	if s == nil {
		s = httptest.NewServer(p.handler(id))
		p.servers[id] = s
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.Listener.Addr().String())
}

type world struct {
	t    *testing.T
	site *site
	ctl  *control.Control
}

func newWorld(t *testing.T, handler func(core.TaskID) http.Handler) *world {
	t.Helper()
	p := &site{Backend: fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 64000, 64<<30, 0, "")}), servers: map[core.TaskID]*httptest.Server{}, handler: handler}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	ctl := controltest.Begin(t, control.Options{Deps: draft.Deps{Store: memstore.New(), Log: log, Port: func() int { return 1 }}}, p)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		serviceproxy.New(serviceproxy.Config{Control: ctl, Log: log, Every: 50 * time.Millisecond}).Run(ctx)
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		for _, s := range p.servers {
			s.CloseClientConnections()
			s.Close()
		}
	})
	return &world{t: t, site: p, ctl: ctl}
}

func (w *world) document(text string) *spec.Document {
	w.t.Helper()
	doc, err := spec.Load([]byte("kind: inference\nname: svc\ncommand: [fake, run=forever]\nresources: {cpu: 100m}\n" + text))
	if err != nil {
		w.t.Fatal(err)
	}
	return doc
}

func (w *world) do(c draft.Work) {
	w.t.Helper()
	if err := w.ctl.Apply(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) workload() (*core.Workload, []core.Task) {
	w.t.Helper()
	x, err := w.ctl.Store().ByName(w.t.Context(), core.DefaultProject, "svc")
	if err != nil {
		w.t.Fatal(err)
	}
	tasks, err := w.ctl.Store().Tasks(w.t.Context(), x.ID, x.Attempt)
	if err != nil {
		w.t.Fatal(err)
	}
	return x, tasks
}

func (w *world) until(what string, cond func(*core.Workload, []core.Task) bool) *core.Workload {
	w.t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		x, tasks := w.workload()
		if cond(x, tasks) {
			return x
		}
		if time.Since(begun) > within {
			var all strings.Builder
			for _, t := range tasks {
				fmt.Fprintf(&all, "\n%+v", t)
			}
			w.t.Fatalf("still not: %s; it is %s (%s), wants %d, conditions %+v%s", what, x.Phase, x.Message, x.Replicas, x.Conditions, all.String())
		}
	}
}

func ready(tasks []core.Task) int {
	n := 0
	for _, t := range tasks {
		if t.Ready {
			n++
		}
	}
	return n
}

func ask(port int) (string, error) {
	c := http.Client{Timeout: within, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d/who", port))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, data)
	}
	return string(data), err
}

func named(id core.TaskID) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, id.Index) })
}

func TestBalancesOverReadyReplicas(t *testing.T) {
	var bad sync.Map // replicas whose probe fails
	w := newWorld(t, func(id core.TaskID) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if _, is := bad.Load(id.Index); is {
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(rw, id.Index)
		})
	})
	bad.Store(1, true)
	w.do(submission.Submit(submission.Submission{Doc: w.document("replicas: 3\nports: [8080]\nprobe: {path: /healthz, period: 50ms, failures: 1}\n"), User: "u", Actor: "user:u"}))
	x := w.until("two are ready", func(x *core.Workload, ts []core.Task) bool { return ready(ts) == 2 && x.ServicePort > 0 })
	if x.Phase != lifecycle.Running || len(x.Conditions) == 0 || x.Conditions[0].Type != lifecycle.Degraded {
		t.Errorf("with 2 of 3 ready it is %s with %+v, want Running and Degraded", x.Phase, x.Conditions)
	}
	counts := map[string]int{}
	for range 40 {
		who, err := ask(x.ServicePort)
		if err != nil {
			t.Fatal(err)
		}
		counts[who]++
	}
	if counts["0"] < 10 || counts["2"] < 10 || counts["1"] > 0 {
		t.Errorf("requests went to %v, want about as many to 0 as to 2, and none to 1", counts)
	}
	bad.Delete(1)
	w.until("all are ready", func(x *core.Workload, ts []core.Task) bool { return ready(ts) == 3 && len(x.Conditions) == 0 })
	bad.Store(0, true)
	w.until("one is out again", func(_ *core.Workload, ts []core.Task) bool { return ready(ts) == 2 })
}

// Workers that nobody asks anything have no port: once they run they are ready.
// Where a port is named they are not before somebody listens on it.
func TestAReplicaWithoutAPortIsReadyAsItRuns(t *testing.T) {
	for ports, phase := range map[string]lifecycle.Phase{"": lifecycle.Running, "ports: [8080]\n": lifecycle.Starting} {
		w := newWorld(t, nil) // nobody listens
		w.do(submission.Submit(submission.Submission{Doc: w.document("replicas: 2\n" + ports), User: "u", Actor: "user:u"}))
		w.until("both run", func(_ *core.Workload, ts []core.Task) bool {
			return len(ts) == 2 && ts[0].State == core.TaskRunning && ts[1].State == core.TaskRunning
		})
		if phase == lifecycle.Running {
			w.until("both are ready", func(x *core.Workload, ts []core.Task) bool { return ready(ts) == 2 && x.Phase == phase })
			continue
		}
		x, _ := w.workload()
		pending, err := w.ctl.Explain(t.Context(), []core.WorkloadID{x.ID})
		if err != nil {
			t.Fatal(err)
		}
		all := pending[x.ID].Reasons
		if x.Phase != phase || len(all) != 1 || all[0].Token != schedule.Initializing || !strings.Contains(all[0].Note, "replica 0 on n runs, but its port") || all[0].Tasks != 2 {
			t.Errorf("with a port it is %s, for %+v", x.Phase, all)
		}
	}
}

func TestScalesToZeroAndUpOnARequest(t *testing.T) {
	slow := make(chan struct{})
	w := newWorld(t, func(id core.TaskID) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			<-slow
			fmt.Fprint(rw, id.Index)
		})
	})
	w.do(submission.Submit(submission.Submission{Doc: w.document("replicas: 0\nports: [8080]\nautoscale: {min: 0, max: 3, concurrency: 2, scaleDown: 1s}\n"), User: "u", Actor: "user:u"}))
	x := w.until("it runs without a replica", func(x *core.Workload, ts []core.Task) bool {
		return x.Phase == lifecycle.Running && len(ts) == 0 && x.ServicePort > 0
	})
	answers := make(chan error, 5)
	for range 5 { // of two at once each: three replicas
		go func() {
			_, err := ask(x.ServicePort)
			answers <- err
		}()
	}
	w.until("three replicas", func(x *core.Workload, ts []core.Task) bool { return x.Replicas == 3 && ready(ts) == 3 })
	close(slow)
	for range 5 {
		if err := <-answers; err != nil {
			t.Errorf("a request that waited for a replica: %v", err)
		}
	}
	w.until("none is left", func(x *core.Workload, ts []core.Task) bool {
		for _, t := range ts {
			if !t.State.Ended() {
				return false
			}
		}
		return x.Replicas == 0
	})
	who, err := ask(x.ServicePort)
	if err != nil || who == "0" {
		t.Errorf("after zero: answered by %q, %v; want a new replica", who, err)
	}
}

func TestRollingUpdateLosesNoRequest(t *testing.T) {
	w := newWorld(t, named)
	w.do(submission.Submit(submission.Submission{Doc: w.document("replicas: 3\nports: [8080]\n"), User: "u", Actor: "user:u"}))
	x := w.until("all are ready", func(x *core.Workload, ts []core.Task) bool { return ready(ts) == 3 && x.ServicePort > 0 })
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := ask(x.ServicePort); err != nil {
					t.Errorf("during the update: %v", err)
					return
				}
			}
		})
	}
	w.do(submission.Update(submission.UpdateRequest{Ref: draft.Ref{ID: x.ID}, Doc: w.document("replicas: 3\nports: [8080]\nenv: {V: '2'}\n"), Actor: "user:u"}))
	updating := false
	w.until("all are of the new generation", func(x *core.Workload, ts []core.Task) bool {
		fresh := 0
		for _, t := range ts {
			if t.Ready && t.Generation == 1 {
				fresh++
			}
		}
		for _, c := range x.Conditions {
			updating = updating || c.Type == lifecycle.Updating
		}
		return fresh == 3 && len(x.Conditions) == 0
	})
	close(stop)
	wg.Wait()
	if !updating {
		t.Error("the condition Updating was never there")
	}
}

func TestAddressStaysOverARestartOfTheServices(t *testing.T) {
	w := newWorld(t, named)
	w.do(submission.Submit(submission.Submission{Doc: w.document("ports: [8080]\n"), User: "u", Actor: "user:u"}))
	x := w.until("it is served", func(x *core.Workload, ts []core.Task) bool { return ready(ts) == 1 && x.ServicePort > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan struct{})
	go func() {
		serviceproxy.New(serviceproxy.Config{Control: w.ctl, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}).Run(ctx)
		close(second)
	}()
	// The address is taken by the first: the second opens another one and says so.
	y := w.until("another address", func(y *core.Workload, _ []core.Task) bool { return y.ServicePort != x.ServicePort })
	if _, err := ask(y.ServicePort); err != nil {
		t.Errorf("at the new address: %v", err)
	}
	cancel()
	<-second
}

// closing answers as HTTP/1.0 does: an answer ends where its connection ends.
// What a replica says before it has heard all of a request comes at once.
func closing(core.TaskID) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.0 200 OK\r\n\r\n")
		if r.Method == http.MethodGet {
			return
		}
		fmt.Fprintf(rw, "%d to come;", r.ContentLength)
		_ = rw.Flush()
		_, _ = io.CopyN(rw, rw, r.ContentLength)
		_ = rw.Flush()
	})
}

// TestAnswersAreWhole: an answer that begins while the request is still under
// way, if only its end has not been looked at, is not cut.
func TestAnswersAreWhole(t *testing.T) {
	w := newWorld(t, closing)
	w.do(submission.Submit(submission.Submission{Doc: w.document("replicas: 1\n")}))
	port := w.until("it is ready", func(x *core.Workload, tasks []core.Task) bool { return x.ServicePort > 0 && ready(tasks) == 1 }).ServicePort
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	client := &http.Client{Timeout: within, Transport: &http.Transport{}} // it keeps its connections, unlike the replica
	t.Cleanup(client.CloseIdleConnections)

	t.Run("in turns", func(t *testing.T) {
		sent, send := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, sent)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = 10
		go func() { _, _ = send.Write([]byte("first")) }()
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := send.Write([]byte("later")); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "10 to come;firstlater" {
			t.Errorf("answered %q, %v", got, err)
		}
	})
	t.Run("many at once", func(t *testing.T) {
		var wg sync.WaitGroup
		for c := range 8 {
			wg.Go(func() {
				for i := range 100 {
					body := strings.Repeat("x", []int{1, 300, 70_000, 1 << 20}[(c+i)%4])
					resp, err := client.Post(url, "text/plain", strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if want := fmt.Sprintf("%d to come;%s", len(body), body); err != nil || string(got) != want {
						t.Errorf("answered %d bytes of %d: %v", len(got), len(want), err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// What requests came to is measured: how many, how many failed, and how long until the
// answer began.
func TestRequestsAreMeasured(t *testing.T) {
	w := newWorld(t, func(core.TaskID) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				rw.WriteHeader(http.StatusInternalServerError)
			}
		})
	})
	w.do(submission.Submit(submission.Submission{Doc: w.document("replicas: 1\nports: [8080]\n"), User: "u", Actor: "user:u"}))
	x := w.until("it is ready", func(x *core.Workload, ts []core.Task) bool { return ready(ts) == 1 && x.ServicePort > 0 })
	last := func(metric string) float64 {
		v, known := w.ctl.Series().Last(timeseries.Key{Of: control.SeriesOfWorkload(x.ID), Metric: metric}, time.Now().Add(-within))
		if !known {
			return -1
		}
		return v
	}
	await := func(what string, cond func() bool) {
		t.Helper()
		for deadline := time.Now().Add(within); !cond(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v requests a second, %v failed, median %v s, 95 in 100 %v s", what, last(control.RequestRate), last(control.RequestErrors), last(control.RequestMedian), last(control.RequestP95))
			}
		}
	}
	await("nobody asks", func() bool { return last(control.RequestRate) == 0 })
	if last(control.RequestMedian) != -1 {
		t.Error("without requests a time is known")
	}
	get := func(path string) {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", x.ServicePort, path))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	await("some fail", func() bool {
		get("/")
		get("/bad")
		return last(control.RequestErrors) > 0 && last(control.RequestRate) > last(control.RequestErrors) && last(control.RequestMedian) > 0 && last(control.RequestP95) >= last(control.RequestMedian)
	})
	await("none fails any more", func() bool { get("/"); return last(control.RequestRate) > 0 && last(control.RequestErrors) == 0 })
	await("nobody asks any more", func() bool { return last(control.RequestRate) == 0 })
}
