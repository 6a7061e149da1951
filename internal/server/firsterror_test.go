package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

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

// A list learns in one request what the outputs of those that failed tell, and
// nothing of those whose outputs tell nothing.
func TestListsAreToldFirstErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for name, command := range map[string]string{
		"key": `["fake","log=Traceback (most recent call last):","log=  File \"train.py\", line 3, in <module>","log=KeyError: 'lr'","exit=1"]`,
		"mum": `["fake","log=bye","exit=1"]`, "good": `["fake"]`,
	} {
		ids = append(ids, w.submit(`{"name":"`+name+`","command":`+command+`}`).ID)
	}
	failed := w.await("key", "Failed")
	w.await("mum", "Failed")
	w.await("good", "Completed")
	for range 2 { // the second time as it was remembered
		var r api.WorkloadErrorList
		for deadline := time.Now().Add(patience); ; {
			w.ok("GET", "/v1/first-errors?workload="+strings.Join(ids, ",")+",nobody", "", http.StatusOK, &r)
			if r.Searched == 0 || time.Now().After(deadline) {
				break
			}
		}
		if want := (api.WorkloadError{ID: failed.ID, Kind: "Python exception", Title: "KeyError: 'lr'"}); len(r.Items) != 1 || r.Items[0] != want || r.Searched != 0 {
			t.Errorf("%+v", r)
		}
	}
}
