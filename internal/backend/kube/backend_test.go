package kube

import (
	"context"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/backendtest"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// placed is a backend all of whose tasks go to one node, which the suite does not
// choose.
type placed struct {
	*Backend
	node core.NodeID
}

// Start implements backend.Backend.
func (p placed) Start(ctx context.Context, tasks []backend.Assignment) error {
	all := make([]backend.Assignment, len(tasks))
	for i, a := range tasks {
		a.Node, a.About.Project, a.About.Name = p.node, "suite", string(a.ID.Workload)
		all[i] = a
	}
	return p.Backend.Start(ctx, all)
}

func openOn(t *testing.T, c *kubetest.Cluster, node, logs string) placed {
	t.Helper()
	p, err := Open(cluster.Options{Config: c.Config, LogDir: logs, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return placed{p, core.NodeID(node)}
}

// sweep removes all that a backend has made, so that the next finds nothing.
func sweep(t *testing.T, c *kubetest.Cluster) {
	ctx, now := context.Background(), int64(0)
	mine := metav1.ListOptions{LabelSelector: naming.LabelManaged + "=" + naming.Managed}
	kubetest.Eventually(t, "what it made is gone", func() error {
		spaces, err := c.Client.CoreV1().Namespaces().List(ctx, mine)
		if err != nil {
			return err
		}
		for _, ns := range spaces.Items {
			if err := c.Client.CoreV1().Pods(ns.Name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, mine); err != nil {
				return err
			}
			if err := c.Client.CoreV1().Secrets(ns.Name).DeleteCollection(ctx, metav1.DeleteOptions{}, mine); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestBackend is the contract on a real kubelet.
func TestBackend(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	node := c.Node(t, "real", 2)
	image := c.Busybox(t)
	dirs := map[*Backend]string{}
	open := func(t *testing.T, dir string) backend.Backend {
		p := openOn(t, c, node.Name, dir)
		dirs[p.Backend] = dir
		return p
	}
	backendtest.Run(t, func(t *testing.T) backend.Backend {
		dir := t.TempDir()
		t.Cleanup(func() { sweep(t, c) })
		return open(t, dir)
	}, backendtest.Options{
		Assign: func(_ *testing.T, id core.TaskID, s backendtest.Script) backend.Assignment {
			if len(s.Output) > 0 && s.Run == 0 {
				s.Run = time.Second // see Options.Lossy
			}
			return backend.Assignment{ID: id, Image: image, Argv: backendtest.Command(s)}
		},
		Image: image, Init: true, Memory: true, Blind: true, Apart: true, TwoWays: true, Lossy: true,
		Reopen: func(t *testing.T, p backend.Backend) backend.Backend {
			was := p.(placed).Backend
			if err := was.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dirs[was])
		},
	})
	for name, test := range map[string]func(*testing.T, *kubetest.Cluster, *kubetest.Node){
		"ports of a pod": realDial, "what its tasks use": realSample, "the environment of a task": realPrelude, "output survives outages": realOutages,
	} {
		t.Run(name, func(t *testing.T) { test(t, c, node) })
	}
}
