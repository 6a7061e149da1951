package server_test

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

func TestReportTellsCostWaitsAndEnds(t *testing.T) {
	w := newWorldOf(t, fakebackend.Node("node-1", 8000, 8<<30, 2, "Fake A100"))
	w.ok("PUT", "/v1/departments/lab", `{}`, http.StatusOK, nil)
	w.ok("PUT", "/v1/projects/vision", `{"parent":"lab","budgets":[{"gpuHours":5,"period":"day"},{"money":1,"period":"month","atEnd":"warn","eachUser":true}]}`, http.StatusOK, nil)
	var prices api.Prices
	w.ok("PUT", "/v1/prices", `{"version":0,"currency":"EUR","items":[{"perGpuHour":3600},{"gpuType":"A100","perGpuHour":7200}]}`, http.StatusOK, &prices)
	if prices.Version != 1 || len(prices.Items) != 2 {
		t.Errorf("prices are %+v", prices)
	}
	w.submit(`{"name":"good","project":"vision","command":["fake","run=300ms"],"resources":{"gpu":1,"cpu":1}}`)
	w.submit(`{"name":"bad","project":"vision","command":["fake","run=300ms","exit=3"],"resources":{"gpu":1,"cpu":1}}`)
	w.submit(`{"name":"small","command":["fake","run=10ms"],"resources":{"cpu":1}}`)
	for _, x := range [][3]string{{"vision", "good", "Completed"}, {"vision", "bad", "Failed"}, {"default", "small", "Completed"}} {
		await(t, x[1]+" to end", func() bool {
			var got api.Workload
			w.call("GET", "/v1/projects/"+x[0]+"/workloads/"+x[1], "", &got)
			return string(got.Phase) == x[2]
		})
	}
	var r api.UsageReport
	w.ok("GET", "/v1/report?by=department,gpu-type", "", http.StatusOK, &r)
	rows := map[string]api.ReportRow{}
	for _, x := range r.Items {
		rows[x.Department+"/"+x.GPUType] = x
	}
	lab := rows["lab/Fake A100"]
	if lab.GPUHours <= 0 || math.Abs(lab.Cost-lab.GPUHours*7200) > lab.Cost/1e6 || lab.Workloads != 2 || lab.Waits != 2 || lab.Ends["Completed"] != 1 || lab.Ends["Failed"] != 1 || lab.Lost <= 0 {
		t.Errorf("of the department: %+v", lab)
	}
	if x := rows["/"]; x.Workloads != 1 || x.GPUHours != 0 || x.Ends["Completed"] != 1 {
		t.Errorf("of what had no GPU: %+v", x)
	}
	if r.Currency != "EUR" || r.Total.Workloads != 3 || r.Total.Waits != 3 || math.Abs(r.Total.Cost-lab.Cost) > 1e-9 {
		t.Errorf("in all: %+v", r.Total)
	}
	var wrong api.Problem
	for query, says := range map[string]string{"by=moon": "department, project, pool, user", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "is not before"} {
		if resp := w.call("GET", "/v1/report?"+query, "", &wrong); resp.StatusCode < 400 || !strings.Contains(wrong.Detail+wrong.Hint, says) {
			t.Errorf("%s is answered %s: %+v", query, resp.Status, wrong)
		}
	}
	var budgets api.BudgetList
	w.ok("GET", "/v1/budgets?project=vision", "", http.StatusOK, &budgets)
	if len(budgets.Items) != 2 {
		t.Fatalf("budgets: %+v", budgets.Items)
	}
	for _, b := range budgets.Items {
		switch {
		case b.Money > 0 && (b.State != "over" || b.Used < 1 || math.Abs(b.Used-lab.Cost) > lab.Cost/10 || b.Currency != "EUR" || b.User == ""):
			t.Errorf("the budget of money is %+v, and %v was spent", b, lab.Cost)
		case b.Money == 0 && (b.State != "open" || b.Used <= 0 || b.Amount != 5 || b.AtEnd != "hold"):
			t.Errorf("the budget of GPU-hours is %+v", b)
		}
	}
	if resp := w.call("PUT", "/v1/projects/vision", `{"budgets":[{"gpuHours":5,"money":4,"period":"day"}]}`, &wrong); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(wrong.Detail, "of GPU-hours or of money") {
		t.Errorf("a budget of two sorts is answered %s: %+v", resp.Status, wrong)
	}
	if resp := w.call("PUT", "/v1/prices", `{"version":0,"currency":"EUR","items":[]}`, &wrong); resp.StatusCode != http.StatusConflict {
		t.Errorf("who has not seen the last prices is answered %s", resp.Status)
	}
}

// What waited is told by what for; a report is of a project or a person, where that is asked.
func TestReportTellsWhatWasWaitedForAndOfWhom(t *testing.T) {
	w := newWorldOf(t, fakebackend.Node("node-1", 8000, 8<<30, 1, "Fake A100"))
	w.ok("PUT", "/v1/departments/lab", `{}`, http.StatusOK, nil)
	w.ok("PUT", "/v1/projects/vision", `{"parent":"lab"}`, http.StatusOK, nil)
	w.submit(`{"name":"holder","project":"vision","command":["fake","run=forever"],"resources":{"gpu":1,"cpu":1}}`)
	w.submit(`{"name":"waits","command":["fake"],"resources":{"gpu":1,"cpu":1}}`)
	var r api.UsageReport
	await(t, "what waits to be counted", func() bool {
		w.ok("GET", "/v1/report", "", http.StatusOK, &r)
		return len(r.Waited) > 0 && r.Waited[0].Reason == "WaitingForCapacity" && r.Waited[0].Hours > 0 && len(r.Largest) == 1
	})
	if x := r.Largest[0]; x.Name != "holder" || x.Project != "vision" || x.Phase != "Running" || x.GPUHours <= 0 || math.Abs(x.GPUHours-r.Total.GPUHours) > 1e-9 {
		t.Errorf("what ran most is %+v, of %v GPU-hours", x, r.Total.GPUHours)
	}
	if !strings.Contains(strings.Join(r.Missing, " "), "is known since") {
		t.Errorf("of 30 days of which seconds are known it says %q", r.Missing)
	}
	user := r.Largest[0].User
	for query, want := range map[string][2]int{"project=vision": {1, 0}, "project=lab": {1, 0}, "project=default": {0, 1}, "project=nosuch": {0, 0}, "user=" + user: {1, 1}, "user=nobody": {0, 0}} {
		var of api.UsageReport
		w.ok("GET", "/v1/report?"+query, "", http.StatusOK, &of)
		if len(of.Largest) != want[0] || len(of.Waited) != want[1] || of.Total.Workloads != max(want[0]+want[1], 0) {
			t.Errorf("%s: %d ran, %d reasons, %d workloads, not %v", query, len(of.Largest), len(of.Waited), of.Total.Workloads, want)
		}
		if told := strings.Contains(strings.Join(of.Missing, " "), "there is no project or department"); told != (query == "project=nosuch") {
			t.Errorf("%s: not known is %q", query, of.Missing)
		}
	}
	// Who has to leave for somebody has not failed.
	w.ok("POST", "/v1/projects/vision/workloads/holder:preempt", `{}`, http.StatusOK, nil)
	await(t, "what had to leave to be told", func() bool {
		w.ok("GET", "/v1/report?project=vision", "", http.StatusOK, &r)
		return r.Total.Displaced > 0 && r.Total.Displaced == r.Total.Lost && r.Largest[0].Lost > 0
	})
}
