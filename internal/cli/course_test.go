package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// service is a workload that has come to all there is beside its phase.
func service() api.Workload {
	return api.Workload{
		ID: "06gztkgw2k9wbq795g3my95h37", Name: "chat", Project: "default", Kind: "inference", User: "ana", Priority: 80, Phase: "Running", Since: before(time.Hour),
		Conditions: []api.Condition{{Type: "Updating", Message: "1 of 2 replicas are still of the generation before", Since: before(2 * time.Minute)}},
		Image:      "127.0.0.1:5000/muster/chat@sha256:12", CreatedAt: before(2 * time.Hour), GPUSeconds: 7200, Tasks: api.TaskCounts{Total: 2, Running: 2, Starting: 1},
		Checks: []api.Check{
			{Name: "legal", Type: "approval", Verdict: "approved", By: "user:ann", At: ptr(before(90 * time.Minute)), Message: "ticket 4711"},
			{Name: "gate", Type: "webhook", Verdict: "asked", Tries: 2, AskAt: ptr(before(-time.Minute)), Deadline: ptr(before(-time.Hour))},
			{Name: "head", Type: "approval", Verdict: "waiting", Users: []string{"bob", "eve"}},
		},
		Replicas:  &api.Replicas{Wanted: 2, Running: 2, Ready: 1, Updated: 1, Generation: 3, URL: "http://127.0.0.1:30001"},
		Published: &api.Published{Ref: "acme/model:1", Digest: "sha256:34", Files: 3, Size: 5 << 20, Service: "chat-serve"},
		Attempts: []api.Attempt{{QueuedAt: ptr(before(2 * time.Hour)), StartedAt: ptr(before(time.Hour)), RunningAt: ptr(before(time.Hour)), Tasks: []api.Task{
			{Role: "replica", Index: 4, Node: "n1", State: "running", Ready: true, Generation: 3, Port: 30100, StartedAt: ptr(before(time.Hour))},
			{Role: "replica", Index: 3, Node: "n2", State: "running", Leaving: true, Generation: 2, Port: 30101, Restarts: 1, StartedAt: ptr(before(time.Hour))},
			{Role: "replica", Index: 5, Node: "n2", State: "starting", Waiting: "ContainerCreating", Message: "pulling 1.2/3.4 GB", Generation: 3},
		}}},
		Statuses: map[string]api.Status{"mcli": {Status: "RUNNING", Reason: "x"}},
		Spec:     json.RawMessage(`{"kind":"inference","command":["serve"],"image":"python:3.12","build":{"pip":["x"]},"ports":[8000],"secrets":["hf",{"name":"db","env":"DSN"}]}`),
	}
}

func courseAPI(t *testing.T, asked *[]string) http.Handler {
	mux := http.NewServeMux()
	write := func(w http.ResponseWriter, v any) { answer(w, http.StatusOK, v) }
	mux.HandleFunc("GET /v1/projects/{project}/workloads/{name}", func(w http.ResponseWriter, _ *http.Request) { write(w, service()) })
	mux.HandleFunc("POST /v1/projects/{project}/workloads/{verb}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, verb, _ := strings.Cut(r.PathValue("verb"), ":")
		*asked = append(*asked, fmt.Sprintf("%s %s", verb, body))
		write(w, service())
	})
	mux.HandleFunc("GET /v1/usage", func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RawQuery)
		list := api.UsageList{From: before(24 * time.Hour), To: before(0), Total: 5400, Items: []api.Usage{
			{Project: "vision", User: "ana", Workload: "train", GPUSeconds: 3600, Workloads: 1}, {Project: "vision", User: "ben", Workload: "eval", GPUSeconds: 1800, Workloads: 2},
		}}
		if r.URL.Query().Get("every") != "" {
			list.Items[0].Bucket, list.Items[1].Bucket = ptr(before(24*time.Hour)), ptr(before(12*time.Hour))
		}
		write(w, list)
	})
	mux.HandleFunc("GET /v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		write(w, api.ProjectList{Items: []api.Project{{Name: "default"}, {Name: "vision", ProjectSpec: api.ProjectSpec{ProjectRules: api.ProjectRules{
			TimeLimit: map[string]string{"training": "12h"}, IdleLimit: map[string]string{"workspace": "30m"}, BudgetHours: 100, BudgetPeriod: "30d",
			Checks: json.RawMessage(`[{"name":"legal","type":"approval","users":["ann","bob"]},{"name":"gate","type":"webhook","url":"http://h/a","when":"reservation"}]`),
		}}}}})
	})
	return mux
}

func TestCourseTexts(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"describe-service":         "describe chat",
		"describe-service-dialect": "describe chat --dialect mcli",
		"usage":                    "usage --by user,workload",
		"usage-every":              "usage --every 12h --utc",
		"project-describe":         "project describe vision",
		"project-list":             "project list",
		"words":                    "lifecycle --dialect runai-job --columns status,colour,end --no-headers",
		"words-codes":              "lifecycle --dialect modelarts --columns code,status,end",
	} {
		inBoth(t, name, strings.Fields(args), courseAPI(t, new([]string)), output)
	}
}

