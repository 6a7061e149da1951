package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

func TestProjectRulesAreChanged(t *testing.T) {
	t.Parallel()
	const old = `{"name":"vision","timeLimit":{"training":"12h","workspace":"2h"},"budgetGpuHours":10,"budgetPeriod":"1d","checks":[{"name":"legal","type":"approval"}]}`
	for args, want := range map[string]string{
		"--time-limit training=1h":                          `{"checks":[{"name":"legal","type":"approval"}],"timeLimit":{"training":"1h","workspace":"2h"},"budgetGpuHours":10,"budgetPeriod":"1d"}`,
		"--time-limit training= --idle-limit workspace=30m": `{"checks":[{"name":"legal","type":"approval"}],"timeLimit":{"workspace":"2h"},"idleLimit":{"workspace":"30m"},"budgetGpuHours":10,"budgetPeriod":"1d"}`,
		"--budget 100h/30d --check legal=":                  `{"timeLimit":{"training":"12h","workspace":"2h"},"budgetGpuHours":100,"budgetPeriod":"30d"}`,
		"--budget 0":                                        `{"checks":[{"name":"legal","type":"approval"}],"timeLimit":{"training":"12h","workspace":"2h"}}`,
		"--clear":                                           `{}`,
		"--clear --budget 1.5/7d":                           `{"budgetGpuHours":1.5,"budgetPeriod":"7d"}`,
		"--clear --check name=legal,users=ann+bob":          `{"checks":[{"name":"legal","type":"approval","users":["ann","bob"]}]}`,
		"--check name=gate,url=http://h/a,when=queue":       `{"checks":[{"name":"legal","type":"approval"},{"name":"gate","type":"webhook","url":"http://h/a","when":"queue"}],"timeLimit":{"training":"12h","workspace":"2h"},"budgetGpuHours":10,"budgetPeriod":"1d"}`,
		"--check name=legal,type=approval,deadline=1d":      `{"checks":[{"deadline":"1d","name":"legal","type":"approval"}],"timeLimit":{"training":"12h","workspace":"2h"},"budgetGpuHours":10,"budgetPeriod":"1d"}`,
	} {
		got := ""
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/projects", func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = rw.Write([]byte(`{"items":[` + old + `],"next":""}`))
		})
		mux.HandleFunc("PUT /v1/projects/vision/rules", func(rw http.ResponseWriter, r *http.Request) {
			var body api.ProjectRules
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			data, _ := json.Marshal(body)
			got = string(data)
			_, _ = rw.Write([]byte(`{"name":"vision"}`))
		})
		w := newWorld(t, mux)
		if code := w.run(append([]string{"project", "set", "vision"}, strings.Fields(args)...)...); code != 0 {
			t.Errorf("%s: exit code %d: %s", args, code, w.err.String())
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", args, got, want)
		}
	}
}

func TestWrongProjectRules(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`{"items":[{"name":"vision"}]}`))
	})
	for args, c := range map[string]struct {
		code int
		says string
	}{
		"vision":                            {session.ExitUsage, "nothing to change"},
		"vision --time-limit 12h":           {session.ExitUsage, "KIND=DURATION"},
		"vision --time-limit training=soon": {session.ExitUsage, "not a length of time"},
		"vision --budget 100h":              {session.ExitUsage, "HOURS/PERIOD"},
		"vision --budget -1/1d":             {session.ExitUsage, "HOURS/PERIOD"},
		"vision --budget NaN/1d":            {session.ExitUsage, "HOURS/PERIOD"},
		"vision --check legal":              {session.ExitUsage, "is not understood"},
		"vision --check type=approval":      {session.ExitUsage, "has no name"},
		"vision --check name=a,name=b":      {session.ExitUsage, "twice"},
		"vision --check none=":              {session.ExitNotFound, "has no check"},
		"visoin --clear":                    {session.ExitNotFound, "did you mean vision?"},
	} {
		w := newWorld(t, h)
		if code := w.run(append([]string{"project", "set"}, strings.Fields(args)...)...); code != c.code || !strings.Contains(w.err.String(), c.says) {
			t.Errorf("%s: exit code %d: %s; want %d, %q", args, code, w.err.String(), c.code, c.says)
		}
	}
}
