package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// ok must succeed with a status.
func (w *world) ok(method, path, body string, status int, out any, header ...string) {
	w.t.Helper()
	var text string
	if out == nil {
		out = &text
	}
	if resp := w.call(method, path, body, out, header...); resp.StatusCode != status {
		w.t.Fatalf("%s %s: %s %s, want %d", method, path, resp.Status, text, status)
	}
}

const mergePatch = "application/merge-patch+json"

func TestProjectsOverHTTP(t *testing.T) {
	w := newWorld(t)
	var p api.Project
	w.ok("POST", "/v1/departments", `{"name":"lab","pools":{"default":{"gpu":{"quota":1}}}}`, http.StatusCreated, &p)
	if !p.Department || p.Name != "lab" || *p.Pools["default"].GPU.Quota != 1 || *p.Priority != 100 {
		t.Errorf("made %+v", p)
	}
	p = api.Project{}
	w.ok("POST", "/v1/projects?dry_run=true", `{"name":"vision","parent":"lab"}`, http.StatusCreated, &p)
	if p.Parent != "lab" {
		t.Errorf("of a dry run: %+v", p)
	}
	w.refused("GET", "/v1/projects/vision", "", http.StatusNotFound, "not_found")
	w.ok("PUT", "/v1/projects/vision", `{"parent":"lab","priority":7,"pools":{"default":{"gpu":{"quota":2,"limit":2},"memory":{"quota":"1536Mi"}}},"maxRunning":3}`, http.StatusOK, &p)
	if *p.Priority != 7 || p.MaxRunning != 3 || p.Pools["default"].Memory.Quota != "1536Mi" {
		t.Errorf("put %+v", p)
	}
	if len(p.Warnings) != 1 || p.Warnings[0] != "in pool default the quotas of vision add up to 2 GPUs; department lab has 1 GPU" {
		t.Errorf("warnings: %q", p.Warnings)
	}
	p = api.Project{}
	w.ok("PATCH", "/v1/projects/vision", `{"maxRunning":null,"pools":{"default":{"gpu":{"limit":null,"weight":3}}},"poolOrder":["default"]}`, http.StatusOK, &p, "Content-Type", mergePatch)
	gpu := p.Pools["default"].GPU
	if p.MaxRunning != 0 || *gpu.Quota != 2 || gpu.Limit != nil || *gpu.Weight != 3 || *p.Priority != 7 || len(p.PoolOrder) != 1 {
		t.Errorf("patched %+v, %+v", p, gpu)
	}
	for _, c := range []struct{ method, path, body, code, field string }{
		{"PATCH", "/v1/projects/vision", `{"qouta":1}`, "invalid", "qouta"},
		{"PATCH", "/v1/projects/vision", `{"pools":{"default":{"gpu":{"quota":"two"}}}}`, "invalid", "pools.default.gpu.quota"},
		{"PATCH", "/v1/projects/vision", `{"poolOrder":"default"}`, "invalid", "poolOrder"},
		{"PATCH", "/v1/projects/vision", `{"maxRunning":1.5}`, "invalid", "maxRunning"},
		{"PATCH", "/v1/projects/vision", `{"pools":{"nowhere":{}}}`, "invalid", "pools"},
		{"PATCH", "/v1/projects/vision", `{"pools":{"default":{"memory":{"quota":"much"}}}}`, "invalid", "pools.default.memory.quota"},
		{"PATCH", "/v1/projects/vision", `{"reclaimMinRuntime":"soon"}`, "invalid", "reclaimMinRuntime"},
		{"PATCH", "/v1/departments/lab", `{"parent":"vision"}`, "invalid", "parent"},
	} {
		got := w.refused(c.method, c.path, c.body, http.StatusUnprocessableEntity, c.code, "Content-Type", mergePatch)
		if len(got.Errors) == 0 || got.Errors[0].Path != c.field {
			t.Errorf("%s: %+v; want an error about %s", c.body, got.Errors, c.field)
		}
	}
	w.refused("POST", "/v1/projects", `{"name":"vision"}`, http.StatusConflict, "conflict")
	w.refused("POST", "/v1/projects", `{"name":"Vision"}`, http.StatusUnprocessableEntity, "invalid")
	w.refused("PATCH", "/v1/departments/vision", `{}`, http.StatusNotFound, "not_found", "Content-Type", mergePatch)
	w.refused("DELETE", "/v1/departments/lab", "", http.StatusConflict, "conflict")

	w.ok("POST", "/v1/departments/lab:stop", `{"note":"noon"}`, http.StatusOK, nil)
	p = api.Project{}
	w.ok("GET", "/v1/projects/vision", "", http.StatusOK, &p)
	if !p.Stopped || p.StoppedBy != "lab" || p.StopMode != "" || p.Note != "noon" {
		t.Errorf("below a stopped department: %+v", p)
	}
	w.ok("POST", "/v1/departments/lab:start", "", http.StatusOK, nil)
	w.ok("DELETE", "/v1/projects/vision", "", http.StatusNoContent, nil)
	w.ok("DELETE", "/v1/departments/lab", "", http.StatusNoContent, nil)
}

func TestNodesAndPoolsOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake","run=1h"],"resources":{"gpu":1}}`)
	w.await("a", "Running")
	var pool api.Pool
	w.ok("POST", "/v1/pools", `{"name":"gpu","selector":"gpu=a100","placement":{"gpu":"spread"}}`, http.StatusCreated, &pool)
	if pool.Nodes != 0 || len(pool.Warnings) != 1 {
		t.Errorf("a pool without nodes: %+v", pool)
	}
	var n api.Node
	w.ok("POST", "/v1/nodes/node-1/label", `{"set":{"gpu":"a100"}}`, http.StatusOK, &n)
	if n.Pool != "gpu" || n.Labels["gpu"] != "a100" {
		t.Errorf("labelled: %+v", n)
	}
	pool = api.Pool{}
	w.ok("PATCH", "/v1/pools/gpu", `{"topology":["block","rack"],"minRuntime":"10m"}`, http.StatusOK, &pool, "Content-Type", mergePatch)
	if pool.Nodes != 1 || pool.GPU != (api.Amount{Total: 2000, Used: 1000}) || pool.Placement.GPU != "spread" || pool.MinRuntime != "10m" {
		t.Errorf("patched: %+v", pool)
	}
	var st api.StandingList
	w.ok("GET", "/v1/quota?pool=gpu", "", http.StatusOK, &st)
	if len(st.Items) != 1 || st.Items[0].Project != "default" || st.Items[0].GPU.Used != 1 || st.Items[0].GPU.Guaranteed != nil {
		t.Errorf("quota: %+v", st.Items)
	}
	w.ok("POST", "/v1/nodes/node-1/taint", `{"taints":[{"key":"k","value":"v","effect":"PreferNoSchedule"}]}`, http.StatusOK, &n)
	if len(n.Taints) != 1 || n.Taints[0] != (api.Taint{Key: "k", Value: "v", Effect: "PreferNoSchedule"}) {
		t.Errorf("tainted: %+v", n.Taints)
	}
	var d api.Drain
	w.ok("POST", "/v1/nodes/node-1/drain?dry_run=true", `{}`, http.StatusOK, &d)
	if len(d.Items) != 1 || d.Items[0].Workload != "a" || d.Items[0].Action != "park" || d.Items[0].GPU != 1000 || d.Node.Cordoned {
		t.Errorf("of a dry run: %+v", d)
	}
	w.ok("POST", "/v1/nodes/node-1/drain", `{"note":"fan"}`, http.StatusOK, &d)
	if !d.Node.Draining || d.Node.Note != "fan" {
		t.Errorf("drained: %+v", d.Node)
	}
	w.await("a", "Reserved")
	w.ok("POST", "/v1/nodes/node-1/taint", `{"drop":["k:NoSchedule"]}`, http.StatusOK, nil)
	w.ok("POST", "/v1/nodes/node-1/uncordon", "", http.StatusOK, nil)
	w.await("a", "Running")
	w.refused("POST", "/v1/nodes/nobody/drain", `{}`, http.StatusNotFound, "not_found")
	w.refused("DELETE", "/v1/pools/gpu", "", http.StatusConflict, "conflict")
	w.refused("DELETE", "/v1/pools/default", "", http.StatusConflict, "conflict")
	w.refused("POST", "/v1/pools", `{"name":"x","selector":"gpu"}`, http.StatusUnprocessableEntity, "invalid")
}

