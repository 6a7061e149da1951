package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

func TestTemplatesBelongToWhoMadeThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path = "/v1/projects/default/templates"
	var made api.Template
	w.ok("POST", path, `{"name":"t","document":{"command":"sleep 1","env":{"A":"1"}}}`, http.StatusCreated, &made)
	if made.Version != 1 || made.Kind != "template" || made.Project != "default" || string(made.Document["env"]) != `{"A":"1"}` {
		t.Errorf("made %+v", made)
	}
	// Another user: the one that the token stands for.
	other := func(method, path, body string) (int, api.Problem) {
		t.Helper()
		req, err := http.NewRequest(method, w.tcp+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var p api.Problem
		_ = json.NewDecoder(resp.Body).Decode(&p) // of a success it is no problem
		return resp.StatusCode, p
	}
	const next = `{"name":"t","document":{"command":"sleep 2"}}`
	for _, c := range []struct{ method, body string }{{"PUT", next}, {"DELETE", ""}} {
		if status, p := other(c.method, path+"/t", c.body); status != http.StatusForbidden || p.Code != "forbidden" || p.Hint == "" {
			t.Errorf("%s by another: %d, %+v", c.method, status, p)
		}
	}
	if status, _ := other("GET", path+"/t", ""); status != http.StatusOK {
		t.Errorf("another reads it with %d", status)
	}
	w.ok("PUT", path+"/t", `{"name":"t","editors":["token"],"document":{"command":"sleep 1","env":{"A":"1"}}}`, http.StatusOK, &made)
	if made.Version != 1 {
		t.Errorf("the same document is version %d", made.Version)
	}
	if status, p := other("PUT", path+"/t", `{"name":"t","editors":["token"],"document":{"command":"sleep 2"}}`); status != http.StatusOK {
		t.Errorf("an editor changes it with %d: %+v", status, p)
	}
	w.ok("GET", path+"/t?version=1", "", http.StatusOK, &made)
	if string(made.Document["command"]) != `"sleep 1"` || len(made.Versions) != 2 || made.Versions[1].User != "token" {
		t.Errorf("version 1 is %+v", made)
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"the name of another": {"PUT", path + "/t", `{"name":"x","document":{"command":"a"}}`, http.StatusUnprocessableEntity, "invalid"},
		"a field unknown":     {"POST", path, `{"name":"u","document":{"comand":"a"}}`, http.StatusUnprocessableEntity, "invalid"},
		"a field of its own":  {"POST", path, `{"name":"u","document":{"name":"a"}}`, http.StatusUnprocessableEntity, "invalid"},
		"nothing":             {"POST", path, `{"name":"u","document":{}}`, http.StatusUnprocessableEntity, "invalid"},
		"no name":             {"POST", path, `{"name":"U u","document":{"command":"a"}}`, http.StatusUnprocessableEntity, "invalid"},
		"twice":               {"POST", path, next, http.StatusConflict, "conflict"},
		"no such version":     {"GET", path + "/t?version=9", "", http.StatusNotFound, "not_found"},
		"of no project":       {"POST", "/v1/projects/defualt/templates", `{"name":"u","document":{"command":"a"}}`, http.StatusNotFound, "not_found"},
		"nobody's":            {"GET", path + "/x", "", http.StatusNotFound, "not_found"},
		"an environment's":    {"POST", "/v1/projects/default/environments", `{"name":"u","document":{"resources":{"gpu":1}}}`, http.StatusUnprocessableEntity, "invalid"},
		"upon another":        {"POST", "/v1/projects/default/environments", `{"name":"u","environment":"x","document":{"image":"a"}}`, http.StatusUnprocessableEntity, "invalid"},
	} {
		var p api.Problem
		if resp := w.call(c.method, c.path, c.body, &p); resp.StatusCode != c.status || p.Code != c.code || p.Hint == "" && len(p.Errors) == 0 {
			t.Errorf("%s: %d, %+v", name, resp.StatusCode, p)
		}
	}
}

func TestAWorkloadIsMadeOfATemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok("POST", "/v1/projects/default/environments", `{"name":"e","document":{"env":{"A":"e","B":"e"}}}`, http.StatusCreated, nil)
	w.ok("POST", "/v1/projects/default/environments", `{"name":"f","document":{"env":{"B":"f"}}}`, http.StatusCreated, nil)
	w.ok("POST", "/v1/projects/default/templates", `{"name":"t","environment":"e","document":{"command":"sleep 1","env":{"B":"t"},"resources":{"gpu":1}}}`, http.StatusCreated, nil)
	for query, want := range map[string]string{
		"template=t":                 `{"A":"e","B":"t","C":"own"}`,
		"template=t&environment=f":   `{"B":"f","C":"own"}`,
		"template=t@1&environment=e": `{"A":"e","B":"e","C":"own"}`,
	} {
		var made struct {
			Spec struct {
				Env         json.RawMessage   `json:"env"`
				Annotations map[string]string `json:"annotations"`
			} `json:"spec"`
		}
		w.ok("POST", "/v1/projects/-/workloads?"+query, `{"env":{"C":"own"},"resources":{"gpu":0.5}}`, http.StatusCreated, &made)
		if string(made.Spec.Env) != want || made.Spec.Annotations["muster.dev/template"] != "t@1" {
			t.Errorf("%s: %+v, %s", query, made.Spec.Annotations, made.Spec.Env)
		}
	}
	for query, status := range map[string]int{"template=x": 404, "template=t@9": 404, "template=t@x": 422, "environment=t": 404} {
		var p api.Problem
		if resp := w.call("POST", "/v1/projects/default/workloads?"+query, `{}`, &p); resp.StatusCode != status {
			t.Errorf("%s: %d, %+v", query, resp.StatusCode, p)
		}
	}
}
