package podlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
)

// within bounds every wait of these tests.
const within = time.Minute

// server is an API server that knows nothing but logs.
type server struct {
	*httptest.Server
	logs    func(w http.ResponseWriter, r *http.Request)
	dead    atomic.Bool // it ends every connection
	streams atomic.Int32
	probes  atomic.Int32
}

func serve(t *testing.T, logs func(w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{logs: logs}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.dead.Load() {
			panic(http.ErrAbortHandler)
		}
		if !strings.HasSuffix(r.URL.Path, "/log") {
			_, _ = io.WriteString(w, "{}")
			return
		}
		if r.URL.Query().Get("follow") == "" {
			s.probes.Add(1)
		} else {
			s.streams.Add(1)
		}
		s.logs(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// refuse answers as an API server does that cannot reach a kubelet.
func unreachable(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"dial tcp 10.0.0.1:10250: connect: connection refused","reason":"InternalError","code":500}`)
}

// bench has nothing but logs.
type bench struct {
	logs   *Logs
	starts apicall.Starting
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	known map[core.TaskID]TaskState
}

func feeder(t *testing.T, s *server, dir string) *bench {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := &bench{known: map[core.TaskID]TaskState{}}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.logs = New(dir, Source{
		API: client, Context: ctx, Go: p.wg.Go, Log: slog.New(slog.DiscardHandler), Starting: p.starts.Lately,
		Seen: func() bool { return true }, AwaitSeen: func(context.Context) error { return nil },
		Reach: func(ctx context.Context) error {
			return client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
		},
		Task: func(id core.TaskID) (TaskState, bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			x, ok := p.known[id]
			return x, ok
		},
	})
	p.logs.wait = patience{silent: 300 * time.Millisecond, gone: time.Second, first: 10 * time.Millisecond, most: 100 * time.Millisecond, urgent: 50 * time.Millisecond, afterEnd: within}
	p.logs.gates.wait = p.logs.wait
	t.Cleanup(func() { p.stop(); p.wg.Wait() })
	return p
}

// pod is that of a task, with its command at a stage.
func podAt(index int, stage string) *corev1.Pod {
	name := fmt.Sprintf("p-%d", index)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), CreationTimestamp: metav1.Time{Time: dawn}},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: naming.Container}}},
	}
	state := corev1.ContainerState{}
	began := metav1.Time{Time: dawn.Truncate(time.Second)}
	switch stage {
	case "running":
		state.Running = &corev1.ContainerStateRunning{StartedAt: began}
	case "ended":
		state.Terminated = &corev1.ContainerStateTerminated{StartedAt: began}
		pod.Status.Phase = corev1.PodSucceeded
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: naming.Container, State: state}}
	return pod
}

func (p *bench) tell(id core.TaskID, pod *corev1.Pod) {
	p.mu.Lock()
	p.known[id] = TaskState{State: podstatus.Of(id, pod, podstatus.Context{}).State, Pod: true}
	p.mu.Unlock()
	p.logs.PodSeen(id, pod)
}

func wholeLog(t *testing.T, p *bench, id core.TaskID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if p.logs.AwaitComplete(ctx, id); ctx.Err() != nil {
		t.Fatalf("the log of %s is not complete after %s", id, within)
	}
}

func readLog(t *testing.T, p *bench, id core.TaskID, o backend.LogOptions) string {
	t.Helper()
	r, err := p.logs.Open(t.Context(), id, o)
	if err != nil {
		t.Fatalf("Logs: %v", err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read logs: %v", err)
	}
	return string(data)
}

func lines(n int) []record {
	out := make([]record, n)
	for i := range out {
		out[i] = record{at: dawn.Add(time.Duration(i) * 37 * time.Millisecond), text: fmt.Sprintf("line %d", i)}
	}
	return out
}

// TestFeedGoesOnAfterBreaks: streams that break, nodes and API servers that are
// away for a while cost nothing of the output.
func TestFeedGoesOnAfterBreaks(t *testing.T) {
	t.Parallel()
	records := lines(200)
	var n atomic.Int32
	var back atomic.Bool // the API server was away, and is there again
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
		sent := kubelet(records, since)
		switch i := n.Add(1); {
		case i <= 4, i > 6 && !back.Load(): // it breaks a little later each time
			_, _ = io.WriteString(w, sent[:min(len(sent), int(min(i, 4))*300+7)])
			panic(http.ErrAbortHandler)
		case i <= 6:
			unreachable(w, r)
		default:
			_, _ = io.WriteString(w, sent)
		}
	})
	p := feeder(t, s, t.TempDir())
	p.tell(taskOne, podAt(0, "running"))
	for begun := time.Now(); n.Load() < 7; time.Sleep(time.Millisecond) {
		if time.Since(begun) > within {
			t.Fatal("nobody asks again")
		}
	}
	s.dead.Store(true)
	time.Sleep(2 * p.logs.wait.silent) // longer than a node's silence is borne
	p.tell(taskOne, podAt(0, "ended"))
	time.Sleep(2 * p.logs.wait.silent)
	back.Store(true)
	s.dead.Store(false)
	if got := readLog(t, p, taskOne, backend.LogOptions{Tail: -1, Follow: true}); got != output(records) {
		t.Errorf("the log has %d bytes, want %d:\n%s", len(got), len(output(records)), got)
	}
	wholeLog(t, p, taskOne)
}

// TestFeedKnowsItsOwnLog: a server that begins anew goes on with the log of a pod,
// also where that printed before the second in which it is said to have started,
// and begins a new one's behind what an earlier pod left.
func TestFeedKnowsItsOwnLog(t *testing.T) {
	t.Parallel()
	dir, records := t.TempDir(), lines(5)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
		_, _ = io.WriteString(w, kubelet(records, since))
	})
	ended := func(uid types.UID) *corev1.Pod {
		pod := podAt(0, "ended")
		pod.UID = uid
		pod.Status.ContainerStatuses[0].State.Terminated.StartedAt = metav1.Time{Time: dawn.Truncate(time.Second).Add(time.Second)}
		return pod
	}
	want := ""
	for _, uid := range []types.UID{"first", "first", "second", "second"} {
		if !strings.HasSuffix(want, string(uid)+"\n") {
			records[4].text = string(uid)
			want += output(records)
		}
		p := feeder(t, s, dir)
		p.tell(taskOne, ended(uid))
		wholeLog(t, p, taskOne)
		if got := logOf(t, dir); got != want {
			t.Errorf("after pod %s the log is\n%swant\n%s", uid, got, want)
		}
		p.stop()
		p.wg.Wait()
	}
}

// TestSilentNodes: tasks of a node that does not answer do not ask it one by
// one, and say at their end what is missing.
func TestSilentNodes(t *testing.T) {
	t.Parallel()
	s := serve(t, unreachable)
	p := feeder(t, s, t.TempDir())
	const n = 300
	for i := range n {
		p.tell(core.TaskID{Workload: "w", Index: i}, podAt(i, "running"))
	}
	time.Sleep(5 * p.logs.wait.silent)
	if first := s.streams.Load(); first > n {
		t.Errorf("%d streams were opened for %d tasks", first, n)
	}
	for i := range n {
		p.tell(core.TaskID{Workload: "w", Index: i}, podAt(i, "ended"))
	}
	for i := range n {
		id := core.TaskID{Workload: "w", Index: i}
		wholeLog(t, p, id)
		if got := readLog(t, p, id, backend.LogOptions{Tail: -1}); !strings.HasPrefix(got, "[muster] "+givenUp) || !strings.Contains(got, "connection refused") {
			t.Fatalf("the log of task %d is %q", i, got)
		}
	}
	if all, probes := s.streams.Load(), s.probes.Load(); all > n || probes > 100 {
		t.Errorf("%d streams and %d further questions, want at most %d and some", all, probes, n)
	}
}

// TestPodsThatAreGone: what had come is kept; that there is no more is said.
func TestPodsThatAreGone(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, kubelet(lines(2), time.Time{}))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	p := feeder(t, s, t.TempDir())
	p.tell(taskOne, podAt(0, "running"))
	r, err := p.logs.Open(t.Context(), taskOne, backend.LogOptions{Tail: -1, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := io.ReadFull(r, make([]byte, len(output(lines(2))))); err != nil {
		t.Fatal(err)
	}
	p.logs.PodGone(taskOne)
	rest, err := io.ReadAll(r)
	if want := "[muster] " + givenUp + "its pod is gone\n"; string(rest) != want || err != nil {
		t.Errorf("the rest is %q, %v; want %q", rest, err, want)
	}
	for begun := time.Now(); p.logs.feed(taskOne) != nil; time.Sleep(time.Millisecond) {
		if time.Since(begun) > within {
			t.Fatal("its feed is not forgotten")
		}
	}
}

// TestDeletedLogsStayAway: a task that still runs does not write them again.
func TestDeletedLogsStayAway(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	open := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		open++
		mu.Unlock()
		for _, x := range lines(1000) {
			if _, err := io.WriteString(w, kubelet([]record{x}, time.Time{})); err != nil {
				break
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
		<-r.Context().Done()
		mu.Lock()
		open--
		mu.Unlock()
	})
	p := feeder(t, s, t.TempDir())
	p.tell(taskOne, podAt(0, "running"))
	if got, err := p.logs.Open(t.Context(), taskOne, backend.LogOptions{Tail: -1}); err != nil {
		t.Fatal(err)
	} else {
		_ = got.Close()
	}
	if err := p.logs.Delete(t.Context(), taskOne.Workload); err != nil {
		t.Fatal(err)
	}
	p.tell(taskOne, podAt(0, "ended"))
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		mu.Lock()
		n := open
		mu.Unlock()
		if n == 0 {
			break
		}
		if time.Since(begun) > within {
			t.Fatal("the stream goes on")
		}
	}
	if _, err := p.logs.Open(t.Context(), taskOne, backend.LogOptions{Tail: -1}); !errors.Is(err, backend.ErrNoLogs) {
		t.Errorf("Logs: %v, want ErrNoLogs", err)
	}
	if err := p.logs.Delete(t.Context(), "../w"); err == nil {
		t.Error("a workload ID that leaves the folder is taken")
	}
}

// TestALateServerReadsOnce: a pod that ended while nobody was there.
func TestALateServerReadsOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, kubelet(lines(50), time.Time{}))
	})
	dir := t.TempDir()
	for range 3 { // each of these servers finds the same pod
		p := feeder(t, s, dir)
		p.tell(taskOne, podAt(0, "ended"))
		if got := readLog(t, p, taskOne, backend.LogOptions{Tail: -1}); got != output(lines(50)) {
			t.Errorf("the log is %q", got)
		}
		p.stop()
		p.wg.Wait()
	}
	if n := s.streams.Load(); n != 3 {
		t.Errorf("%d streams were opened, want one by each server", n)
	}
	if _, err := logfile.Last(logfile.Dir(dir).Index(taskOne)); err != nil {
		t.Error(err)
	}
}

// TestStreamsGiveWayToStarts: while pods are being started no stream is opened
// but for who wants it, and for what has ended; then all are.
func TestStreamsGiveWayToStarts(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, dawn.Format(time.RFC3339Nano)+" hello\n")
		w.(http.Flusher).Flush()
		if !strings.Contains(r.URL.Path, "p-3") {
			<-r.Context().Done()
		}
	})
	p := feeder(t, s, t.TempDir())
	p.logs.wait.yield = time.Hour
	done := p.starts.Begin()
	var ids []core.TaskID
	for i, stage := range []string{"running", "running", "running", "ended"} {
		ids = append(ids, core.TaskID{Workload: "w", Index: i})
		p.tell(ids[i], podAt(i, stage))
	}
	wholeLog(t, p, ids[3])
	r, err := p.logs.Open(t.Context(), ids[1], backend.LogOptions{Follow: true, Tail: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, len("hello"))); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if p.logs.feed(ids[0]).isComplete() || isClosed(p.logs.feed(ids[0]).there) || isClosed(p.logs.feed(ids[2]).there) {
		t.Error("a stream that nobody waits for was opened while pods are being started")
	}
	done()
	for _, id := range ids {
		if f := p.logs.feed(id); f != nil {
			select {
			case <-f.there:
			case <-time.After(within):
				t.Fatalf("nothing of %s came after the starts", id)
			}
		}
	}
}
