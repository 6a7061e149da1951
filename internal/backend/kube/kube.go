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
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/namespace"
	"github.com/musterhq/muster/internal/backend/kube/nodeinfo"
	"github.com/musterhq/muster/internal/backend/kube/podlog"
	"github.com/musterhq/muster/internal/core"
)

// Options describe one cluster.
type Options struct {
	// Name is the backend's name; empty: kube.
	Name string
	// Prefix stands before the names of the cluster's nodes, so that those of
	// two clusters differ.
	Prefix string
	Config *rest.Config
	// Latest is Config with the credentials that are in force; nil: Config itself.
	// Connections that leave HTTP, as to a port of a pod, are made with it.
	Latest func() *rest.Config
	// Namespaces is what the namespace of a project is called, before the name
	// of the project; empty: "muster-". A namespace that has the label
	// muster.dev/project is that project's, whatever its name.
	Namespaces string
	// Program is an image that has this program at /muster; the agents of mpi
	// workloads come from it. Without one these cannot run.
	Program string
	// RuntimeClass is that of pods with GPUs; empty: the cluster's default.
	RuntimeClass string
	// ReservationImage is what the pods run that hold shared GPUs: any with
	// /bin/sh; empty: the constant of that name.
	ReservationImage string
	LogDir           string // where the output of tasks is kept
	// Patience is for how long a pod may be in a trouble that may pass, such as a
	// volume that cannot be mounted, before its task fails; 0: 2 minutes.
	Patience time.Duration
	// Installation is the ID of the control plane, which drives the cluster alone;
	// empty: nobody asks who else does, as in tests.
	Installation string
	// Seasoned says that the installation is older than its ID: what bears none in
	// a cluster that nobody drives may be its own.
	Seasoned bool
	// TakeOver has it drive a cluster that another installation drives.
	TakeOver bool
	// Register knows the other clusters; nil: there is none.
	Register *Register
	Log      *slog.Logger
	Clock    func() time.Time
}

// Backend is a Kubernetes cluster.
type Backend struct {
	o      Options
	client kubernetes.Interface
	stop   context.CancelFunc
	ctx    context.Context //nolint:containedctx // of everything that goes on between calls
	wg     sync.WaitGroup

	placed  *affinity.Pods
	factory informers.SharedInformerFactory
	sources []*source

	namespaces *namespace.Namespaces
	nodes      *nodeinfo.Nodes
	tasks      *tasks
	fractions  *fractions
	logs       *podlog.Logs
	// antiAffinity are tasks that pods of others keep away.
	antiAffinity antiAffinity
	// groups are pods that others made and leave to us to place.
	groups   *podGroups
	reporter *reporter
	volumes  *volumeAffinity

	driver   driver
	policies policies
	// equipping is held by those that write what claims of others have until they
	// have bound their pods, and alone by who takes it back.
	equipping sync.RWMutex
	starts    apicall.Starting
	served    sync.Map                    // attempts that have a service
	serviced  locks                       // held while the service of an attempt is made or removed
	claimed   atomic.Pointer[func() bool] // resource claims have been seen; nil: nobody knows yet whether there are such
	swept     atomic.Bool                 // what a server before us left has been looked for
	deaf      atomic.Bool                 // events may not be read

	version atomic.Pointer[string] // of the API server, as last heard
	limiter *apicall.Limiter
	sampler sampler
}

// Open begins to watch a cluster. It does not wait for it: the cluster may be
// out of reach at the time.
func Open(o Options) (*Backend, error) {
	if o.Name == "" {
		o.Name = "kube"
	}
	if o.Namespaces == "" {
		o.Namespaces = "muster-"
	}
	if o.ReservationImage == "" {
		o.ReservationImage = ReservationImage
	}
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst = -1, 0 // the API server's own fairness limits us
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.UserAgent = "muster"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", o.Name, err)
	}
	p := &Backend{o: o, client: client, limiter: apicall.NewLimiter(o.Log.With("backend", o.Name))}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.factory = informers.NewSharedInformerFactory(client, 0)
	p.namespaces = namespace.New(o.Namespaces)
	p.tasks = newTasks(o.Clock)
	p.nodes, p.placed = nodeinfo.New(o.Prefix, p.mine), affinity.NewPods(p.namespaces.Labels)
	p.fractions = newFractions(p)
	p.logs = newTaskLogs(p)
	p.groups, p.reporter, p.volumes = newPodGroups(p), newReporter(p), &volumeAffinity{p: p}
	if err := p.inform(); err != nil {
		p.stop()
		return nil, fmt.Errorf("cluster %s: %w", o.Name, err)
	}
	follow := p.watchClaims()
	p.driver.begin = func() {
		p.factory.Start(p.ctx.Done())
		p.wg.Go(follow) // once the others have begun: it adds to them
	}
	switch {
	case o.Register != nil:
		o.Register.enter(o.Name)
	case o.Installation == "":
		if err := p.drives(p.ctx, 0); err != nil {
			return nil, err
		}
	}
	p.wg.Go(func() { p.look(p.ctx) })
	p.wg.Go(func() { p.groups.run(p.ctx) })
	return p, nil
}

