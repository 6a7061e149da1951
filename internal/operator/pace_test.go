package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/operator"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// spaces has one namespace for every project.
type spaces string

func (s spaces) Namespace(context.Context, core.ProjectID) (string, error) { return string(s), nil }

func (s spaces) Project(_ context.Context, namespace string) (core.ProjectID, bool, error) {
	return "default", namespace == string(s), nil
}

// busy is the API of a server whose only workload changes all the time, changes
// times in all.
type busy struct {
	changes int
	now     atomic.Int64
}

func (b *busy) workload(n int64) *api.Workload {
	then := api.Time(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := &api.Workload{ID: "01BUSY", Name: "busy", Project: "default", Kind: "training", Phase: "Running", Since: then, CreatedAt: then,
		Revision: n + 1, Version: n + 1, Spec: json.RawMessage(`{"kind":"training","name":"busy","command":"true"}`)}
	w.Tasks.Total, w.Tasks.Succeeded = b.changes, int(n)
	return w
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/workloads/01BUSY"):
		_ = json.NewEncoder(w).Encode(b.workload(b.now.Load()))
	case strings.HasSuffix(r.URL.Path, "/workloads"):
		fmt.Fprint(w, `{"items":[],"next":""}`)
	case r.URL.Path == "/v1/watch":
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		fmt.Fprint(w, "event: synced\ndata: {}\n\n")
		for n := b.now.Load(); n < int64(b.changes) && r.Context().Err() == nil; {
			n = b.now.Add(1)
			text, _ := json.Marshal(b.workload(n))
			fmt.Fprintf(w, "id: %d\nevent: workload\ndata: %s\n\n", n+1, text)
			_ = flush.Flush()
			time.Sleep(time.Millisecond)
		}
		<-r.Context().Done()
	}
}

// counting counts what changes the cluster.
type counting struct {
	http.RoundTripper
	writes *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		c.writes.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

func TestAThousandChangesASecondAreFewWrites(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true, NoControllers: true})
	c.Kubectl(t, "apply", "--server-side", "-f", filepath.Join("..", "..", "deploy", "helm", "muster", "crds"))
	c.Kubectl(t, "wait", "--for=condition=Established", "--timeout=120s", "crd/workloads.muster.dev")
	ns := c.Namespace(t)
	b := &busy{changes: 5000}
	server := httptest.NewServer(b)
	defer server.Close()
	conn, err := client.New(client.Options{Address: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return counting{rt, &writes} })
	f, err := operator.New(operator.Config{Cluster: config, Spaces: spaces(ns), Muster: conn})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	begin := time.Now()
	go func() {
		f.Run(ctx)
		close(ended)
	}()
	defer func() {
		cancel()
		<-ended
		server.CloseClientConnections()
	}()
	kubetest.Eventually(t, "the last of all changes shown", func() error {
		got := c.Kubectl(t, "-n", ns, "get", "workload", "busy", "--ignore-not-found", "-o", "jsonpath={.status.tasks.succeeded}")
		if got != fmt.Sprint(b.changes) {
			return fmt.Errorf("it has %q", got)
		}
		return nil
	})
	seconds := int64(time.Since(begin)/time.Second) + 1
	if n := writes.Load(); n > seconds+5 {
		t.Errorf("%d changes were %d writes in %d s", b.changes, n, seconds)
	} else {
		t.Logf("%d changes were %d writes in %d s", b.changes, n, seconds)
	}
}
