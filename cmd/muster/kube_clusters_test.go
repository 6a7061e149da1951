package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestClusters is one server over this machine and two clusters, one of which
// goes away and comes back.
func TestClusters(t *testing.T) {
	t.Parallel()
	east := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	west := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	east.Kwok(t, 2, kubetest.NodeShape{GPUs: 2})
	west.Kwok(t, 2, kubetest.NodeShape{GPUs: 2})
	door := gateOf(t, west)
	w := newWorld(t, "--backend", "local", "--cluster", "east="+east.Kubeconfig, "--cluster", "west="+door.file)

	kubetest.Eventually(t, "all clusters are there", func() error {
		if all := w.clusters(); all["east"].Nodes.Ready != 2 || all["west"].Nodes.Ready != 2 || all["local"].Nodes.Ready != 1 {
			return errf("%+v", all)
		}
		return nil
	})
	all := w.clusters()
	if c := all["west"]; c.Kind != "kubernetes" || !strings.HasPrefix(c.Version, "v1.") || !c.Reachable || c.GPU != (api.GPUCounts{Total: 4000, Free: 4000}) {
		t.Errorf("west: %+v", c)
	}
	if c := all["local"]; c.Kind != "local" || !c.Reachable {
		t.Errorf("local: %+v", c)
	}

	for _, name := range []string{"east", "west"} {
		w.muster("run", "--name", "in-"+name, "--cluster", name, "--image", "busybox", "--gpus", "1", "--", "sleep", "1h")
	}
	w.muster("run", "--name", "here", "--", "sleep", "100000")
	for _, name := range []string{"in-east", "in-west", "here"} {
		w.is(name, "running", phase("Running"))
	}
	if len(pods(t, east, "in-east")) != 1 || len(pods(t, west, "in-west")) != 1 || len(pods(t, west, "in-east")) != 0 {
		t.Error("pods are not where they were wanted")
	}
	if out, err := w.try("run", "--cluster", "north", "--image", "busybox", "--", "true"); err == nil || !strings.Contains(err.Error(), "those that exist are east, local, west") {
		t.Errorf("an unknown cluster: %s %v", out, err)
	}
	if out, err := w.try("run", "--cluster", "east", "--", "true"); err == nil || !strings.Contains(err.Error(), "nodes of cluster east run container images only; this workload has no image") {
		t.Errorf("a process for a cluster: %s %v", out, err)
	}

	away(t, w, west, door)
	w.muster("stop", "here", "--grace-period", "1s", "--wait")
}

