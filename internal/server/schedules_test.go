package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

func TestSchedulesAreMadeAndChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path = "/v1/projects/default/schedules"
	var made api.Schedule
	w.ok("POST", path+"?dry_run=true", `{"name":"night","cron":"@daily","document":{"command":"sleep 1"}}`, http.StatusCreated, &made)
	var all api.ScheduleList
	if w.ok("GET", path, "", http.StatusOK, &all); len(all.Items) != 0 {
		t.Errorf("a dry run has made %+v", all.Items)
	}
	w.ok("POST", path, `{"name":"night","cron":"@daily","document":{"command":["fake"]}}`, http.StatusCreated, &made)
	if made.TimeZone != "UTC" || made.Concurrency != "allow" || *made.KeepCompleted != 3 || *made.KeepFailed != 1 || len(made.Next) != 3 || made.Version != 1 || made.Kind != "training" || made.Last != nil {
		t.Errorf("made %+v", made)
	}
	made = api.Schedule{}
	w.ok("PATCH", path+"/night", `{"concurrency":"forbid","startingDeadline":"90s"}`, http.StatusOK, &made)
	if made.Concurrency != "forbid" || made.StartingDeadline != "1m30s" || made.Version != 1 {
		t.Errorf("changed to %+v", made)
	}
	made = api.Schedule{}
	w.ok("PUT", path+"/night", `{"cron":"@weekly","timeZone":"Asia/Tokyo","keepFailed":0,"document":{"kind":"workspace","command":["fake"]}}`, http.StatusOK, &made)
	if made.Concurrency != "allow" || made.StartingDeadline != "" || *made.KeepFailed != 0 || made.Version != 2 || made.Kind != "workspace" {
		t.Errorf("replaced by %+v", made)
	}
	var run api.Workload
	w.ok("POST", path+"/night/run", "", http.StatusCreated, &run)
	if !strings.HasPrefix(run.Name, "night-") || run.Kind != "workspace" {
		t.Errorf("the run is %+v", run)
	}
	if w.ok("POST", path+"/night/suspend", "", http.StatusOK, &made); !made.Suspended || len(made.Next) != 0 || len(made.Runs) != 1 || made.Runs[0].Name != run.Name || made.Runs[0].Phase == "" {
		t.Errorf("suspended it is %+v", made)
	}
	made = api.Schedule{}
	if w.ok("POST", path+"/night/resume", "", http.StatusOK, &made); made.Suspended {
		t.Errorf("resumed it is %+v", made)
	}
	var assets api.TemplateList
	if w.ok("GET", "/v1/projects/-/assets", "", http.StatusOK, &assets); len(assets.Items) != 0 {
		t.Errorf("it is listed among assets: %+v", assets.Items)
	}
	for body, field := range map[string]string{
		`{"name":"x","cron":"61 * * * *","document":{"command":["fake"]}}`:                    "cron",
		`{"name":"x","cron":"@daily","timeZone":"Mars","document":{"command":["fake"]}}`:      "timeZone",
		`{"name":"x","cron":"@daily","document":{"command":["fake"],"name":"y"}}`:             "document.name",
		`{"name":"x","cron":"@daily","document":{"command":["fake"],"nonsense":1}}`:           "document",
		`{"name":"x","cron":"@daily","document":{"template":"nosuch"}}`:                       "template",
		`{"name":"x","cron":"@daily","startingDeadline":"soon","document":{"command":["x"]}}`: "startingDeadline",
	} {
		var text string
		if resp := w.call("POST", path, body, &text, "Content-Type", "application/json"); resp.StatusCode/100 != 4 || !strings.Contains(text, `"path":"`+field) || !strings.Contains(text, `"hint"`) {
			t.Errorf("%s: %d %s", body, resp.StatusCode, text)
		}
	}
	w.ok("DELETE", path+"/night?runs=true", "", http.StatusNoContent, nil)
}

