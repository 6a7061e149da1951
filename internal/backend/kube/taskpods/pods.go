// Package taskpods has the pods of our tasks: how they are started, what becomes
// of them, and how they end and are forgotten. Where a task is a pod that others
// made, it leaves it to podgroup.
package taskpods

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/fraction"
	"github.com/musterhq/muster/internal/backend/kube/podexec"
	"github.com/musterhq/muster/internal/backend/kube/podgroup"
	"github.com/musterhq/muster/internal/backend/kube/podlog"
	"github.com/musterhq/muster/internal/backend/kube/podspec"
	"github.com/musterhq/muster/internal/backend/kube/service"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/backend/kube/volume"
	"github.com/musterhq/muster/internal/core"
)

// Pods are those of the tasks of a cluster.
type Pods struct {
	cluster   *cluster.Cluster
	builder   *podspec.Builder
	services  *service.Services
	Tasks     *tasks.Table
	Fractions *fraction.Fractions
	Logs      *podlog.Logs
	// Groups are pods that others made and leave to us to place.
	Groups  *podgroup.Groups
	Volumes *volume.Affinity

	order        sync.Mutex // of what is told of pods, by the watch and by answers
	starts       apicall.Starting
	swept        atomic.Bool // what a server before us left has been looked for
	antiAffinity antiAffinity
}

// New has the pods of a cluster of which nothing has been seen yet.
func New(c *cluster.Cluster) *Pods {
	p := &Pods{cluster: c, builder: podspec.New(c), Tasks: tasks.New(c.Options.Clock), Volumes: &volume.Affinity{P: c}}
	p.services, p.Fractions = service.New(c, p.Tasks), fraction.New(c, p.Tasks)
	p.Logs = podlog.New(c.Options.LogDir, podlog.Source{
		API: c.Client, Context: c.Context, Go: c.Running.Go, Log: c.Options.Log, Seen: c.Seen, AwaitSeen: c.AwaitSeen, Reach: c.Reach, Starting: p.starts.Lately,
		Task: func(id core.TaskID) (podlog.TaskState, bool) {
			t, known := p.Tasks.Get(id)
			return podlog.TaskState{State: t.Seen.State, Pod: t.There}, known
		},
	})
	p.Groups = podgroup.New(c, p.Tasks, p.Logs, p.Volumes, p.drop)
	p.antiAffinity.cluster = c
	return p
}

// Run looks after tasks that do not start, and pods of others, until ctx is done.
func (p *Pods) Run(ctx context.Context) {
	stuck := &stuck{cluster: p.cluster, tasks: p.Tasks, discard: p.discard}
	p.cluster.Running.Go(func() { stuck.run(ctx) })
	p.cluster.Running.Go(func() { p.Groups.Run(ctx) })
}

// Containers is how the containers of tasks are reached.
func (p *Pods) Containers() *podexec.Client {
	c := p.cluster
	return &podexec.Client{API: c.Client, Config: c.Latest, Context: c.Context, Go: c.Running.Go, Log: c.Options.Log}
}

// Target is the container of a task that runs.
func (p *Pods) Target(ctx context.Context, id core.TaskID) (podexec.Target, error) {
	if err := p.cluster.Sync(ctx); err != nil {
		return podexec.Target{}, err
	}
	t, ok := p.Tasks.Get(id)
	if !ok || t.Seen.State != core.TaskRunning || !t.There {
		return podexec.Target{}, backend.ErrNotRunning
	}
	return podexec.Target{Namespace: t.Space, Pod: t.Name, UID: t.Uid, Container: t.Runs(), Task: id}, nil
}