// away is what happens while one cluster cannot be reached.
func away(t *testing.T, w *world, west *kubetest.Cluster, door *gate) {
	w.muster("run", "--name", "told", "--cluster", "west", "--image", "busybox", "--", "sleep", "1h")
	w.is("told", "running", phase("Running"))
	before := pods(t, west, "in-west")
	west.StopServer(t)
	kubetest.Eventually(t, "west is unreachable", func() error {
		if c := w.clusters()["west"]; c.Reachable || c.Since == nil || c.Message == "" || c.GPU.Free != 0 || c.Workloads != 2 {
			return errf("%+v", c)
		}
		return nil
	})
	w.is("in-west", "running, unreachable", func(x *api.Workload) bool {
		return x.Phase == "Running" && len(x.Conditions) == 1 && x.Conditions[0].Type == "Unreachable"
	})
	w.muster("stop", "told")
	waits := []string{"run", "--name", "waits", "--cluster", "west", "--image", "busybox", "--gpus", "1", "--", "sleep", "1h"}
	w.muster(waits...)
	for _, name := range []string{"e1", "e2", "e3"} { // east has room for three
		w.muster("run", "--name", name, "--image", "busybox", "--gpus", "1", "--", "sleep", "1h")
		w.is(name, "running in east", func(x *api.Workload) bool { return x.Phase == "Running" && len(x.Conditions) == 0 })
	}
	if why := w.muster("why", "waits"); !strings.Contains(why, "cluster west has not answered since") {
		t.Errorf("why: %s", why)
	}
	// A server that begins anew meanwhile has the other clusters, and knows of
	// what runs in this one.
	w.kill()
	w.begin()
	w.is("in-west", "running, unreachable", func(x *api.Workload) bool {
		return x.Phase == "Running" && len(x.Conditions) == 1 && x.Conditions[0].Type == "Unreachable"
	})
	w.muster("stop", "e3", "--wait")
	calmly(t, w, door)

	west.StartServer(t)
	w.is("waits", "running in west", phase("Running"))
	w.is("told", "stopped", phase("Stopped"))
	w.is("in-west", "running as before", func(x *api.Workload) bool {
		return x.Phase == "Running" && len(x.Conditions) == 0 && x.Attempt == 0
	})
	after := pods(t, west, "in-west")
	for name, pod := range before {
		if after[name] == nil || after[name].UID != pod.UID {
			t.Errorf("pod %s is another than before", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d pods, before %d", len(after), len(before))
	}
	kubetest.Eventually(t, "west is back", func() error {
		if c := w.clusters()["west"]; !c.Reachable || c.Nodes.Ready != 2 || c.Since != nil {
			return errf("%+v", c)
		}
		return nil
	})
}

// calmly bounds what a cluster that is away costs: requests, and lines of the log.
func calmly(t *testing.T, w *world, door *gate) {
	lines := func() int {
		text, err := os.ReadFile(w.log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	door.requests()
	was := lines()
	const watched = 10 * time.Second
	time.Sleep(watched)
	if n := door.requests(); n > 60 {
		t.Errorf("%d requests to a cluster that is away in %v", n, watched)
	}
	if n := lines() - was; n > 10 {
		t.Errorf("%d lines in the log in %v", n, watched)
	}
}

// TestAServerThatIsKilledDoublesAndLosesNothing kills it at the worst moments
// and begins it anew.
func TestAServerThatIsKilledDoublesAndLosesNothing(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	c.Kwok(t, 4, kubetest.NodeShape{GPUs: 8})
	door := gateOf(t, c)
	w := newWorld(t, "--backend", "kube", "--kubeconfig", door.file)
	kubetest.Eventually(t, "the cluster is there", func() error {
		if k := w.clusters()["kube"]; k.Nodes.Ready != 4 {
			return errf("%+v", k)
		}
		return nil
	})
	creates := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods")
	}
	binds := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/binding")
	}
	for _, k := range []struct {
		name   string
		passes int // that many of those requests are let through, then the server is killed
		which  func(*http.Request) bool
	}{
		{"before-any-pod", 0, creates}, {"amid-the-pods", 3, creates}, {"before-any-place", 0, binds}, {"amid-the-places", 3, binds},
	} {
		const size = 6
		left := k.passes
		door.keep(func(r *http.Request) bool {
			if !k.which(r) {
				return false
			}
			left--
			return left < 0
		})
		w.muster("run", "--name", k.name, "--kind", "distributed", "--workers", "6", "--image", "busybox", "--gpus", "1", "--", "sleep", "1h")
		awaitHeld(t, door, size-k.passes)
		w.kill()
		before := pods(t, c, k.name)
		door.keep(nil)
		w.begin()
		got := w.is(k.name, "running", phase("Running"))
		after := pods(t, c, k.name)
		if len(after) != size || got.Attempt != 0 || got.Tasks.Running != size {
			t.Errorf("%s: %d pods, attempt %d, tasks %+v", k.name, len(after), got.Attempt, got.Tasks)
		}
		for name, pod := range before {
			if after[name] == nil || after[name].UID != pod.UID {
				t.Errorf("%s: pod %s is another than before", k.name, name)
			}
		}
	}

	// Amid the end of a gang.
	left := 2
	door.keep(func(r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, "/pods/") {
			return false
		}
		left--
		return left < 0
	})
	w.muster("stop", "amid-the-places")
	awaitHeld(t, door, 4)
	w.kill()
	door.keep(nil)
	w.begin()
	w.is("amid-the-places", "stopped", phase("Stopped"))
	kubetest.Eventually(t, "its pods are gone", func() error {
		if n := len(pods(t, c, "amid-the-places")); n > 0 {
			return errf("%d are there", n)
		}
		return nil
	})

	// While it is down its pods run on, and what ends then is not run again.
	w.muster("run", "--name", "ends", "--image", "busybox", "--set", "annotations={sim/duration: 3s}", "--", "true")
	w.is("ends", "running", phase("Running"))
	w.kill()
	kubetest.Eventually(t, "it has ended", func() error {
		for _, pod := range pods(t, c, "ends") {
			if pod.Status.Phase == "Succeeded" {
				return nil
			}
		}
		return errf("not yet")
	})
	if n := len(pods(t, c, "before-any-pod")); n != 6 {
		t.Errorf("without a server %d pods of a gang of 6 are there", n)
	}
	w.begin()
	if got := w.is("ends", "completed", phase("Completed")); got.Attempt != 0 {
		t.Errorf("it ran again: attempt %d", got.Attempt)
	}
}

// awaitHeld waits until so many requests are held.
func awaitHeld(t *testing.T, g *gate, n int) {
	t.Helper()
	for range n {
		select {
		case <-g.held:
		case <-time.After(3 * time.Minute):
			t.Fatal("the request that was waited for does not come")
		}
	}
	for len(g.held) > 0 {
		<-g.held
	}
}
