package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// made is what the tests look at of a workload.
type made struct {
	ID   string
	Spec struct {
		Env         map[string]string
		Command     json.RawMessage
		Annotations map[string]string
		Resources   struct {
			CPU json.RawMessage
			GPU json.RawMessage
		}
		Volumes []struct {
			Path, HostPath string
			ReadOnly       bool
		}
		Environment, Compute, Template string
		Data                           []any
	}
}

// A workload is made of a copy of what it names, wherever its document comes in.
func TestADocumentNamesItsAssets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const base = "/v1/projects/default/"
	w.ok("POST", base+"environments", `{"name":"env","document":{"command":["fake","run=forever"],"env":{"A":"env","B":"env"}}}`, http.StatusCreated, nil)
	w.ok("POST", base+"computes", `{"name":"small","document":{"resources":{"cpu":"100m"}}}`, http.StatusCreated, nil)
	w.ok("POST", base+"datasources", `{"name":"net","document":{"volumes":[{"hostPath":"/tmp","path":"/tmp"}],"env":{"DATA":"/tmp"}}}`, http.StatusCreated, nil)
	const doc = `{"environment":"env","compute":"small","data":["net"],"env":{"B":"own"}}`
	is := func(from string, m made, version string) {
		t.Helper()
		s := m.Spec
		if s.Environment+s.Compute+s.Template != "" || len(s.Data) > 0 {
			t.Errorf("%s: it still names assets: %+v", from, s)
		}
		if s.Env["A"] != "env" || s.Env["B"] != "own" || s.Env["DATA"] != "/tmp" || string(s.Resources.CPU) != `"0.1"` || len(s.Volumes) != 1 {
			t.Errorf("%s: %+v", from, s)
		}
		for kind, want := range map[string]string{"environment": "env@" + version, "compute": "small@1", "data": "net@1"} {
			if got := s.Annotations["muster.dev/"+kind]; got != want {
				t.Errorf("%s: %s is %s, not %s", from, kind, got, want)
			}
		}
	}
	var first made
	w.ok("POST", base+"workloads", doc, http.StatusCreated, &first)
	is("a submission", first, "1")

	// What changes later does not reach it, and not even a deletion does.
	w.ok("PUT", base+"environments/env", `{"name":"env","document":{"command":["fake","run=1h"],"env":{"A":"env"}}}`, http.StatusOK, nil)
	var now made
	w.ok("GET", base+"workloads/"+first.ID, "", http.StatusOK, &now)
	is("what was submitted before", now, "1")
	if string(now.Spec.Command) != `["fake","run=forever"]` {
		t.Errorf("its command is %s", now.Spec.Command)
	}

	var planned made
	w.ok("POST", base+"workloads?dry_run=true", doc, http.StatusOK, &planned)
	is("a dry run", planned, "2")
	var pinned made
	w.ok("POST", base+"workloads?environment=env@1&dry_run=true", doc, http.StatusOK, &pinned)
	is("a version", pinned, "1")
	var draft struct {
		made
		Problem *api.Problem
		Plan    *api.Plan
	}
	w.ok("POST", "/v1/drafts", doc, http.StatusOK, &draft)
	is("a draft", draft.made, "2")
	var together, single api.BulkResult
	for query, out := range map[string]*api.BulkResult{"?together=true": &together, "": &single} {
		w.ok("POST", "/v1/workloads:bulk"+query, "["+doc+"]", http.StatusOK, out)
		if len(out.Items) != 1 || out.Items[0].Workload == nil {
			t.Fatalf("in bulk%s: %+v", query, out)
		}
		var m made
		w.ok("GET", base+"workloads/"+out.Items[0].Workload.ID, "", http.StatusOK, &m)
		is("in bulk"+query, m, "2")
	}
	w.ok("POST", base+"workloads/"+first.ID+":stop", `{"gracePeriod":"0s"}`, http.StatusOK, nil)
	w.await(first.ID, "Stopped")
	var revised made
	w.ok("POST", base+"workloads/"+first.ID+":revise", `{"environment":"env","compute":"small","data":["net"],"env":{"B":"own"},"kind":"training"}`, http.StatusOK, &revised)
	is("another document", revised, "2")

	w.ok("DELETE", base+"computes/small", "", http.StatusNoContent, nil)
	var p api.Problem
	if resp := w.call("POST", base+"workloads", doc, &p); resp.StatusCode != http.StatusNotFound || !strings.Contains(p.Detail, `compute: project default has no compute resource "small"`) {
		t.Errorf("what is not there: %d, %+v", resp.StatusCode, p)
	}
	w.ok("POST", base+"computes", `{"name":"smell","document":{"resources":{"cpu":1}}}`, http.StatusCreated, nil)
	if w.call("POST", base+"workloads", doc, &p); p.Hint != "did you mean smell?" {
		t.Errorf("the hint is %q", p.Hint)
	}
}

