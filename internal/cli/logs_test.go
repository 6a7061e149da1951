package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// gangLogs is an API with one workload of several ranks. Each line of a log is
// its time in seconds, a space and its text.
func gangLogs(w api.Workload, logs map[string]string) http.Handler {
	mux := http.NewServeMux()
	const one = "/v1/projects/{project}/workloads/{name}"
	mux.HandleFunc("GET "+one, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		json.NewEncoder(rw).Encode(w) //nolint:errcheck // a test's own server
	})
	mux.HandleFunc("GET "+one+"/logs", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		text, ok := logs[q.Get("attempt")+"/"+q.Get("task")]
		if q.Get("part") != "" {
			text, ok = logs[q.Get("part")]
		}
		if !ok {
			rw.Header().Set("Content-Type", "application/problem+json")
			rw.WriteHeader(404)
			json.NewEncoder(rw).Encode(api.Problem{Status: 404, Code: "no_logs", Detail: "none"}) //nolint:errcheck // as above
			return
		}
		since, _ := time.Parse(time.RFC3339, q.Get("since"))
		rw.Header().Set(api.LogOffsetHeader, "0")
		for line := range strings.Lines(text) {
			stamp, said, _ := strings.Cut(line, " ")
			seconds, err := strconv.Atoi(stamp)
			if err != nil {
				fmt.Fprint(rw, line)
				continue
			}
			at := noon.Add(time.Duration(seconds) * time.Second)
			if at.Before(since) {
				continue
			}
			if q.Get("times") == "true" {
				fmt.Fprint(rw, at.Format("2006-01-02T15:04:05.000Z "))
			}
			fmt.Fprint(rw, said)
		}
	})
	return mux
}

func gang(ranks int, phase string, culprit *int) api.Workload {
	w := api.Workload{
		ID: "06gztkgw2k9wbq795g3my95h34", Name: "gang", Project: "default", Kind: "distributed", Phase: phase, Tasks: api.TaskCounts{Total: ranks},
		StartedAt: ptr(before(0)), Attempts: []api.Attempt{{StartedAt: ptr(before(0)), Culprit: culprit}},
	}
	for i := range ranks {
		role := "worker"
		if i == 0 {
			role = "master"
		}
		w.Attempts[0].Tasks = append(w.Attempts[0].Tasks, api.Task{Role: role, Index: i, Node: "n" + strconv.Itoa(i), State: "failed"})
	}
	return w
}

func TestMergedLogsAreInOrderOfTime(t *testing.T) {
	t.Parallel()
	logs := map[string]string{"0/0": "1 a\n4 b\n4 c\n", "0/1": "2 d\n3 e\n9 f", "0/2": "4 g\n"}
	for args, want := range map[string]string{
		"--rank all":              "[master 0] a\n[worker 1] d\n[worker 1] e\n[master 0] b\n[master 0] c\n[worker 2] g\n[worker 1] f\n",
		"--all-tasks":             "[master 0] a\n[worker 1] d\n[worker 1] e\n[master 0] b\n[master 0] c\n[worker 2] g\n[worker 1] f\n",
		"--rank 1-2":              "[worker 1] d\n[worker 1] e\n[worker 2] g\n[worker 1] f\n",
		"--task 0,2":              "[master 0] a\n[master 0] b\n[master 0] c\n[worker 2] g\n",
		"--rank 2":                "g\n",
		"--rank 0,1 --timestamps": "[master 0] 2026-11-21T12:00:01.000Z a\n[worker 1] 2026-11-21T12:00:02.000Z d\n[worker 1] 2026-11-21T12:00:03.000Z e\n[master 0] 2026-11-21T12:00:04.000Z b\n[master 0] 2026-11-21T12:00:04.000Z c\n[worker 1] 2026-11-21T12:00:09.000Z f\n",
		"--rank 0,1 --since 2026-11-21T12:00:04Z": "[master 0] b\n[master 0] c\n[worker 1] f\n",
		"":                     "d\ne\nf",
		"--failed --attempt 0": "d\ne\nf",
	} {
		w := newWorld(t, gangLogs(gang(3, "Failed", ptr(1)), logs))
		if code := w.run(append([]string{"logs", "gang"}, strings.Fields(args)...)...); code != 0 {
			t.Errorf("%s: exit code %d: %s", args, code, w.err.String())
		}
		if got := w.out.String(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", args, got, want)
		}
	}
}

