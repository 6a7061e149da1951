package operations

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func hands(t *testing.T, change func(*Config)) *Hands {
	t.Helper()
	dir := t.TempDir()
	c := Config{
		Store: memstore.New(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: func() time.Time { return now },
		Credentials: func(context.Context, *core.Workload, string) ([]oci.Credential, error) { return nil, nil },
		BuildLogs:   filepath.Join(dir, "builds"), Models: filepath.Join(dir, "models"),
		Registry: oci.NewClient(oci.Options{}),
	}
	if change != nil {
		change(&c)
	}
	return New(c)
}

func workload(t *testing.T, doc string) *core.Workload {
	t.Helper()
	d, err := spec.Load([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return &core.Workload{
		ID: "01", Seq: 1, Name: "train", Project: core.DefaultProject, Kind: d.Kind, User: "ann", Spec: d, CreatedAt: now, Version: 1, PhaseAt: now,
		State: lifecycle.State{Phase: lifecycle.Reviewing}, Attempts: []core.Attempt{{}},
	}
}

func TestWebhook(t *testing.T) {
	answer, status := `{"decision":"approve","message":"fine"}`, http.StatusOK
	var asked map[string]any
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Errorf("the question is not JSON: %v", err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	h, w := hands(t, nil), workload(t, `{command: ["true"], resources: {gpu: 2}}`)
	check := core.CheckState{Name: "legal", Type: "webhook", When: "queue", URL: srv.URL}
	for _, c := range []struct {
		answer  string
		status  int
		verdict core.CheckVerdict
		retry   bool
		fails   string
	}{
		{`{"decision":"approve","message":"fine"}`, 200, core.CheckApproved, false, ""},
		{`{"decision":"reject"}`, 201, core.CheckRejected, false, ""},
		{`{"decision":"wait"}`, 200, core.CheckWaiting, false, ""},
		{`{"decision":"retry"}`, 200, core.CheckWaiting, true, ""},
		{`{"decision":"perhaps"}`, 200, "", false, "perhaps"},
		{`not json`, 200, "", false, "not JSON"},
		{``, 503, "", false, "503"},
	} {
		answer, status = c.answer, c.status
		a, err := h.Ask(t.Context(), w, check)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: %v, want an error that says %q", c.answer, err, c.fails)
			}
			continue
		}
		if err != nil || a.Verdict != c.verdict || a.Retry != c.retry {
			t.Errorf("%q: %+v, %v; want %s, retry %v", c.answer, a, err, c.verdict, c.retry)
		}
	}
	if asked["name"] != "train" || asked["check"] != "legal" || asked["gpus"] != 2.0 || asked["user"] != "ann" {
		t.Errorf("the hook was asked %v", asked)
	}
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server would not hear of the hang-up
		<-r.Context().Done()
	}))
	defer hangs.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	check.URL = hangs.URL
	if _, err := h.Ask(ctx, w, check); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hook that never answers: %v", err)
	}
}

