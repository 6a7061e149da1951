package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"

	"k8s.io/client-go/kubernetes"

	"github.com/musterhq/muster/internal/backend/kube/rights"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/doctor"
)

// examine asks a cluster for every right that a server needs there.
func examine(ctx context.Context, q cli.ClusterQuestion) ([]doctor.Check, error) {
	const fix = "name the cluster with --kubeconfig and --kube-context; kubectl config get-contexts lists them"
	config, _, err := clusterConfig(q.Kubeconfig, q.Context, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return nil, precondition(fmt.Sprintf("the cluster cannot be opened: %v", err), fix)
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, precondition(fmt.Sprintf("the cluster cannot be opened: %v", err), fix)
	}
	return rights.Examine(ctx, cmp.Or(q.Context, "kube"), c), nil
}