func TestApplyOverHTTP(t *testing.T) {
	w := newWorld(t)
	manifest := `{"items":[
		{"kind":"Project","name":"vision","parent":"lab","pools":{"gpu":{"gpu":{"quota":1}}}},
		{"kind":"Department","name":"lab"},
		{"kind":"Pool","name":"gpu","selector":"gpu=a100"},
		{"kind":"Node","name":"node-1","labels":{"gpu":"a100"},"taints":[{"key":"k","effect":"NoSchedule"}]}]}`
	actions := func(a api.Applied) string {
		var out []string
		for _, item := range a.Items {
			out = append(out, item.Action)
		}
		return strings.Join(out, " ")
	}
	var a api.Applied
	for _, c := range []struct{ query, want string }{
		{"?dry_run=true", "created created created updated"}, {"", "created created created updated"}, {"", "unchanged unchanged unchanged unchanged"},
	} {
		a = api.Applied{}
		w.ok("POST", "/v1/apply"+c.query, manifest, http.StatusOK, &a)
		if got := actions(a); got != c.want {
			t.Errorf("apply%s: %s, want %s", c.query, got, c.want)
		}
	}
	var n api.Node
	w.ok("GET", "/v1/nodes/node-1", "", http.StatusOK, &n)
	if n.Pool != "gpu" || len(n.Taints) != 1 {
		t.Errorf("the node: %+v", n)
	}
	a = api.Applied{}
	w.ok("POST", "/v1/apply", `{"items":[{"kind":"Project","name":"vision","parent":"lab","priority":5,"poolOrder":["gpu"]}]}`, http.StatusOK, &a)
	var changes []string
	for _, c := range a.Items[0].Changes {
		changes = append(changes, c.Path+" "+string(c.From)+">"+string(c.To))
	}
	if got := strings.Join(changes, "; "); got != `poolOrder >["gpu"]; pools.gpu.gpu.quota 1>; priority 100>5` {
		t.Errorf("changes: %s", got)
	}
	for body, field := range map[string]string{
		`{"items":[{"kind":"Project","name":"a"},{"kind":"Project","name":"b","pool":{}}]}`:                                  "items[1].pool",
		`{"items":[{"kind":"project","name":"a"}]}`:                                                                          "items[0].kind",
		`{"items":[{"kind":"Project"}]}`:                                                                                     "items[0].name",
		`{"items":[{"kind":"Project","name":"a"},{"kind":"Project","name":"a"}]}`:                                            "items[1].name",
		`{"items":[{"kind":"Project","name":"a"},{"kind":"Project","name":"b","parent":"a"}]}`:                               "items[1].parent",
		`{"items":[{"kind":"Pool","name":"a","selector":"x"}]}`:                                                              "items[0].selector",
		`{"items":[{"kind":"Node","name":"node-1","taints":[{"key":"k","effect":"Never"}]}]}`:                                "items[0].taints",
		`{"items":[{"kind":"Project","name":"a","timeLimit":{"job":"1h"}}]}`:                                                 "items[0].timeLimit.job",
		`{"items":[{"kind":"Project","name":"a","stopMode":"half"}]}`:                                                        "items[0].stopMode",
		`{"items":[{"kind":"Project","name":"a","checks":[{"name":"x","type":"nonsense"}]}]}`:                                "items[0].checks[0].type",
		`{"items":[{"kind":"Project","name":"a","pools":{"gpu":{"gpu":{"quota":3,"limit":2}}}},{"kind":"Pool","name":"q"}]}`: "items[0].pools.gpu.gpu.limit",
	} {
		p := w.refused("POST", "/v1/apply", body, http.StatusUnprocessableEntity, "invalid")
		if len(p.Errors) == 0 || p.Errors[0].Path != field {
			t.Errorf("%s: %+v; want an error about %s", body, p.Errors, field)
		}
	}
	w.refused("GET", "/v1/projects/a", "", http.StatusNotFound, "not_found")
	w.refused("POST", "/v1/apply", `{"items":[{"kind":"Node","name":"nobody","cordon":true}]}`, http.StatusNotFound, "not_found")
	w.refused("POST", "/v1/apply", `{"items":[{"kind":"Department","name":"vision"}]}`, http.StatusConflict, "conflict")
}