// TestASchedulesRightsAreThoseOfItsWorkloads: by kind and owner, and not beyond what the
// one who asks may submit.
func TestASchedulesRightsAreThoseOfItsWorkloads(t *testing.T) {
	r := newRealm(t)
	r.person("ann", "l2-researcher", "vision")
	r.person("bob", "l2-researcher", "vision")
	r.person("mia", "ml-engineer", "vision")
	r.person("lead", "project-lead", "vision")
	r.person("zq-eve", "l2-researcher", "zq-hidden")
	r.must("POST", "/v1/roles", `{"name":"own-work","permissions":["create:trainings","read:trainings:own","update:trainings:own"]}`, nil)
	r.person("otto", "own-work", "vision")
	const path = "/v1/projects/vision/schedules"
	night := func(name, kind string) string {
		return fmt.Sprintf(`{"name":%q,"cron":"@yearly","document":{"kind":%q,"image":"x","command":["fake"]}}`, name, kind)
	}
	for _, c := range []struct {
		user, method, path, body string
		want                     int
	}{
		{"ann", "POST", path, night("anns", "training"), http.StatusCreated},
		{"ann", "POST", path, `{"name":"host","cron":"@yearly","document":{"command":["fake"]}}`, http.StatusForbidden},
		{"mia", "POST", path, night("mias", "training"), http.StatusForbidden},
		{"mia", "POST", path, night("mias", "inference"), http.StatusCreated},
		{"mia", "GET", path + "/anns", "", http.StatusNotFound},
		{"bob", "GET", path + "/anns", "", http.StatusOK},
		{"bob", "POST", path + "/anns/suspend", "", http.StatusForbidden},
		{"bob", "POST", path + "/anns/run", "", http.StatusForbidden},
		{"bob", "DELETE", path + "/anns", "", http.StatusForbidden},
		{"bob", "PUT", path + "/anns", `{"cron":"@daily","document":{"image":"y","command":["fake"]}}`, http.StatusForbidden},
		{"zq-eve", "GET", path + "/anns", "", http.StatusForbidden},
		{"otto", "GET", path + "/anns", "", http.StatusNotFound},
		{"otto", "PUT", path + "/anns", `{"cron":"@daily","document":{"image":"x","command":["fake","ottos"]}}`, http.StatusNotFound},
		{"otto", "PUT", path + "/ottos", `{"cron":"@daily","document":{"image":"x","command":["fake","ottos"]}}`, http.StatusOK},
		{"ann", "POST", path + "/anns/suspend", "", http.StatusOK},
		{"lead", "PATCH", path + "/anns", `{"cron":"@monthly"}`, http.StatusOK},
		{"lead", "PATCH", path + "/anns", `{"document":{"volumes":[{"hostPath":"/etc","path":"/etc2"}]}}`, http.StatusForbidden},
	} {
		if status, text := r.as(c.user, c.method, c.path, c.body); status != c.want {
			t.Errorf("%s %s as %s: %d %s, want %d", c.method, c.path, c.user, status, text, c.want)
		}
	}
	var s api.Schedule
	read := func() {
		t.Helper()
		_, text := r.as("ann", "GET", path+"/anns", "")
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
	}
	if read(); s.User != "ann" || s.Cron != "@monthly" {
		t.Errorf("its times are another's, and it is %s's at %s", s.User, s.Cron)
	}
	r.as("lead", "PATCH", path+"/anns", `{"document":{"command":["fake","other"]}}`)
	if read(); s.User != "lead" {
		t.Errorf("the lead has said what it runs, and it is %s's", s.User)
	}
	if _, text := r.as("mia", "GET", path, ""); strings.Contains(text, "anns") || !strings.Contains(text, "mias") {
		t.Errorf("mia sees %s", text)
	}
	if status, text := r.as("zq-eve", "GET", "/v1/projects/-/schedules", ""); status != http.StatusOK || strings.Contains(text, "anns") {
		t.Errorf("eve sees %d %s", status, text)
	}
}
