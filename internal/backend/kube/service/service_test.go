package service

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// TestAServiceIsNotTakenFromWhoNeedsIt: what is left of an attempt is removed
// while the next run of it begins.
func TestAServiceIsNotTakenFromWhoNeedsIt(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := New(cluster.New(cluster.Options{}, client), tasks.New(time.Now))
	id := core.TaskID{Workload: "01p"}
	of := tasks.AttemptOf(id)
	done := p.tasks.Expect(of)
	if err := p.Remove(context.Background(), "muster-p", id); err != nil || asked > 0 {
		t.Errorf("services were looked for, %v", err)
	}
	done()
	unlock := p.locks.lock(of)
	over := make(chan error, 1)
	go func() { over <- p.Remove(context.Background(), "muster-p", id) }()
	time.Sleep(50 * time.Millisecond) // in which it could go wrong
	defer p.tasks.Expect(of)()
	unlock()
	if err := <-over; err != nil {
		t.Errorf("it was not waited for who makes it: %v", err) // 404 is what services are answered with
	}
	if len(p.locks.of) > 0 {
		t.Errorf("locks are left: %v", p.locks.of)
	}
}
