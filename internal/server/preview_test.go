package server_test

import (
	"net/http"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// Of four GPUs vision holds all, two of them over its quota; nlp waits for two
// and is guaranteed none.
func TestWhatIfSaysWhoStartsAndWhoMakesRoom(t *testing.T) {
	w := newWorldOf(t, fakebackend.Node("node-1", 8000, 8<<30, 4, "A100"))
	w.ok("PUT", "/v1/projects/vision", `{"pools":{"default":{"gpu":{"quota":4}}}}`, http.StatusOK, nil)
	w.ok("PUT", "/v1/projects/nlp", `{"pools":{"default":{"gpu":{"quota":0,"limit":4}}}}`, http.StatusOK, nil)
	for _, name := range []string{"a", "b"} {
		w.ok("POST", "/v1/projects/vision/workloads", `{"name":"`+name+`","command":["fake","run=forever"],"resources":{"gpu":2,"cpu":1}}`, http.StatusCreated, nil)
	}
	await(t, "vision to run", func() bool {
		var l api.StandingList
		w.call("GET", "/v1/quota?project=vision", "", &l)
		return l.Items[0].GPU.Used == 4
	})
	w.ok("POST", "/v1/projects/nlp/workloads", `{"name":"eager","command":["fake","run=forever"],"resources":{"gpu":2,"cpu":1}}`, http.StatusCreated, nil)
	await(t, "eager to wait", func() bool {
		var l api.StandingList
		w.call("GET", "/v1/quota?project=nlp", "", &l)
		return l.Items[0].Queued == 1
	})

	var p api.Preview
	w.ok("POST", "/v1/what-if", `{"projects":{"vision":{"pools":{"default":{"gpu":{"quota":2}}}},"nlp":{"pools":{"default":{"gpu":{"quota":2}}}}}}`, http.StatusOK, &p)
	if len(p.Starts) != 1 || p.Starts[0].Name != "eager" || p.Starts[0].GPUs != 2 {
		t.Errorf("starts %+v", p.Starts)
	}
	if len(p.Leaves) != 1 || p.Leaves[0].Project != "vision" || p.Leaves[0].Cause != "reclaim" {
		t.Errorf("leaves %+v", p.Leaves)
	}
	if len(p.Items) != 2 || p.Items[0].Name != "nlp" || len(p.Items[0].Changes) != 1 || p.Items[0].Changes[0].Path != "pools.default.gpu.quota" {
		t.Errorf("changes %+v", p.Items)
	}
	for _, s := range p.Standing {
		if s.After.Project == "vision" && (*s.Before.GPU.Guaranteed != 4 || s.Before.GPU.FairShare != 4 || *s.After.GPU.Guaranteed != 2 || s.After.GPU.FairShare != 2 || s.After.GPU.Over != 2) {
			t.Errorf("vision: %+v", s)
		}
	}
	if len(p.Standing) != 2 {
		t.Errorf("%d standings would be others", len(p.Standing))
	}

	// Nothing of it was done.
	var is api.Project
	w.ok("GET", "/v1/projects/vision", "", http.StatusOK, &is)
	if *is.Pools["default"].GPU.Quota != 4 {
		t.Errorf("it was done: %+v", is)
	}
	p = api.Preview{}
	w.ok("POST", "/v1/what-if", `{"projects":{"nlp":{"pools":{"default":{"gpu":{"limit":8}}}}}}`, http.StatusOK, &p)
	if len(p.Starts)+len(p.Leaves)+len(p.Waits)+len(p.Stays) != 0 || len(p.Standing) != 1 || *p.Standing[0].After.GPU.Limit != 8 {
		t.Errorf("a limit that nobody reaches: %+v", p)
	}
	w.refused("POST", "/v1/what-if", `{"projects":{}}`, http.StatusUnprocessableEntity, "invalid")
	w.refused("POST", "/v1/what-if", `{"projects":{"nobody":{}}}`, http.StatusNotFound, "not_found")
	w.refused("POST", "/v1/what-if", `{"projects":{"nlp":{"qouta":1}}}`, http.StatusUnprocessableEntity, "invalid")
}
