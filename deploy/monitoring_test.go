package deploy

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server"
	"github.com/musterhq/muster/internal/telemetry"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// exported is every metric that a server tells, with its labels, as
// Prometheus sees them.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	log, meter := slog.New(slog.NewTextHandler(io.Discard, nil)), telemetry.NewMeter()
	ctl := controltest.Begin(t, control.Options{Deps: draft.Deps{Store: memstore.New(), Log: log}}, fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 1000, 1<<30, 1, "A100")}))
	all := []prometheus.Collector{meter, telemetry.NewGauges(ctl)}
	srv := server.New(server.Config{Control: ctl, Clock: time.Now, Log: log, Collectors: all})
	rec := httptest.NewRecorder()
	srv.Probes().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	names := map[string][]string{}
	sample := regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? `)
	label := regexp.MustCompile(`([a-zA-Z_]+)="`)
	for _, m := range sample.FindAllStringSubmatch(rec.Body.String(), -1) {
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			names[m[1]] = append(names[m[1]], l[1])
		}
		names[m[1]] = append(names[m[1]], "")
	}
	if _, ok := names["muster_commits_total"]; !ok {
		t.Fatalf("the server's own metrics are not there:\n%.500s", rec.Body.String())
	}
	// What has counted nothing yet is described, though not shown.
	descs := make(chan *prometheus.Desc, 100)
	for _, c := range all {
		c.Describe(descs)
	}
	close(descs)
	form := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for d := range descs {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("%s is not understood", d)
		}
		labels := append(strings.Split(m[2], ","), "")
		names[m[1]] = append(names[m[1]], labels...)
		if strings.HasSuffix(m[1], "_seconds") {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				names[m[1]+suffix] = append(names[m[1]+suffix], append(labels, "le")...)
			}
		}
	}
	return names
}

// expressions are all queries of the dashboard and of the alerts, by where
// they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	var board struct {
		Panels []struct {
			Title   string
			Type    string
			ID      int
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	text, err := os.ReadFile("monitoring/grafana-dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for i, p := range board.Panels {
		if p.Type != "row" && len(p.Targets) == 0 || seen[p.ID] {
			t.Errorf("panel %q has no query, or the id of another", p.Title)
		}
		seen[p.ID] = true
		for _, q := range board.Panels[:i] {
			a, b := p.GridPos, q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q overlap", p.Title, q.Title)
			}
		}
		for _, x := range p.Targets {
			out["panel "+p.Title+": "+x.Expr] = x.Expr
		}
	}
	for _, v := range board.Templating.List {
		if v.Definition != "" {
			out["variable "+v.Name] = v.Definition
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	read(t, "monitoring/alerts.yaml", &rules)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("alert %s has no severity or no summary", r.Alert)
			}
			out["alert "+r.Alert] = r.Expr
		}
	}
	if len(out) < 25 {
		t.Fatalf("only %d queries were found", len(out))
	}
	return out
}

func TestDashboardAndAlertsAskForWhatThereIs(t *testing.T) {
	names := exported(t)
	name := regexp.MustCompile(`\b(?:muster|DCGM)_[a-zA-Z0-9_]+`)
	selector := regexp.MustCompile(`((?:muster|DCGM)_[a-zA-Z0-9_]+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`([a-zA-Z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	reasons := lifecycle.Phases()
	for where, expr := range expressions(t) {
		found := name.FindAllString(expr, -1)
		if len(found) == 0 {
			t.Errorf("%s asks for nothing of ours: %s", where, expr)
		}
		for _, n := range found {
			if _, ok := names[n]; !ok {
				t.Errorf("%s asks for %s, which nobody exports", where, n)
			}
		}
		for _, m := range selector.FindAllStringSubmatch(expr, -1) {
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(names[m[1]], l[1]) {
					t.Errorf("%s: %s has no label %s", where, m[1], l[1])
				}
				if m[1] == "muster_runs" && l[1] == "state" && !slices.ContainsFunc(reasons, func(p lifecycle.PhaseInfo) bool { return string(p.Phase) == l[3] }) {
					t.Errorf("%s: there is no state %s", where, l[3])
				}
			}
		}
		if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
			t.Errorf("%s: brackets do not match: %s", where, expr)
		}
	}
}

func TestAServiceMonitorFindsTheServer(t *testing.T) {
	objects, err := render(t, "musters", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(of(objects, "ServiceMonitor")) != 0 {
		t.Error("clusters without the Prometheus operator would refuse the chart")
	}
	objects, err = render(t, "musters", map[string]any{"metrics.serviceMonitor": map[string]any{"enabled": true, "interval": "15s", "labels": map[string]any{"release": "prom"}}})
	if err != nil {
		t.Fatal(err)
	}
	monitor, service := one(t, objects, "ServiceMonitor"), one(t, objects, "Service")
	if at(t, monitor, "metadata.labels.release") != "prom" || at(t, monitor, "spec.endpoints.0.interval") != "15s" {
		t.Errorf("%v", monitor)
	}
	port := at(t, monitor, "spec.endpoints.0.port")
	ports := at(t, service, "spec.ports").([]any)
	if !slices.ContainsFunc(ports, func(p any) bool { return p.(map[string]any)["name"] == port }) {
		t.Errorf("the service has no port %v: %v", port, ports)
	}
	labels := at(t, service, "metadata.labels").(map[string]any)
	for k, v := range at(t, monitor, "spec.selector.matchLabels").(map[string]any) {
		if labels[k] != v {
			t.Errorf("the service has no label %s=%v", k, v)
		}
	}
}
