package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
)

func metricsAPI() http.Handler {
	series := func(metric string, task, index int, values ...float64) api.MetricSeries {
		x := api.MetricSeries{Metric: metric, Task: &task, Role: "worker", Node: "n1"}
		if index >= 0 {
			x.Index, x.Device = &index, "GPU"
		}
		for _, v := range values {
			p := &v
			if v < 0 {
				p = nil
			} else {
				x.Last, x.Mean, x.Min, x.Max = p, p, p, p
			}
			x.Values = append(x.Values, p)
		}
		return x
	}
	body := api.Metrics{Step: 10, Series: []api.MetricSeries{
		series("cpu_cores", 0, -1, 1, 2, 4), series("memory_bytes", 0, -1, 1<<30), series("gpu_utilization_ratio", 0, 3, 0, -1, 0.5, 1), series("gpu_memory_bytes", 0, 3, 40<<30),
		series("gpu_memory_total_bytes", 0, 3, 80<<30), series("cpu_cores", 1, -1, 0.5), series("gpu_utilization_ratio", 1, 4, 0.25),
	}, Slowest: &api.Slowest{Task: 1, Behind: true, Message: "the GPUs of worker 1 on n1 are at 25 %, the median at 100 %"}, Missing: []string{"the moon"}}
	mux := http.NewServeMux()
	const one = "/v1/projects/{project}/workloads/{name}"
	mux.HandleFunc("GET "+one, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, runningWorkload()) })
	mux.HandleFunc("GET "+one+"/metrics", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("since") != "30m" || q.Get("attempt") != "-1" || q.Get("task") != "0,1" {
			answer(w, 422, api.Problem{Status: 422, Code: "invalid", Detail: r.URL.RawQuery})
			return
		}
		answer(w, 200, body)
	})
	mux.HandleFunc("GET /v1/metrics", func(w http.ResponseWriter, _ *http.Request) {
		v := 3.0
		answer(w, 200, api.Metrics{Step: 60, Series: []api.MetricSeries{
			{Metric: "gpus_busy", Values: []*float64{&v}, Last: &v, Mean: &v, Max: &v}, {Metric: "workloads_waiting", Project: "vision", Values: []*float64{&v}, Last: &v, Mean: &v, Max: &v},
		}})
	})
	return mux
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, metricsAPI())
	w.terminal()
	w.s.IO.Width = 100
	if code := w.run("metrics", "it", "--since", "30m", "--rank", "0,1"); code != 0 {
		t.Fatalf("exit code %d: %s", code, w.err.String())
	}
	out := w.out.String()
	for _, want := range []string{"TASK", "0 worker", "40Gi/80Gi", "100 %", "slowest: the GPUs of worker 1 on n1 are at 25 %", "▁", "█"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "\n"); n != 5 { // the title, the head, a line for each rank, the slowest
		t.Errorf("%d lines:\n%s", n, out)
	}
	if !strings.Contains(w.err.String(), "not known: the moon") {
		t.Errorf("what is not known: %q", w.err.String())
	}
}

// What is watched is looked at anew each time, and the end of a workload ends it.
func TestMetricsAreWatchedUntilTheEnd(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"table", "json", "yaml"} {
		inner, looks := metricsAPI(), 0
		w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/it") && !strings.HasSuffix(r.URL.Path, runningWorkload().ID) {
				inner.ServeHTTP(rw, r)
				return
			}
			work := runningWorkload()
			if looks++; looks > 2 {
				work.Phase = "Completed"
			}
			answer(rw, 200, work)
		}))
		if format == "table" {
			w.terminal()
		}
		if code := w.run("metrics", "it", "--since", "30m", "--rank", "0,1", "-w", "--every", "200ms", "-o", format); code != 0 || looks != 3 {
			t.Fatalf("%s: exit code %d after %d looks: %s", format, code, looks, w.err.String())
		}
		out := strings.TrimSpace(w.out.String())
		switch format {
		case "table":
			if !strings.Contains(out, "it · Running") || !strings.Contains(out, "it · Completed") {
				t.Errorf("it shows %s", out)
			}
		case "yaml":
			if n := strings.Count(out, "\n---\n"); n != 2 {
				t.Errorf("%d separators in %s", n, out)
			}
		default:
			lines := strings.Split(out, "\n")
			for _, line := range lines {
				if m := (api.Metrics{}); json.Unmarshal([]byte(line), &m) != nil || len(m.Series) != 7 {
					t.Errorf("a line is %q", line)
				}
			}
			if len(lines) != 3 {
				t.Errorf("%d lines", len(lines))
			}
		}
	}
}

func TestMetricsInAPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, metricsAPI())
	if code := w.run("metrics", "it", "--since", "30m", "--task", "0,1"); code != 0 {
		t.Fatalf("exit code %d: %s", code, w.err.String())
	}
	lines := strings.Split(strings.TrimSpace(w.out.String()), "\n")
	if len(lines) != 8 || lines[0] != "TASK\tROLE\tNODE\tGPU\tPROJECT\tMETRIC\tLAST\tMEAN\tMIN\tMAX" || lines[3] != "0\tworker\tn1\t3\t-\tgpu_utilization_ratio\t1\t1\t1\t1" {
		t.Errorf("%q", lines)
	}
	j := newWorld(t, metricsAPI())
	var m api.Metrics
	if code := j.run("metrics", "it", "--since", "30m", "--task", "0,1", "-o", "json"); code != 0 || json.Unmarshal([]byte(j.out.String()), &m) != nil || len(m.Series) != 7 {
		t.Errorf("exit code %d: %s", code, j.out.String())
	}
	c := newWorld(t, metricsAPI())
	c.terminal()
	if code := c.run("metrics", "--cluster"); code != 0 || !strings.Contains(c.out.String(), "vision") || !strings.Contains(c.out.String(), "gpus busy") {
		t.Errorf("exit code %d: %s %s", code, c.out.String(), c.err.String())
	}
	for _, args := range [][]string{{"metrics", "it", "--cluster"}, {"metrics", "--every", "1ms"}, {"metrics", "--node", "n", "--cluster"}, {"top", "--every", "never"}} {
		if code := newWorld(t, metricsAPI()).run(args...); code != session.ExitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

func TestSpark(t *testing.T) {
	t.Parallel()
	one := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		values []*float64
		width  int
		most   float64
		want   string
	}{
		{[]*float64{one(0), one(0.5), one(1)}, 3, 1, "▁▅█"},
		{[]*float64{one(0), nil, one(2)}, 3, 2, "▁ █"},
		{[]*float64{one(1), one(3), one(0), one(0)}, 2, 4, "▅▁"},
		{[]*float64{one(1)}, 4, 1, "████"},
		{nil, 3, 1, "   "},
		{[]*float64{one(7)}, 1, 0, "▁"},
		{[]*float64{one(9)}, 1, 1, "█"},
	} {
		if got := terminal.Spark(c.values, c.width, c.most); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
