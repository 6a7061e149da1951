package kube

import (
	"context"
	"io"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
)

// Logs implements backend.Backend. The log of a task that has ended is whole, unless
// its node does not answer.
func (p *Backend) Logs(ctx context.Context, id core.TaskID, o backend.LogOptions) (io.ReadCloser, error) {
	return p.pods.Logs.Open(ctx, id, o)
}

// DeleteLogs implements backend.Backend.
func (p *Backend) DeleteLogs(ctx context.Context, w core.WorkloadID) error {
	return p.pods.Logs.Delete(ctx, w)
}

// Address implements backend.Locator: the pod's name in the cluster's DNS, which
// is known before the pod is there. The resolver of each pod completes it with
// the namespace.
func (p *Backend) Address(id core.TaskID) string {
	return naming.HostName(id) + "." + naming.ServiceName(id)
}