func TestWrongLogs(t *testing.T) {
	t.Parallel()
	for args, c := range map[string]struct {
		code int
		says string
	}{
		"--rank 3":               {session.ExitNotFound, "has no task 3; it has 3 tasks, from 0"},
		"--rank 0,x":             {session.ExitUsage, "0,2-3"},
		"--rank 2-1":             {session.ExitUsage, "is not understood"},
		"--rank -1":              {session.ExitUsage, "is not understood"},
		"--attempt 1":            {session.ExitNotFound, "no attempt 1"},
		"--attempt x":            {session.ExitUsage, "is not a number"},
		"--rank 1 --failed":      {session.ExitUsage, "contradict"},
		"--first-error -f":       {session.ExitUsage, "contradicts"},
		"--build --rank 1":       {session.ExitUsage, "contradicts"},
		"--build":                {session.ExitNotFound, "has built no image"},
		"--since yesterday":      {session.ExitUsage, "neither an age nor an instant"},
		"--rank 2":               {session.ExitNotFound, "no output of that task"},
		"--attempt all --rank 2": {session.ExitNotFound, "no output of that task"},
		"--first-error --rank 0": {session.ExitNotFound, "no error was found in 1 line of 1 task of attempt 0; looked for Python exception, CUDA out of memory"},
		"--first-error --rank 2": {session.ExitNotFound, "in 0 lines of 0 tasks of attempt 0"},
	} {
		w := newWorld(t, gangLogs(gang(3, "Running", nil), map[string]string{"0/0": "1 a\n", "0/1": "2 b\n"}))
		if code := w.run(append([]string{"logs", "gang"}, strings.Fields(args)...)...); code != c.code || !strings.Contains(w.err.String(), c.says) {
			t.Errorf("%s: exit code %d: %s; want %d, %q", args, code, w.err.String(), c.code, c.says)
		}
	}
}

func TestEveryAttempt(t *testing.T) {
	t.Parallel()
	wl := gang(2, "Failed", nil)
	wl.Attempt = 1
	wl.Attempts[0].Reason, wl.Attempts[0].ExitCode = "Error", ptr(3)
	wl.Attempts = append(wl.Attempts, api.Attempt{Index: 1, StartedAt: ptr(before(0)), Tasks: wl.Attempts[0].Tasks})
	w := newWorld(t, gangLogs(wl, map[string]string{"0/0": "1 a\n", "1/0": "2 b\n", "1/1": "1 c\n"}))
	if code := w.run("logs", "gang", "--attempt", "all", "--rank", "all"); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got, want := w.out.String(), "[master 0] a\n[worker 1] c\n[master 0] b\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := w.err.String(); got != "── attempt 0 ──\n── attempt 1 (Error (exit 3)) ──\n" {
		t.Errorf("%q", got)
	}
}

func TestBuildLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gangLogs(gang(2, "Building", nil), map[string]string{"build": "1 step one\n"}))
	if code := w.run("logs", "gang", "--build"); code != 0 || w.out.String() != "step one\n" {
		t.Errorf("exit code %d, %q, %q", code, w.out.String(), w.err.String())
	}
}

const trace = "%d Traceback (most recent call last):\n%[1]d   File \"a\", line 1\n%[1]d %[2]s\n"

