package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// stage is an API with one workload whose life the test directs.
type stage struct {
	mu      sync.Mutex
	w       api.Workload
	rev     int64
	changed chan struct{} // closed and made anew with every change
	breaks  int           // so many watches break after their first event
	logs    map[string]string
	cutLogs map[string]int // the first stream breaks after so many bytes
	stopped func()
	times   func(key string, line int) time.Time // when lines were written
	mux     *http.ServeMux
}

func newStage(w api.Workload) *stage {
	w.Version, w.Revision = 1, 1
	s := &stage{w: w, rev: 1, changed: make(chan struct{}), logs: map[string]string{}, cutLogs: map[string]int{}, mux: http.NewServeMux()}
	const one = "/v1/projects/{project}/workloads/{name}"
	s.mux.HandleFunc("GET "+one, func(w http.ResponseWriter, _ *http.Request) { s.answer(w) })
	s.mux.HandleFunc("POST /v1/projects/{project}/workloads", func(w http.ResponseWriter, _ *http.Request) { s.answer(w) })
	s.mux.HandleFunc("POST "+one, func(w http.ResponseWriter, _ *http.Request) {
		s.stopped()
		s.answer(w)
	})
	s.mux.HandleFunc("GET /v1/watch", s.watch)
	s.mux.HandleFunc("GET "+one+"/logs", s.log)
	return s
}

func (s *stage) answer(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusOK, s.w)
}

// step changes the workload.
func (s *stage) step(to, target string, change func(*api.Workload)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev++
	w := &s.w
	t := api.Transition{Seq: s.rev, From: w.Phase, Event: "event", To: to, Target: target, Attempt: w.Attempt}
	w.Phase, w.Target, w.Version, w.Revision = to, target, s.rev, s.rev
	if change != nil {
		change(w)
	}
	t.Attempt, t.Reason, t.Message = w.Attempt, w.Reason, w.Message
	w.Transitions = append(w.Transitions, t)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stage) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "event: synced\ndata: {}\n\n")
	w.(http.Flusher).Flush()
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	for {
		s.mu.Lock()
		now, changed, cut := s.w, s.changed, false
		var fresh []api.Transition
		for _, t := range now.Transitions {
			if t.Seq > after {
				fresh = append(fresh, t)
			}
		}
		if len(fresh) > 0 {
			now.Transitions, after = fresh, now.Revision
			data, _ := json.Marshal(now)
			fmt.Fprintf(w, "id: %d\nevent: workload\ndata: %s\n\n", now.Revision, data)
			w.(http.Flusher).Flush()
			if cut = s.breaks > 0; cut {
				s.breaks--
			}
		}
		s.mu.Unlock()
		if cut {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *stage) log(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	key := q.Get("attempt") + "/" + q.Get("task")
	s.mu.Lock()
	text, cut := s.logs[key], s.cutLogs[key]
	delete(s.cutLogs, key)
	s.mu.Unlock()
	offset, _ := strconv.Atoi(q.Get("offset"))
	line := strings.Count(text[:min(offset, len(text))], "\n")
	text = text[min(offset, len(text)):]
	w.Header().Set(api.LogOffsetHeader, strconv.Itoa(offset))
	if q.Get("times") == "true" {
		timed := ""
		for said := range strings.Lines(text) {
			timed += s.times(key, line).Format("2006-01-02T15:04:05.000Z ") + said
			line++
		}
		text = timed
	}
	if cut > 0 {
		fmt.Fprint(w, text[:cut])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	fmt.Fprint(w, text)
}

// task puts the state of a task into the present attempt.
func task(w *api.Workload, index int, state string) {
	for len(w.Attempts) <= w.Attempt {
		w.Attempts = append(w.Attempts, api.Attempt{Index: len(w.Attempts), Tasks: []api.Task{}})
	}
	a := &w.Attempts[w.Attempt]
	role := "worker"
	if index == 0 {
		role = "master"
	}
	a.Tasks = append(a.Tasks[:min(index, len(a.Tasks)):min(index, len(a.Tasks))], api.Task{Role: role, Index: index, State: state, StartedAt: ptr(before(0))})
}

const limit = 60 * time.Second

// until waits for the text to be there.
func until(t *testing.T, b *buffer, text string) {
	t.Helper()
	for deadline := time.Now().Add(limit); !strings.Contains(b.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q never came:\n%s", text, b.String())
		}
	}
}

func queuedWorkload(tasks int) api.Workload {
	return api.Workload{ID: "06gztkgw2k9wbq795g3my95h34", Name: "it", Project: "p", Phase: "Queued", Tasks: api.TaskCounts{Total: tasks}, Attempts: []api.Attempt{{Tasks: []api.Task{}}}}
}

// TestFollowing goes through two attempts with every connection broken once.
func TestFollowing(t *testing.T) {
	t.Parallel()
	st := newStage(queuedWorkload(1))
	st.breaks = 2
	st.logs["0/0"], st.logs["1/0"] = "one\ntwo\nthree", "four\n"
	st.cutLogs["0/0"] = 6
	w := newWorld(t, st.mux)
	code := make(chan int, 1)
	go func() { code <- w.run("run", "--follow", "--", "true") }()
	until(t, &w.err, "submitted it")
	st.step("Running", "", func(w *api.Workload) { task(w, 0, "running") })
	until(t, &w.out, "one")
	st.step("Terminating", "Queued", func(w *api.Workload) {
		w.Reason, w.Attempts[0].Reason = "Preempted", "Preempted"
		w.Attempts[0].Tasks[0].State = "failed"
	})
	st.step("Queued", "", func(w *api.Workload) { w.Attempt, w.Reason = 1, "" })
	until(t, &w.err, "── attempt 1 (Preempted) ──")
	st.step("Running", "", func(w *api.Workload) { task(w, 0, "running") })
	st.step("Failed", "", func(w *api.Workload) {
		w.Attempts[1].Tasks[0].State, w.Attempts[1].ExitCode = "failed", ptr(5)
		w.Reason, w.Message = "Error", "its task exited with code 5"
	})
	if got := <-code; got != session.ExitFailed {
		t.Errorf("exit code %d", got)
	}
	if got := w.out.String(); got != "one\ntwo\nthreefour\n" {
		t.Errorf("output %q", got)
	}
	last := 0
	for _, line := range []string{"Running", "Terminating→Queued (Preempted)", "── attempt 1 (Preempted) ──", "Queued", "Running", "Failed (Error): its task exited with code 5", "it Failed: exit code 5, Error, 2 attempts, 0 GPU-seconds"} {
		i := strings.Index(w.err.String()[last:], "\n"+line+"\n")
		if i < 0 {
			t.Fatalf("%q is missing after %q", line, w.err.String()[last:])
		}
		last += i + 1
	}
}

func TestFollowingAGang(t *testing.T) {
	t.Parallel()
	st := newStage(queuedWorkload(2))
	st.logs["0/0"], st.logs["0/1"] = "a\nb\n", "c\nd"
	st.cutLogs["0/1"] = 1 // in the middle of a line, which is shown once and whole
	w := newWorld(t, st.mux)
	code := make(chan int, 1)
	go func() { code <- w.run("run", "--follow", "--", "true") }()
	until(t, &w.err, "submitted it")
	st.step("Running", "", func(w *api.Workload) { task(w, 0, "running"); task(w, 1, "running") })
	st.step("Completed", "", func(w *api.Workload) {
		w.Attempts[0].Tasks[0].State, w.Attempts[0].Tasks[1].State = "succeeded", "succeeded"
	})
	if got := <-code; got != session.ExitOK {
		t.Errorf("exit code %d: %s", got, w.err.String())
	}
	got := strings.Split(strings.TrimSuffix(w.out.String(), "\n"), "\n")
	if a, b := slices.Index(got, "[master 0] a"), slices.Index(got, "[master 0] b"); a < 0 || b < a {
		t.Errorf("the order of a task is kept: %q", got)
	}
	slices.Sort(got)
	if want := []string{"[master 0] a", "[master 0] b", "[worker 1] c", "[worker 1] d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want each once and whole", got)
	}
}

