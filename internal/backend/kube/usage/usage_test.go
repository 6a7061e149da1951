package usage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// kubelets answers as an API server does that passes questions on.
func kubelets(t *testing.T, answer func(node string) (int, string), networks ...func(node string) (int, string)) *Sampler {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/") // /api/v1/nodes/N/proxy/metrics/resource
		if len(parts) != 8 || parts[3] != "nodes" || parts[5] != "proxy" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		code, text := http.StatusNotFound, "no such page"
		if parts[6] == "metrics" || len(networks) > 0 {
			code, text = append([]func(string) (int, string){answer}, networks...)[strings.Count(parts[6], "stats")](parts[4])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC) }
	return New(cluster.New(cluster.Options{Name: "east", Prefix: "east/", Clock: clock}, client), tasks.New(clock))
}

// runs puts a task on a node, as if its pod had been seen.
func (p *Sampler) pretend(workload, node string) core.TaskID {
	id := core.TaskID{Workload: core.WorkloadID(workload)}
	p.tasks.Edit(id, true, func(t *tasks.Task) {
		t.Space, t.Name, t.Node, t.Seen.State = "ml", workload, node, core.TaskRunning
	})
	return id
}

func TestKubeletsAreAsked(t *testing.T) {
	look := 0
	p := kubelets(t, func(node string) (int, string) {
		if node == "n2" {
			return http.StatusBadGateway, "no route to host"
		}
		look++
		return 200, fmt.Sprintf(`# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="ml",pod="a"} %d %d
pod_cpu_usage_seconds_total{namespace="other",pod="x"} 5 1000
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="ml",pod="a"} 1e+09 1000
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total %d %d
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 4e+09 1000
`, 10+3*look, 1000+2000*look, 100*look, 1000+2000*look)
	})
	a := p.pretend("a", "n1")
	p.pretend("b", "n2")
	first, err := p.Sample(t.Context())
	if err != nil || len(first.Tasks) != 1 || first.Tasks[0].CPU != backend.Unknown || first.Tasks[0].Memory != 1e9 {
		t.Fatalf("the first look: %+v, %v", first, err)
	}
	r, err := p.Sample(t.Context())
	want := backend.Sample{Task: a, Busy: backend.Unknown, CPU: 1.5, Memory: 1e9, Network: backend.Unknown}
	if err != nil || len(r.Tasks) != 1 || r.Tasks[0] != want {
		t.Errorf("%+v, %v; want %+v", r.Tasks, err, want)
	}
	if len(r.Nodes) != 1 || r.Nodes[0] != (backend.NodeSample{Node: "east/n1", CPU: 50, Memory: 4e9}) {
		t.Errorf("nodes %+v", r.Nodes)
	}
	if len(r.Missing) != 2 || !strings.Contains(r.Missing[1], "1 of the kubelets of cluster east did not answer") {
		t.Errorf("missing %q", r.Missing)
	}
	p.pretend("a", "n2") // and nothing of ours is on n1 any more
	if _, err := p.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, kept := p.readings.last[nodeKey("east/n1")]; kept {
		t.Error("a node on which nothing runs is remembered")
	}
}

func TestAForbiddenKubeletIsLeftAlone(t *testing.T) {
	asked := 0
	p := kubelets(t, func(string) (int, string) {
		asked++
		return http.StatusForbidden, `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`
	})
	p.pretend("a", "n1")
	for range 5 {
		r, err := p.Sample(t.Context())
		if err != nil || len(r.Tasks) != 0 || len(r.Missing) != 2 || !strings.Contains(r.Missing[1], "metrics.kubelets=true") {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
}

func TestKubeletsTakeTurns(t *testing.T) {
	s := &readings{}
	nodes, seen := map[string]bool{}, map[string]int{}
	for i := range 3*kubeletsMost - 10 {
		nodes[fmt.Sprint("n", i)] = true
	}
	for range 3 {
		turn := s.turn(nodes)
		if len(turn) > kubeletsMost {
			t.Fatalf("%d are asked at once", len(turn))
		}
		for _, n := range turn {
			seen[n]++
		}
	}
	if len(seen) != len(nodes) {
		t.Errorf("%d of %d were asked in three looks", len(seen), len(nodes))
	}
}

// What went over the network of pods is asked seldom, and of pods that have one of
// their own.
func TestNetworksOfPods(t *testing.T) {
	look, asked := 0, 0
	p := kubelets(t, func(string) (int, string) {
		look++
		return 200, fmt.Sprintf(`# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="ml",pod="a"} %[1]d %[1]d000
pod_cpu_usage_seconds_total{namespace="ml",pod="host"} %[1]d %[1]d000
`, look)
	}, func(string) (int, string) {
		asked++
		return 200, fmt.Sprintf(`{"node": {"nodeName": "n1"}, "pods": [
			{"podRef": {"name": "a", "namespace": "ml"}, "network": {"time": "2026-08-01T00:00:%02dZ", "name": "eth0", "rxBytes": 1, "txBytes": 2, "interfaces": [{"name": "eth0", "rxBytes": %d, "txBytes": 500}, {"name": "ib0", "rxBytes": %d, "txBytes": 0}]}},
			{"podRef": {"name": "host", "namespace": "ml"}}]}`, 10*asked, 1000*asked, 4000*asked)
	})
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	p.cluster.Options.Clock = func() time.Time { return now }
	a, host := p.pretend("a", "n1"), p.pretend("host", "n1")
	for i, want := range []float64{backend.Unknown, backend.Unknown, backend.Unknown, 500, backend.Unknown} {
		r, err := p.Sample(t.Context())
		if err != nil || len(r.Tasks) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, s := range r.Tasks {
			if s.Task == a && s.Network != want || s.Task == host && s.Network != backend.Unknown {
				t.Errorf("look %d: %+v; want %v, and nothing of the host's network", i, s, want)
			}
		}
		now = now.Add(10 * time.Second)
	}
	if asked != 2 || look != 5 {
		t.Errorf("asked %d times about networks in %d looks; want 2 in 5", asked, look)
	}
}