// put stores a workload that used one GPU for some hours.
func put(t *testing.T, st *memstore.Store, w *core.Workload, hours float64) {
	t.Helper()
	term, err := st.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	end := now.Add(-time.Hour)
	task := &core.Task{
		ID: core.TaskID{Workload: w.ID}, Role: "task", Node: "n", Devices: []core.Share{{Device: "gpu-0", Milli: 1000}}, State: core.TaskSucceeded,
		PlacedAt: end.Add(-time.Duration(hours * float64(time.Hour))), EndedAt: end, ReleasedAt: end,
	}
	b := &store.Batch{
		Workloads: []*core.Workload{w}, Tasks: []*core.Task{task},
		Projects: []core.Project{{ID: core.DefaultProject, Rules: core.Rules{Budget: 10 * 3600, Period: 24 * time.Hour}}},
	}
	if _, err := st.Commit(t.Context(), term, b); err != nil {
		t.Fatal(err)
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		used    float64
		doc     string
		verdict core.CheckVerdict
	}{
		{3, `{command: ["true"], resources: {gpu: 1}}`, core.CheckApproved},
		{3, `{command: ["true"], resources: {gpu: 1}, maxDuration: 7h}`, core.CheckApproved},
		{3, `{command: ["true"], resources: {gpu: 2}, maxDuration: 4h}`, core.CheckWaiting},
		{10, `{command: ["true"], resources: {gpu: 1}}`, core.CheckWaiting},
	} {
		st := memstore.New()
		h := hands(t, func(c *Config) { c.Store = st })
		old := workload(t, `{command: ["true"], resources: {gpu: 1}}`)
		old.ID, old.Name, old.Phase = "00", "old", lifecycle.Completed
		put(t, st, old, c.used)
		a, err := h.Ask(t.Context(), workload(t, c.doc), core.CheckState{Name: "budget", Type: "budget"})
		if err != nil || a.Verdict != c.verdict {
			t.Errorf("%v hours used, %s: %+v, %v; want %s", c.used, c.doc, a, err, c.verdict)
		}
		if c.verdict == core.CheckWaiting && !strings.Contains(a.Message, "GPU-hours") {
			t.Errorf("it does not say why: %q", a.Message)
		}
	}
}

func needRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this takes root: the files of an image keep their owners")
	}
}