func TestCtrlCDetaches(t *testing.T) {
	t.Parallel()
	st := newStage(queuedWorkload(1))
	st.stopped = func() { t.Error("it was stopped") }
	w := newWorld(t, st.mux)
	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- execute(ctx, w.s, Hooks{}, []string{"run", "--follow", "--", "true"}) }()
	until(t, &w.err, "submitted it")
	interrupt()
	if got := <-code; got != session.ExitInterrupted {
		t.Errorf("exit code %d", got)
	}
	if want := "Detached — still running. muster logs -f it · muster stop it\n"; !strings.HasSuffix(w.err.String(), want) {
		t.Errorf("%q", w.err.String())
	}
}

func TestCtrlCStopsWhenAsked(t *testing.T) {
	t.Parallel()
	st := newStage(queuedWorkload(1))
	st.stopped = func() { st.step("Canceled", "", func(w *api.Workload) { w.Reason = "StoppedByUser" }) }
	w := newWorld(t, st.mux)
	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, w.s, Hooks{}, []string{"run", "--follow", "--on-interrupt", "stop", "--", "true"})
	}()
	until(t, &w.err, "submitted it")
	interrupt()
	if got := <-code; got != session.ExitStopped {
		t.Errorf("exit code %d: %s", got, w.err.String())
	}
}

func TestTheSpinnerLeavesNoTrace(t *testing.T) {
	t.Parallel()
	st := newStage(queuedWorkload(1))
	w := newWorld(t, st.mux)
	w.terminal()
	w.s.IO.OutTerminal = false
	code := make(chan int, 1)
	go func() { code <- w.run("run", "--follow", "--no-color", "--", "true") }()
	until(t, &w.err, "\r\x1b[K⠙ it Queued")
	st.step("Completed", "", nil)
	if got := <-code; got != session.ExitOK {
		t.Errorf("exit code %d", got)
	}
	_, after, _ := strings.Cut(w.err.String(), "submitted")
	lastSpin := strings.LastIndex(after, "it Queued")
	if !strings.HasPrefix(after[strings.Index(after[lastSpin:], "\r")+lastSpin:], "\r\x1b[KCompleted\n") {
		t.Errorf("%q", after)
	}
}