// TestVerbsAsk looks at what each verb sends, and at its one line.
func TestVerbsAsk(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][2]string{
		"approve chat":                           {"approve {}", "approved chat: Running(Updating)"},
		"approve workload chat --check a -m why": {`approve {"check":"a","message":"why"}`, "approved chat"},
		"reject chat -m no":                      {`reject {"message":"no"}`, "rejected chat"},
		"preempt chat":                           {"preempt {}", "preempting chat"},
		"move chat -m x":                         {`move {"message":"x"}`, "moving chat"},
		"scale chat 3 -m x":                      {`scale {"replicas":3,"message":"x"}`, "chat Running(Updating): 2 replicas wanted, 1 ready"},
		"scale run chat 0":                       {`scale {"replicas":0}`, "chat"},
		"update chat --set env.A=1":              {`update {"kind":"inference","image":"python:3.12","build":{"pip":["x"]},"command":["serve"],"env":{"A":"1"},"secrets":["hf",{"name":"db","env":"DSN"}],"ports":[8000]}`, "updating chat Running(Updating): 2 replicas wanted, 1 ready, 1 of generation 3"},
	} {
		var asked []string
		w := newWorld(t, courseAPI(t, &asked))
		if code := w.run(strings.Fields(args)...); code != 0 || len(asked) != 1 || asked[0] != want[0] || !strings.HasPrefix(w.err.String(), want[1]) {
			t.Errorf("%s: exit code %d, asked %q: %s; want %q", args, code, asked, w.err.String(), want)
		}
	}
	for _, args := range []string{"approve", "reject", "preempt", "move", "scale chat", "scale chat x", "scale chat -1", "scale chat 1001", "update", "update chat", "update chat --name x", "update a b --set env.A=1", "update chat --set replicas=x"} {
		var asked []string
		w := newWorld(t, courseAPI(t, &asked))
		if code := w.run(strings.Fields(args)...); code != session.ExitUsage || len(asked) > 0 {
			t.Errorf("%s: exit code %d, asked %q: %s", args, code, asked, w.err.String())
		}
	}
}

func TestUsageAsks(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                           "by=project",
		"-p vision -u ana --by user": "by=user&project=vision&user=ana",
		"--since 1d --to 12h":        "by=project&from=2026-11-20T12%3A00%3A00Z&to=2026-11-21T00%3A00%3A00Z",
		"--from 2026-11-01 --every 24h --by project,user": "by=project%2Cuser&every=24h0m0s&from=2026-11-01T00%3A00%3A00Z",
	} {
		var asked []string
		w := newWorld(t, courseAPI(t, &asked))
		if code := w.run(append([]string{"usage"}, strings.Fields(args)...)...); code != 0 || len(asked) != 1 || asked[0] != want {
			t.Errorf("%s: exit code %d, asked %q, want %q: %s", args, code, asked, want, w.err.String())
		}
	}
	for _, args := range []string{"--by gpu", "--from x", "--since 1d --from 1d", "--every soon", "--every 0s"} {
		w := newWorld(t, http.NotFoundHandler())
		if code := w.run(append([]string{"usage"}, strings.Fields(args)...)...); code != session.ExitUsage {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
}

// TestEveryWordIsExplained: on a terminal each state that a word is said of has
// a line of its own, whole.
func TestEveryWordIsExplained(t *testing.T) {
	t.Parallel()
	for _, d := range inspect.Dialects[1:] {
		w := newWorld(t, nil)
		w.terminal()
		if code := w.run("lifecycle", "--dialect", d, "--no-color"); code != 0 {
			t.Fatalf("%s: exit code %d: %s", d, code, w.err.String())
		}
		lines := strings.Split(strings.TrimSpace(w.out.String()), "\n")[1:]
		want := 0
		for _, word := range inspect.WordsOf(lifecycle.Dialect(d)) {
			want += max(len(word.How), 1)
			for _, how := range word.How {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, "  "+how) }) {
					t.Errorf("%s: %s: %q is missing", d, word.Status, how)
				}
			}
		}
		if len(lines) != want {
			t.Errorf("%s: %d lines, want %d", d, len(lines), want)
		}
		for _, form := range []string{"mermaid", "dot"} {
			w := newWorld(t, nil)
			if code := w.run("lifecycle", "--dialect", d, "--diagram", form); code != 0 || !strings.HasPrefix(w.out.String(), map[string]string{"mermaid": "stateDiagram-v2\n", "dot": "digraph "}[form]) {
				t.Errorf("%s as %s: exit code %d: %s", d, form, code, w.out.String())
			}
		}
	}
}