func images(t *testing.T) *oci.Store {
	t.Helper()
	s, err := oci.Open(oci.Options{Dir: filepath.Join(t.TempDir(), "images")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestBuildPutsCodeOnABase(t *testing.T) {
	needRoot(t)
	reg := ocitest.New(t, ocitest.Basic("ann", "pw"))
	reg.Push(t, "base:1", ocitest.Image(t, v1.Config{Env: []string{"A=1"}}, ocitest.Files(ocitest.File{Path: "etc/base", Body: "base"})))
	code := t.TempDir()
	if err := os.WriteFile(filepath.Join(code, "train.py"), []byte("print(1)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	store := images(t)
	creds := []oci.Credential{{Server: reg.Host, User: "ann", Password: "pw"}}
	h := hands(t, func(c *Config) {
		c.Images, c.Target = store, reg.Host+"/team"
		c.Credentials = func(context.Context, *core.Workload, string) ([]oci.Credential, error) { return creds, nil }
	})
	w := workload(t, `{workdir: `+code+`, build: {base: `+reg.Ref("base:1")+`, code: ".", env: {B: "2"}}}`)
	ref, err := h.Build(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(ref, reg.Host+"/team/default/train@sha256:") {
		t.Errorf("it was built as %q", ref)
	}
	img, err := store.Pull(t.Context(), ref, oci.PullOptions{Credentials: creds})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(img.Layers[len(img.Layers)-1], "workspace", "train.py"))
	if err != nil || string(data) != "print(1)\n" || img.Config.WorkingDir != "/workspace" || strings.Join(img.Config.Env, " ") != "A=1 B=2" {
		t.Errorf("code %q (%v), workdir %q, env %v", data, err, img.Config.WorkingDir, img.Config.Env)
	}
	log, err := os.ReadFile(h.buildLog(w.ID))
	if err != nil || !strings.Contains(string(log), "built "+ref) {
		t.Errorf("the build log says %q (%v)", log, err)
	}
	if err := h.Clean(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h.buildLog(w.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the build log is still there: %v", err)
	}
}

func TestBuildFailures(t *testing.T) {
	needRoot(t)
	reg := ocitest.New(t)
	h := hands(t, func(c *Config) { c.Images = images(t) })
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "Dockerfile"), []byte("FROM scratch\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir()) // no builder
	for doc, says := range map[string]string{
		`{build: {base: ` + reg.Ref("none:1") + `, target: ` + reg.Ref("x:1") + `}}`:                                             "none:1",
		`{build: {base: ` + reg.Ref("none:1") + `}}`:                                                                             "--registry",
		`{workdir: ` + empty + `, build: {base: scratch, code: nowhere, target: ` + reg.Ref("x:1") + `}}`:                        "build.code",
		`{build: {base: ` + reg.Ref("none:1") + `, pip: [einops], target: ` + reg.Ref("x:1") + `}}`:                              "runc",
		`{workdir: ` + empty + `, build: {base: scratch, code: ".", dockerfile: Dockerfile, target: ` + reg.Ref("x:1") + `}}`:    "buildah",
		`{workdir: ` + empty + `, build: {base: scratch, code: ".", dockerfile: Containerfile, target: ` + reg.Ref("x:1") + `}}`: "build.dockerfile",
	} {
		w := workload(t, doc)
		_, err := h.Build(t.Context(), w)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want an error that says %q", doc, err, says)
			continue
		}
		if log, _ := os.ReadFile(h.buildLog(w.ID)); !strings.Contains(string(log), says) {
			t.Errorf("%s: the log says %q", doc, log)
		}
	}
}

// failing is an installer whose commands fail.
type failing struct{}

func (failing) Install(context.Context, *oci.Image, string, []string, io.Writer) (string, func(), error) {
	return "", nil, errors.New("exit status 9")
}

func TestAFailedStepOfABuildIsCalledByItsName(t *testing.T) {
	needRoot(t)
	reg := ocitest.New(t)
	reg.Push(t, "base:1", ocitest.Image(t, v1.Config{}, ocitest.Files(ocitest.File{Path: "etc/base", Body: "base"})))
	h := hands(t, func(c *Config) { c.Images, c.Installer = images(t), failing{} })
	for steps, want := range map[string]string{
		`run: ["exit 9"]`:                "build.run failed: exit status 9",
		`run: ["exit 9"], pip: [einops]`: "build.pip, build.run failed: exit status 9",
		`apt: [git], pip: [einops]`:      "build.apt, build.pip failed: exit status 9",
	} {
		_, err := h.Build(t.Context(), workload(t, `{build: {base: `+reg.Ref("base:1")+`, target: `+reg.Ref("x:1")+`, `+steps+`}}`))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", steps, err, want)
		}
	}
}

func TestPublishAndServe(t *testing.T) {
	reg := ocitest.New(t)
	h := hands(t, func(c *Config) { c.Target = reg.Host + "/team" })
	dir := t.TempDir()
	w := workload(t, `{workdir: `+dir+`, command: ["true"], publish: {model: out, metadata: {accuracy: "0.93"},
		serve: {command: "serve $MODEL_DIR", port: 8080, replicas: 2, env: {A: b}}}}`)
	if _, _, err := h.Publish(t.Context(), w); err == nil || !strings.Contains(err.Error(), "publish.model") {
		t.Errorf("without a model: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "out", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"out/weights": "0123456789", "out/sub/config": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, doc, err := h.Publish(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if p.Size != 12 || p.Files != 2 || !strings.HasPrefix(p.Ref, reg.Host+"/team/default/train@sha256:") {
		t.Errorf("published %+v", p)
	}
	if doc.Name != "train-serve" || *doc.Replicas != 2 || doc.Env["A"] != "b" || doc.Kind != lifecycle.Inference {
		t.Errorf("it would be served by %+v", doc)
	}
	data, err := os.ReadFile(filepath.Join(doc.Env["MODEL_DIR"], "sub", "config"))
	if err != nil || string(data) != "{}" {
		t.Errorf("the served model holds %q, %v", data, err)
	}
	again, _, err := h.Publish(t.Context(), w)
	if err != nil || again != p {
		t.Errorf("published again: %+v, %v; want the same", again, err)
	}
	reg.Close()
	if _, _, err := h.Publish(t.Context(), w); err == nil {
		t.Error("published to a registry that is gone")
	}
}

func TestFollow(t *testing.T) {
	st := memstore.New()
	h := hands(t, func(c *Config) { c.Store, c.FollowFor = st, time.Minute })
	w := workload(t, `{command: ["true"]}`)
	w.Published = &core.Published{Service: "serve"}
	if err := h.Follow(t.Context(), w); err == nil || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("without a service: %v", err)
	}
	s := workload(t, `{kind: inference, command: ["true"], ports: [80]}`)
	s.ID, s.Name, s.Phase, s.Message = "02", "serve", lifecycle.Failed, "the image is not there"
	put(t, st, s, 0)
	if err := h.Follow(t.Context(), w); err == nil || !strings.Contains(err.Error(), "the image is not there") {
		t.Errorf("of a service that failed: %v", err)
	}
}

// TestFollowOfAServiceThatCrashes: it is not followed for as long as one may
// wait, once it has failed as often as it may.
func TestFollowOfAServiceThatCrashes(t *testing.T) {
	st := memstore.New()
	h := hands(t, func(c *Config) { c.Store, c.FollowFor = st, time.Hour })
	w := workload(t, `{command: ["true"]}`)
	w.Published = &core.Published{Service: "serve"}
	s := workload(t, `{kind: inference, command: ["true"], ports: [80]}`)
	s.ID, s.Name, s.Phase, s.Message = "02", "serve", lifecycle.Restarting, "its task exited with code 7"
	term, err := st.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	replica := &core.Task{ID: core.TaskID{Workload: s.ID, Attempt: s.Attempt}, Role: "replica", State: core.TaskFailed, Failures: crashesMost}
	if _, err := st.Commit(t.Context(), term, &store.Batch{Workloads: []*core.Workload{s}, Tasks: []*core.Task{replica}}); err != nil {
		t.Fatal(err)
	}
	if err := h.Follow(t.Context(), w); err == nil || !strings.Contains(err.Error(), "failed 5 times") || !strings.Contains(err.Error(), "exited with code 7") {
		t.Errorf("of a service that crashes: %v", err)
	}
}

func TestNamesOfImages(t *testing.T) {
	if got := byDigest("127.0.0.1:5000/a/b:v1", "sha256:00"); got != "127.0.0.1:5000/a/b@sha256:00" {
		t.Errorf("by digest: %q", got)
	}
	for ref, want := range map[string]bool{"localhost:1/a": true, "127.0.0.1/a": true, "ghcr.io/a": false, "[::1]:5/a": true} {
		if oci.Loopback(ref) != want {
			t.Errorf("Loopback(%q) is %v", ref, !want)
		}
	}
}

// TestBudgetOfADepartment: what projects use together counts above them.
func TestBudgetOfADepartment(t *testing.T) {
	st := memstore.New()
	h := hands(t, func(c *Config) { c.Store = st })
	for i, project := range []string{"seg", "det", "elsewhere"} {
		w := workload(t, `{command: ["true"], resources: {gpu: 1}}`)
		w.ID, w.Seq, w.Name, w.Project, w.Phase = core.WorkloadID(project), int64(i+1), project, core.ProjectID(project), lifecycle.Completed
		put(t, st, w, 4)
	}
	term, err := st.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	lab := core.Project{ID: "lab", Department: true, Rules: core.Rules{Budget: 9 * 3600, Period: 24 * time.Hour}}
	_, err = st.Commit(t.Context(), term, &store.Batch{Projects: []core.Project{
		lab, {ID: "vision", Department: true, Parent: "lab"}, {ID: "seg", Parent: "vision"}, {ID: "det", Parent: "lab"},
		{ID: "elsewhere", Rules: core.Rules{Budget: 9 * 3600, Period: 24 * time.Hour}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		project, length string
		verdict         core.CheckVerdict
	}{
		{"seg", "1h", core.CheckApproved}, {"seg", "2h", core.CheckWaiting}, {"elsewhere", "2h", core.CheckApproved},
	} {
		w := workload(t, `{command: ["true"], resources: {gpu: 1}, maxDuration: `+c.length+`}`)
		w.Project = core.ProjectID(c.project)
		a, err := h.Ask(t.Context(), w, core.CheckState{Name: "budget", Type: "budget"})
		if err != nil || a.Verdict != c.verdict || c.verdict == core.CheckWaiting && !strings.HasPrefix(a.Message, "department lab has used 8.00 of its 9.00 GPU-hours") {
			t.Errorf("%s of %s: %+v, %v; want %s", c.length, c.project, a, err, c.verdict)
		}
	}
}