// What is there for whom follows from where it is.
func TestAssetsHaveScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok("POST", "/v1/apply", `{"items":[{"kind":"Department","name":"lab"},{"kind":"Project","name":"vision","parent":"lab"},{"kind":"Project","name":"nlp"}]}`, http.StatusOK, nil)
	for scope, value := range map[string]string{"-": "system", "lab": "lab", "vision": "vision"} {
		w.ok("POST", "/v1/projects/"+scope+"/environments", `{"name":"e","document":{"env":{"WHO":"`+value+`"}}}`, http.StatusCreated, nil)
	}
	who := func(project string) string {
		t.Helper()
		var m made
		w.ok("POST", "/v1/projects/"+project+"/workloads?dry_run=true", `{"environment":"e","command":"true"}`, http.StatusOK, &m)
		return m.Spec.Env["WHO"]
	}
	if got := who("vision") + " " + who("nlp"); got != "vision system" {
		t.Errorf("the nearest are %s", got)
	}
	w.ok("DELETE", "/v1/projects/vision/environments/e", "", http.StatusNoContent, nil)
	if got := who("vision"); got != "lab" {
		t.Errorf("the nearest is now %s", got)
	}
	w.ok("DELETE", "/v1/projects/-/environments/e", "", http.StatusNoContent, nil)
	var p api.Problem
	if resp := w.call("POST", "/v1/projects/nlp/workloads", `{"environment":"e","command":"true"}`, &p); resp.StatusCode != http.StatusNotFound {
		t.Errorf("of another department: %d", resp.StatusCode)
	}

	// A data volume is shared with others, who do not write to it.
	const volumes = "/v1/projects/vision/datavolumes"
	w.ok("POST", volumes, `{"name":"corpus","sharedWith":["nlp"],"document":{"volumes":[{"hostPath":"/tmp","path":"/tmp"}]}}`, http.StatusCreated, nil)
	w.ok("POST", volumes, `{"name":"claimed","sharedWith":["nlp"],"document":{"volumes":[{"claim":"c","path":"/c"}]}}`, http.StatusCreated, nil)
	use := func(project, name string) (made, api.Problem, int) {
		t.Helper()
		var both struct {
			made
			api.Problem
		}
		resp := w.call("POST", "/v1/projects/"+project+"/workloads?dry_run=true", `{"data":["`+name+`"],"command":"true"}`, &both)
		return both.made, both.Problem, resp.StatusCode
	}
	if m, p, status := use("vision", "corpus"); status != http.StatusOK || len(m.Spec.Volumes) != 1 || m.Spec.Volumes[0].ReadOnly {
		t.Errorf("to its own: %d, %+v, %+v", status, m, p)
	}
	// Processes of the machine cannot be kept from writing, which is said.
	if _, p, _ := use("nlp", "corpus"); len(p.Errors) != 1 || p.Errors[0].Path != "volumes[0].readOnly" || !strings.Contains(p.Errors[0].Hint, "data volume corpus@1") {
		t.Errorf("to others: %+v", p)
	}
	if _, p, _ := use("default", "corpus"); p.Code != "not_found" {
		t.Errorf("to whom it is not shared with: %+v", p)
	}
	if _, p, _ := use("nlp", "claimed"); p.Code != "unsupported" || !strings.Contains(p.Detail, "namespace of project vision") {
		t.Errorf("a claim of another project: %+v", p)
	}
	var list api.TemplateList
	w.ok("GET", "/v1/projects/nlp/assets", "", http.StatusOK, &list)
	if len(list.Items) != 2 || list.Items[0].Name != "claimed" || list.Items[1].SharedWith[0] != "nlp" {
		t.Errorf("what nlp can use: %+v", list.Items)
	}
	for name, c := range map[string]struct{ path, body, code string }{
		"a name of both":     {"/v1/projects/vision/datasources", `{"name":"corpus","document":{"volumes":[{"hostPath":"/tmp","path":"/tmp"}]}}`, "conflict"},
		"shared with nobody": {volumes, `{"name":"x","sharedWith":["nobody"],"document":{"volumes":[{"hostPath":"/tmp","path":"/tmp"}]}}`, "not_found"},
		"what is not shared": {"/v1/projects/vision/computes", `{"name":"x","sharedWith":["nlp"],"document":{"resources":{"gpu":1}}}`, "invalid"},
		"no compute":         {"/v1/projects/vision/computes", `{"name":"x","document":{"image":"a"}}`, "invalid"},
		"wrong in itself":    {"/v1/projects/vision/computes", `{"name":"x","document":{"resources":{"gpu":{"count":-1}}}}`, "invalid"},
	} {
		var p api.Problem
		if w.call("POST", c.path, c.body, &p); p.Code != c.code || p.Hint == "" && len(p.Errors) == 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
