package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// act starts a bulk action and waits for its end.
func (w *world) act(asked api.NewBulkAction) api.BulkAction {
	w.t.Helper()
	body, err := json.Marshal(asked)
	if err != nil {
		w.t.Fatal(err)
	}
	var a api.BulkAction
	w.ok("POST", "/v1/bulk-actions", string(body), http.StatusAccepted, &a)
	for deadline := time.Now().Add(patience); a.EndedAt == nil; time.Sleep(5 * time.Millisecond) {
		w.ok("GET", "/v1/bulk-actions/"+a.ID, "", http.StatusOK, &a)
		if time.Now().After(deadline) {
			w.t.Fatalf("it does not end: %+v", a)
		}
	}
	return a
}

// One request does something with many; what each answered is listed, whoever
// asked, and what the action of one says is said for all.
func TestBulkActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []string
	for i := range 40 {
		// One never starts, also when those before it are stopped already.
		all = append(all, w.submit(fmt.Sprintf(`{"name":"a%02d","command":["fake","run=forever"],"resources":{"gpu":2},"preemptible":false,"hold":%t}`, i, i == 20)).ID)
	}
	a := w.act(api.NewBulkAction{Action: "change", Workloads: all, Options: json.RawMessage(`{"priority":"high"}`)})
	if a.Done != 40 || a.Refused != 0 || a.State != "done" || a.User == "" {
		t.Errorf("change: %+v", a)
	}
	if got := w.await("a00", "Running"); got.Priority != 125 {
		t.Errorf("priority %d, want that of high", got.Priority)
	}
	w.ok("POST", "/v1/projects/default/workloads/a39:stop", "", http.StatusOK, nil)
	a = w.act(api.NewBulkAction{Action: "stop", Workloads: append(all, all[0], "nobody"), Options: json.RawMessage(`{"message":"enough of it"}`)})
	if a.Total != 41 || a.Done != 39 || a.Refused != 2 {
		t.Errorf("stop: %+v", a)
	}
	var refused, page api.BulkOutcomeList
	w.ok("GET", "/v1/bulk-actions/"+a.ID+"/outcomes?refused=true", "", http.StatusOK, &refused)
	if len(refused.Items) != 2 || refused.Items[0].Name != "a39" || refused.Items[0].Problem.Code != "illegal_phase" || refused.Items[1].ID != "nobody" || refused.Items[1].Problem.Code != "not_found" {
		t.Errorf("refused: %+v", refused)
	}
	count := 0
	for next := "0"; next != ""; next = page.Next {
		page = api.BulkOutcomeList{}
		w.ok("GET", "/v1/bulk-actions/"+a.ID+"/outcomes?limit=7&cursor="+next, "", http.StatusOK, &page)
		count += len(page.Items)
	}
	if count != 41 {
		t.Errorf("%d outcomes are listed page by page, want 41", count)
	}
	got := w.await("a20", "Canceled")
	if last := got.Transitions[len(got.Transitions)-1]; !strings.Contains(last.Message, "enough of it") || last.Actor != "user:"+a.User {
		t.Errorf("its history says %+v", last)
	}
	w.await("a00", "Stopped")

	// What a filter means is looked up by the server.
	if a = w.act(api.NewBulkAction{Action: "delete", Filter: "name:a1* status:ended", Project: "default"}); a.Total != 10 || a.Done != 10 {
		t.Errorf("delete by filter: %+v", a)
	}
	var list api.BulkActionList
	w.ok("GET", "/v1/bulk-actions", "", http.StatusOK, &list)
	if len(list.Items) != 3 || list.Items[0].ID != a.ID {
		t.Errorf("%+v", list)
	}
	w.ok("POST", "/v1/bulk-actions/"+a.ID+"/cancel", "", http.StatusOK, &a) // it has ended, which is no error
	for body, field := range map[string]string{
		`{"action":"stop"}`: "workloads", `{"action":"stop","workloads":["a"],"filter":"b"}`: "filter", `{"action":"change","workloads":["a"]}`: "options",
		`{"action":"change","workloads":["a"],"options":{"command":"x"}}`: "command", `{"action":"delete","workloads":["a"],"options":{"x":1}}`: "options",
		`{"action":"stop","filter":"gpus>=x"}`: "filter", `{"action":"stop","workloads":["a"],"project":"default"}`: "project",
	} {
		if p := w.refused("POST", "/v1/bulk-actions", body, http.StatusUnprocessableEntity, "invalid"); len(p.Errors) == 0 || p.Errors[0].Path != field {
			t.Errorf("%s: %+v, want %s named", body, p, field)
		}
	}
	w.refused("GET", "/v1/bulk-actions/before-1", "", http.StatusGone, "not_found")
}
