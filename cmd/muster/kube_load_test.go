package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// loaded is a service of one replica that has more for as long as there is more
// to do than one is to take at once. A port of a replica is reached by itself.
func loaded(t *testing.T, w *world, image string) {
	const script = `mkdir /w && cat >/w/answer <<'END'
#!/bin/sh
read -r method path rest
while read -r line && [ ${#line} -gt 1 ]; do :; done
[ "$path" != /slow ] || sleep 3
printf 'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\ndone\n'
END
chmod +x /w/answer && exec busybox nc -ll -p $PORT -e /w/answer`
	w.muster("run", "--kind", "inference", "--name", "busy", "--image", image, "--set", "ports=[8000]", "--set", "resources.cpu=50m",
		"--set", "autoscale={min: 1, max: 2, concurrency: 2, scaleDown: 1s}", "--set", "gracePeriod=1s", "--", "sh", "-c", script)
	ready := func(n int) func(*api.Workload) bool {
		return func(x *api.Workload) bool { return x.Phase == "Running" && x.Replicas != nil && x.Replicas.Ready == n }
	}
	url := w.is("busy", "ready", ready(1)).Replicas.URL
	answers(t, url, "done")
	forwarded(t, w, "busy")

	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				if q, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/slow", nil); err == nil {
					if r, err := http.DefaultClient.Do(q); err == nil {
						_, _ = io.Copy(io.Discard, r.Body)
						_ = r.Body.Close()
					}
				}
			}
		})
	}
	defer all.Wait()
	defer stop()
	w.is("busy", "two replicas", ready(2))
	stop()
	w.is("busy", "one replica again", ready(1))
	w.muster("stop", "busy", "--wait")
}

// forwarded reaches port 8000 of a task through the API server.
func forwarded(t *testing.T, w *world, name string) {
	t.Helper()
	cmd := w.program("port-forward", name, "0:8000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("port-forward said %q, %v", line, err)
	}
	at, _, _ := strings.Cut(line, " ")
	answers(t, "http://"+at, "done")
}

// TestAKubeletEvicts is about pods that a real kubelet ends: for what they did
// themselves, and because their node runs short.
func TestAKubeletEvicts(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	node := c.Node(t, "real", 0)
	image := c.Busybox(t)
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig)
	run := func(name, script string) {
		w.muster("run", "--name", name, "--image", image, "--set", "resources.cpu=50m", "--set", "gracePeriod=1s", "--", "sh", "-c", script)
	}
	run("short", "sleep 1000")
	w.is("short", "running", phase("Running"))
	node.Squeeze(t, true)
	const said = "the kubelet of node real evicted it: "
	w.is("short", "evicted", func(x *api.Workload) bool {
		return len(x.Attempts) > 0 && strings.Contains(x.Attempts[0].Message, said)
	})
	node.Squeeze(t, false)
	if again := w.is("short", "running again", phase("Running")); again.Attempts[0].Reason != "SystemFailure" || len(again.Attempts) < 2 {
		t.Errorf("its attempts are %+v", again.Attempts)
	}

	// Somebody has limited what pods of the namespace may write.
	c.Apply(t, `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"disk","namespace":"muster-default"},"spec":{"limits":[{"type":"Container","default":{"ephemeral-storage":"8Mi"}}]}}`)
	run("greedy", "dd if=/dev/zero of=/much bs=1M count=32 2>/dev/null; sleep 1000")
	got := w.is("greedy", "failed", phase("Failed"))
	if !strings.Contains(got.Message, "the kubelet ended it") || !strings.Contains(got.Message, "exceeds the") || got.Reason != "Error" || len(got.Attempts) != 1 {
		t.Errorf("%s %q after %+v", got.Reason, got.Message, got.Attempts)
	}
}
