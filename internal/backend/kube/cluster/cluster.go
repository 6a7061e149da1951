// Package cluster is how a Kubernetes cluster is reached: the connection, what is
// watched, who drives it, and what is known of its nodes and namespaces. All that
// is done with a cluster begins here.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/namespace"
	"github.com/musterhq/muster/internal/backend/kube/nodeinfo"
	"github.com/musterhq/muster/internal/core"
)

// Latest is how the API server is reached, with the credentials that are in force.
func (p *Cluster) Latest() *rest.Config {
	if p.Options.Latest == nil {
		return p.Options.Config
	}
	return p.Options.Latest()
}

// GetPod is a pod as the cluster has it now; nil: it has none of that name.
func (p *Cluster) GetPod(ctx context.Context, space, name string) (*corev1.Pod, error) {
	pod, err := p.Client.CoreV1().Pods(space).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return pod, err
}

// Cluster is how a cluster is reached, and what is known of its nodes and
// namespaces: what all that is done with it begins with.
type Cluster struct {
	Options Options
	Client  kubernetes.Interface
	stop    context.CancelFunc
	Context context.Context //nolint:containedctx // of everything that goes on between calls
	Running sync.WaitGroup

	Factory    informers.SharedInformerFactory
	Sources    []*Source
	Placed     *affinity.Pods
	Namespaces *namespace.Namespaces
	NodeInfo   *nodeinfo.Nodes
	bounds     atomic.Pointer[Bounds]
	bounded    sync.Map // by namespace, what its quota says
	isolated   sync.Map // namespaces by name that have their network policy

	driver  driver
	version atomic.Pointer[string] // of the API server, as last heard
	Limiter *apicall.Limiter
}

// Connect prepares to watch a cluster.
func Connect(o Options) (*Cluster, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst = -1, 0 // the API server's own fairness limits us
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.UserAgent = "muster"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cmp.Or(o.Name, defaultName), err)
	}
	return New(o, client), nil
}

// defaultName is that of a cluster to which Options give none.
const defaultName = "kube"

// New is a cluster that is reached by client. It is not watched yet.
func New(o Options, client kubernetes.Interface) *Cluster {
	o.Name, o.Namespaces = cmp.Or(o.Name, defaultName), cmp.Or(o.Namespaces, "muster-")
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	p := &Cluster{Options: o, Client: client, Limiter: apicall.NewLimiter(o.Log.With("backend", o.Name))}
	p.Context, p.stop = context.WithCancel(context.Background())
	p.Factory = informers.NewSharedInformerFactory(client, 0)
	p.Namespaces = namespace.New(o.Namespaces)
	p.NodeInfo, p.Placed = nodeinfo.New(o.Prefix, p.Mine), affinity.NewPods(p.Namespaces.Labels)
	return p
}

// Begin has the cluster watched as soon as it is ours to drive; then follow goes
// on beside it.
func (p *Cluster) Begin(follow func()) error {
	p.driver.begin = func() {
		p.Factory.Start(p.Context.Done())
		p.Running.Go(follow) // once the others have begun: it adds to them
	}
	switch {
	case p.Options.Register != nil:
		p.Options.Register.enter(p.Options.Name)
	case p.Options.Installation == "":
		return p.CheckDriving(p.Context, 0)
	}
	return nil
}

// Close ends everything that goes on here. Pods go on.
func (p *Cluster) Close() error {
	p.stop()
	p.driver.mu.Lock()
	p.driver.over = true // nothing begins any more
	p.driver.mu.Unlock()
	p.Factory.Shutdown()
	p.Running.Wait()
	return nil
}

// Name implements backend.Backend.
func (p *Cluster) Name() string { return p.Options.Name }

// Named says on nodes whose they are.
func (p *Cluster) Named(nodes []core.Node) []core.Node {
	for i := range nodes {
		nodes[i].Backend = p.Options.Name
	}
	return nodes
}

// Seen reports whether everything in the cluster has been seen once.
func (p *Cluster) Seen() bool {
	for _, s := range p.Sources {
		if !s.Synced() {
			return false
		}
	}
	return true
}

// Sync waits until everything in the cluster has been seen once, and fails where
// that is not ours to drive.
func (p *Cluster) Sync(ctx context.Context) error {
	if err := p.CheckDriving(ctx, believed); err != nil {
		return err
	}
	return p.AwaitSeen(ctx)
}

// AwaitSeen waits until everything in the cluster has been seen once.
func (p *Cluster) AwaitSeen(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if p.Seen() {
			return nil
		}
		select {
		case <-ctx.Done():
			if err := p.Reach(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			if err := p.Hears(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			return fmt.Errorf("cluster %s has not been seen whole yet: %w", p.Options.Name, ctx.Err())
		case <-p.Context.Done():
			return context.Canceled
		case <-tick.C:
		}
	}
}

// Reach asks the API server for a sign of life.
func (p *Cluster) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	data, err := p.Client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s: %w: %w", p.Options.Name, backend.ErrUnreachable, err)
	}
	var v version.Info
	if json.Unmarshal(data, &v) == nil {
		p.version.Store(&v.GitVersion)
	}
	return nil
}

// Describe implements backend.Describer.
func (p *Cluster) Describe() backend.Description {
	d := backend.Description{Kind: "kubernetes", Server: p.Options.Config.Host, Runs: core.RunsImages}
	if v := p.version.Load(); v != nil {
		d.Version = *v
	}
	return d
}

// NodeName is what the cluster calls a node.
func (p *Cluster) NodeName(id core.NodeID) string {
	return strings.TrimPrefix(string(id), p.Options.Prefix)
}