// TestFirstError finds the rank that explains the others.
func TestFirstError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		logs    map[string]string
		culprit *int
		killed  bool // rank 1, for its memory, at second 50
		want    string
	}{
		"the earliest": {map[string]string{
			"0/0": "1 ok\n" + fmt.Sprintf(trace, 30, "ValueError: late"), "0/1": "1 ok\n" + fmt.Sprintf(trace, 20, "ValueError: early"),
		}, ptr(0), false, "Python exception, worker 1 on n1, attempt 0, line 2, 12:00:20.000: ValueError: early\n"},
		"a cause behind its echo": {map[string]string{
			"0/0": fmt.Sprintf(trace, 20, "RuntimeError: Connection closed by peer"), "0/1": fmt.Sprintf(trace, 22, "ValueError: cause"),
		}, nil, false, "line 1, 12:00:22.000: ValueError: cause\n"},
		"an echo long before": {map[string]string{
			"0/0": fmt.Sprintf(trace, 20, "RuntimeError: Connection closed by peer"), "0/1": fmt.Sprintf(trace, 600, "ValueError: later"),
		}, nil, false, "RuntimeError: Connection closed by peer\n"},
		"at the same moment, what failed first": {map[string]string{
			"0/0": fmt.Sprintf(trace, 20, "ValueError: a"), "0/1": fmt.Sprintf(trace, 20, "ValueError: b"),
		}, ptr(1), false, "ValueError: b\n"},
		"killed for memory": {map[string]string{
			"0/0": fmt.Sprintf(trace, 52, "RuntimeError: Connection reset by peer"), "0/1": "1 ok\n",
		}, ptr(1), true, "killed for memory, worker 1 on n1, attempt 0, 12:00:50.000: the memory limit was reached\n"},
	} {
		wl := gang(2, "Failed", c.culprit)
		if c.killed {
			at := api.Time(noon.Add(50 * time.Second))
			wl.Attempts[0].Tasks[1].Reason, wl.Attempts[0].Tasks[1].Message, wl.Attempts[0].Tasks[1].EndedAt = "OutOfMemory", "the memory limit was reached", &at
		}
		w := newWorld(t, gangLogs(wl, c.logs))
		if code := w.run("logs", "gang", "--first-error"); code != 0 {
			t.Errorf("%s: exit code %d: %s", name, code, w.err.String())
		}
		if got, _, _ := strings.Cut(w.out.String(), "\n"); !strings.HasSuffix(got+"\n", c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if len(c.logs) > 1 && !c.killed && !strings.Contains(w.err.String(), "also ") {
			t.Errorf("%s: the other is not told: %q", name, w.err.String())
		}
	}
}

// TestFollowingShowsThePastInOrder: what was written before comes in order of
// time, what comes then once, and unfinished lines whole.
func TestFollowingShowsThePastInOrder(t *testing.T) {
	t.Parallel()
	st := newStage(queuedWorkload(2))
	st.logs["0/0"], st.logs["0/1"] = "a\nb\nun", "c\n"
	times := map[string][]int{"0/0": {1, 3, 4}, "0/1": {2, 9}}
	st.times = func(key string, line int) time.Time { return noon.Add(time.Duration(times[key][line]) * time.Second) }
	st.step("Running", "", func(w *api.Workload) { task(w, 0, "running"); task(w, 1, "running") })
	w := newWorld(t, st.mux)
	code := make(chan int, 1)
	go func() { code <- w.run("logs", "-f", "it") }()
	until(t, &w.out, "[master 0] b")
	st.mu.Lock()
	st.logs["0/0"], st.logs["0/1"] = "a\nb\nunfinished\n", "c\nd\n"
	st.mu.Unlock()
	st.step("Completed", "", func(w *api.Workload) {
		w.Attempts[0].Tasks[0].State, w.Attempts[0].Tasks[1].State = "succeeded", "succeeded"
	})
	if got := <-code; got != session.ExitOK {
		t.Errorf("exit code %d: %s", got, w.err.String())
	}
	past, rest, _ := strings.Cut(w.out.String(), "[master 0] b\n")
	if past != "[master 0] a\n[worker 1] c\n" {
		t.Errorf("the past is %q", past)
	}
	got := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	slices.Sort(got)
	if want := []string{"[master 0] unfinished", "[worker 1] d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRanksHaveColours(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gangLogs(gang(2, "Running", nil), map[string]string{"0/0": "1 a\n", "0/1": "2 b\n"}))
	w.terminal()
	w.run("logs", "gang", "--all-tasks")
	if got := w.out.String(); got != "\x1b[36m[master 0]\x1b[0m a\n\x1b[33m[worker 1]\x1b[0m b\n" {
		t.Errorf("%q", got)
	}
}
