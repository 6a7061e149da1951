package kube

import (
	"context"
	"io"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/podlog"
	"github.com/musterhq/muster/internal/core"
)

// newTaskLogs brings the output of the cluster's pods home.
func newTaskLogs(p *Backend) *podlog.Logs {
	return podlog.New(p.o.LogDir, podlog.Source{
		API: p.client, Context: p.ctx, Go: p.wg.Go, Log: p.o.Log, Seen: p.seen, AwaitSeen: p.whole, Reach: p.reach, Starting: p.starts.Lately,
		Task: func(id core.TaskID) (podlog.TaskState, bool) {
			t, known := p.tasks.get(id)
			return podlog.TaskState{State: t.seen.State, Pod: t.there}, known
		},
	})
}

// Logs implements backend.Backend. The log of a task that has ended is whole, unless
// its node does not answer.
func (p *Backend) Logs(ctx context.Context, id core.TaskID, o backend.LogOptions) (io.ReadCloser, error) {
	return p.logs.Open(ctx, id, o)
}

// DeleteLogs implements backend.Backend.
func (p *Backend) DeleteLogs(ctx context.Context, w core.WorkloadID) error {
	return p.logs.Delete(ctx, w)
}
