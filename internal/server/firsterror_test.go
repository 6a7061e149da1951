package server_test

import (
	"net/http"
	"testing"

	"github.com/musterhq/muster/api"
)

func TestTheFirstErrorTellsWhyATaskEnded(t *testing.T) {
	w := newWorld(t)
	first := func(name string) *api.FirstError {
		t.Helper()
		var r api.FirstErrorResult
		if resp := w.call("GET", "/v1/projects/default/workloads/"+name+"/first-error", "", &r); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		return r.Error
	}
	w.submit(`{"name":"good","command":["fake"]}`)
	w.await("good", "Completed")
	if e := first("good"); e != nil {
		t.Errorf("of one that went well: %+v", e)
	}
	w.submit(`{"name":"bad","command":["fake","exit=3"],"resources":{"gpu":1}}`)
	w.await("bad", "Failed")
	e := first("bad")
	if e == nil || e.Kind != "exit code" || e.ExitCode == nil || *e.ExitCode != 3 || e.Node != "node-1" || len(e.Devices) != 1 || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	w.refused("GET", "/v1/projects/default/workloads/bad/first-error?attempt=4", "", http.StatusNotFound, "not_found")
	w.refused("GET", "/v1/projects/default/workloads/none/first-error", "", http.StatusNotFound, "not_found")
	w.submit(`{"name":"waits","project":"none-yet","command":["fake"]}`)
	var r api.FirstErrorResult
	if resp := w.call("GET", "/v1/projects/none-yet/workloads/waits/first-error", "", &r); resp.StatusCode != http.StatusOK || r.Error != nil {
		t.Errorf("of one that waits: %s %+v", resp.Status, r.Error)
	}
}
