// Package kube is the backend of a Kubernetes cluster. Its tasks are pods, which
// are created only for what has been placed and are bound to their nodes by us,
// under a scheduler name of our own; what else runs in the cluster is counted
// and never touched.
//
// The cluster is the memory of the backend: pods carry the ID of their task, so
// that a server that begins anew finds what runs. What the cluster says arrives
// through informers; nothing is asked in a loop.
package kube

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/fraction"
	"github.com/musterhq/muster/internal/backend/kube/taskpods"
	"github.com/musterhq/muster/internal/backend/kube/usage"
	"github.com/musterhq/muster/internal/core"
)

// Backend is a Kubernetes cluster.
type Backend struct {
	*cluster.Cluster
	pods    *taskpods.Pods
	sampler *usage.Sampler
}

// Open begins to watch a cluster. It does not wait for it: the cluster may be
// out of reach at the time.
func Open(o cluster.Options) (*Backend, error) {
	o.ReservationImage = cmp.Or(o.ReservationImage, fraction.ReservationImage)
	c, err := cluster.Connect(o)
	if err != nil {
		return nil, err
	}
	p := newBackend(c)
	if err := p.inform(); err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("cluster %s: %w", p.Options.Name, err)
	}
	if err := p.Begin(p.pods.Groups.WatchClaims()); err != nil {
		return nil, err
	}
	p.pods.Run(p.Context)
	return p, nil
}

// newBackend is a backend that nobody tells of the cluster yet.
func newBackend(c *cluster.Cluster) *Backend {
	pods := taskpods.New(c)
	return &Backend{Cluster: c, pods: pods, sampler: usage.New(c, pods.Tasks)}
}

// Inventory implements backend.Backend.
func (p *Backend) Inventory(ctx context.Context) ([]core.Node, error) {
	if !p.Seen() { // an API server that is not there is soon found out
		if err := p.Reach(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.Sync(ctx); err != nil {
		return nil, err
	}
	return p.Named(p.NodeInfo.List()), nil
}

// Observe implements backend.Backend. It fails while the API server does not
// answer, as nobody knows then what the cluster does.
func (p *Backend) Observe(ctx context.Context) ([]backend.Observation, error) {
	if err := p.CheckDriving(ctx, 0); err != nil {
		return nil, err
	}
	if err := p.Sync(ctx); err != nil {
		return nil, err
	}
	if err := p.Reach(ctx); err != nil {
		return nil, err
	}
	if err := p.Hears(ctx); err != nil {
		return nil, err
	}
	return p.pods.Tasks.All(), nil
}

// Watch implements backend.Backend.
func (p *Backend) Watch(ctx context.Context, seen func([]backend.Observation)) error {
	return p.pods.Tasks.Watch(ctx, seen)
}

// Nodes implements backend.Announcer.
func (p *Backend) Nodes(ctx context.Context, seen func(changed []core.Node, gone []core.NodeID)) error {
	if err := p.AwaitSeen(ctx); err != nil {
		return err
	}
	return p.NodeInfo.Watch(ctx, func(changed []core.Node, gone []core.NodeID) { seen(p.Named(changed), gone) })
}

// Claims implements backend.Claimant.
func (p *Backend) Claims(ctx context.Context, seen func(backend.Claims) error) error {
	return p.pods.Groups.Claims(ctx, seen)
}

// Explain implements backend.Claimant.
func (p *Backend) Explain(ctx context.Context, words []backend.Word) error {
	return p.pods.Groups.Explain(ctx, words)
}

// Disown implements backend.Claimant.
func (p *Backend) Disown(ctx context.Context, ids []core.TaskID) error {
	return p.pods.Groups.Disown(ctx, ids)
}

// Start implements backend.Backend.
func (p *Backend) Start(ctx context.Context, all []backend.Assignment) error {
	return p.pods.Start(ctx, all)
}

// Stop implements backend.Backend.
func (p *Backend) Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error {
	return p.pods.Stop(ctx, ids, grace)
}

// Forget implements backend.Backend. What a task wrote is fetched first.
func (p *Backend) Forget(ctx context.Context, ids []core.TaskID) error {
	return p.pods.Forget(ctx, ids)
}

var _ backend.Sampler = (*Backend)(nil)

// Sample implements backend.Sampler.
func (p *Backend) Sample(ctx context.Context) (backend.Reading, error) { return p.sampler.Sample(ctx) }