// Close ends everything that goes on here. Pods go on.
func (p *Backend) Close() error {
	p.stop()
	p.driver.mu.Lock()
	p.driver.over = true // nothing begins any more
	p.driver.mu.Unlock()
	p.factory.Shutdown()
	p.wg.Wait()
	return nil
}

// Name implements backend.Backend.
func (p *Backend) Name() string { return p.o.Name }

// Inventory implements backend.Backend.
func (p *Backend) Inventory(ctx context.Context) ([]core.Node, error) {
	if !p.seen() { // an API server that is not there is soon found out
		if err := p.reach(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.sync(ctx); err != nil {
		return nil, err
	}
	return p.named(p.nodes.List()), nil
}

// named says on nodes whose they are.
func (p *Backend) named(nodes []core.Node) []core.Node {
	for i := range nodes {
		nodes[i].Backend = p.o.Name
	}
	return nodes
}

// Observe implements backend.Backend. It fails while the API server does not
// answer, as nobody knows then what the cluster does.
func (p *Backend) Observe(ctx context.Context) ([]backend.Observation, error) {
	if err := p.drives(ctx, 0); err != nil {
		return nil, err
	}
	if err := p.sync(ctx); err != nil {
		return nil, err
	}
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	if err := p.hears(ctx); err != nil {
		return nil, err
	}
	return p.tasks.all(), nil
}

// seen reports whether everything in the cluster has been seen once.
func (p *Backend) seen() bool {
	for _, s := range p.sources {
		if !s.synced() {
			return false
		}
	}
	return true
}

// sync waits until everything in the cluster has been seen once, and fails where
// that is not ours to drive.
func (p *Backend) sync(ctx context.Context) error {
	if err := p.drives(ctx, believed); err != nil {
		return err
	}
	return p.whole(ctx)
}

// whole waits until everything in the cluster has been seen once.
func (p *Backend) whole(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if p.seen() {
			return nil
		}
		select {
		case <-ctx.Done():
			if err := p.reach(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			if err := p.hears(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			return fmt.Errorf("cluster %s has not been seen whole yet: %w", p.o.Name, ctx.Err())
		case <-p.ctx.Done():
			return context.Canceled
		case <-tick.C:
		}
	}
}

// reach asks the API server for a sign of life.
func (p *Backend) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	data, err := p.client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s: %w: %w", p.o.Name, backend.ErrUnreachable, err)
	}
	var v version.Info
	if json.Unmarshal(data, &v) == nil {
		p.version.Store(&v.GitVersion)
	}
	return nil
}

// Describe implements backend.Describer.
func (p *Backend) Describe() backend.Description {
	d := backend.Description{Kind: "kubernetes", Server: p.o.Config.Host, Runs: core.RunsImages}
	if v := p.version.Load(); v != nil {
		d.Version = *v
	}
	return d
}

// Watch implements backend.Backend.
func (p *Backend) Watch(ctx context.Context, seen func([]backend.Observation)) error {
	return p.tasks.watch(ctx, seen)
}

// Nodes implements backend.Announcer.
func (p *Backend) Nodes(ctx context.Context, seen func(changed []core.Node, gone []core.NodeID)) error {
	if err := p.whole(ctx); err != nil {
		return err
	}
	return p.nodes.Watch(ctx, func(changed []core.Node, gone []core.NodeID) { seen(p.named(changed), gone) })
}
