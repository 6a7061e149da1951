package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/tokenreview"
	"github.com/musterhq/muster/internal/backend/local"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/operator"
	"github.com/musterhq/muster/internal/server"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/store"
)

// backends are where work runs.
type backends struct {
	all    []backend.Backend
	local  *local.Backend // nil: this machine is none
	kubes  []kubeCluster
	former []backend.Output // of tasks that ran on this machine, which is none any more
	images bool             // one of them runs container images
	// installation drives clusters; seasoned: it did so before it had a name.
	installation string
	seasoned     bool
	register     cluster.Register
}

// kubeCluster is a Kubernetes cluster, and how it is reached.
type kubeCluster struct {
	*kube.Backend
	config *rest.Config
}

// openBackends opens the backends that the options name.
func openBackends(ctx context.Context, o cli.ServerOptions, st store.Store, images *images, as *local.AsSubmitter, log *slog.Logger) (*backends, error) {
	p := &backends{}
	var err error
	if p.installation, err = st.Installation(ctx); err != nil {
		return nil, err
	}
	before, err := st.Counters(ctx)
	if err != nil {
		return nil, err
	}
	p.seasoned = before.Workload > 0
	if err := p.open(o, images, as, log); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *backends) open(o cli.ServerOptions, images *images, as *local.AsSubmitter, log *slog.Logger) error {
	logs := filepath.Join(o.DataDir, "logs")
	if slices.Contains(o.Backends, "local") {
		l, err := local.Open(local.Options{Dir: filepath.Join(o.DataDir, "local"), LogDir: logs, FakeCPUs: o.FakeCPUs, FakeGPUs: o.FakeGPUs, As: as, Images: images.backend()})
		if err != nil {
			return err
		}
		p.local, p.images = l, images.store != nil
		p.all = append(p.all, l)
	}
	if p.local == nil { // it may have been one, here or where the records come from
		p.former = append(p.former, logfile.Former(logs))
	}
	if slices.Contains(o.Backends, "kube") {
		config, latest, err := clusterConfig(o.Kubeconfig, o.KubeContext, log)
		if err != nil {
			return precondition(fmt.Sprintf("the cluster of --backend kube cannot be found: %v", err), "name its file with --kubeconfig")
		}
		if err := p.add(o, "kube", "", config, latest, logs, log); err != nil {
			return err
		}
	}
	for _, c := range o.Clusters {
		name, file, _ := strings.Cut(c, "=")
		config, latest, err := clusterConfig(file, "", log)
		if err != nil {
			return precondition(fmt.Sprintf("cluster %s cannot be opened: %v", name, err), "--cluster NAME=KUBECONFIG names a file that kubectl understands")
		}
		if err := p.add(o, name, name+"/", config, latest, logs, log); err != nil {
			return err
		}
	}
	return nil
}

func (p *backends) add(o cli.ServerOptions, name, prefix string, config *rest.Config, latest func() *rest.Config, logs string, log *slog.Logger) error {
	if levels := []string{"", "privileged", "baseline", "restricted"}; !slices.Contains(levels, o.KubePodSecurity) {
		return precondition(fmt.Sprintf("--kube-pod-security %q is no Pod Security Standard", o.KubePodSecurity), "write one of "+strings.Join(levels[1:], ", "))
	}
	k, err := kube.Open(cluster.Options{
		Name: name, Prefix: prefix, Config: config, Latest: latest, Namespaces: o.KubeNamespaces, PodSecurity: o.KubePodSecurity, IsolateNetwork: o.KubeIsolateNetwork, MirrorQuotas: o.KubeMirrorQuotas, Program: o.KubeProgram,
		RuntimeClass: o.KubeRuntime, ReservationImage: o.KubeReservation, LogDir: filepath.Join(logs, name), Log: log,
		Installation: p.installation, Seasoned: p.seasoned, TakeOver: slices.Contains(o.TakeOver, name), Register: &p.register,
	})
	if err != nil {
		return err
	}
	p.kubes, p.all, p.images = append(p.kubes, kubeCluster{k, config}), append(p.all, k), true
	return nil
}

// operator shows workloads as objects of the first cluster, where that knows the
// resource and it is wanted.
func (p *backends) operator(o cli.ServerOptions, address string, srv *server.Server, log *slog.Logger) (func(context.Context), error) {
	switch {
	case o.KubeAdmission.Listen != "" && (len(p.kubes) == 0 || !o.KubeMirror):
		return nil, precondition("--kube-admission is for a server that takes workloads as objects of a cluster, and this one takes none", "leave it out, or name a cluster with --backend kube or --cluster, and not --kube-mirror=false")
	case len(p.kubes) == 0 || !o.KubeMirror:
		return func(context.Context) {}, nil
	}
	c, err := client.New(client.Options{Address: address, UserAgent: "muster-kubeface"})
	if err != nil {
		return nil, err
	}
	conf := operator.Config{Cluster: p.kubes[0].config, Spaces: p.kubes[0].Backend, Muster: c, Log: log}
	asked := func(context.Context) {}
	if o.KubeAdmission.Listen != "" {
		conf.As = inCluster(o.KubeAdmission, srv)
		if asked, err = admitted(o.KubeAdmission, conf, log); err != nil {
			return nil, err
		}
	}
	f, err := operator.New(conf)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		defer c.Close()
		var both sync.WaitGroup
		defer both.Wait()
		both.Go(func() { asked(ctx) })
		p.kubes[0].WhileDriving(ctx, f.Run)
	}, nil
}

// tokenReview asks the first cluster whose tokens are; nil: nobody wants to know.
func (p *backends) tokenReview(o cli.ServerOptions) (access.TokenReview, error) {
	switch {
	case o.KubeTokenAudience == "":
		return nil, nil
	case len(p.kubes) == 0:
		return nil, precondition("--kube-token-audience is for a server that drives a cluster, and this one drives none", "leave it out, or name a cluster with --backend kube or --cluster")
	}
	r, err := tokenreview.New(p.kubes[0].config, o.KubeTokenAudience)
	if err != nil {
		return nil, err
	}
	return r.Review, nil
}

// retire ends helpers that have no reason to stay.
func (p *backends) retire(ctx context.Context) error {
	if p.local == nil {
		return nil
	}
	return p.local.Retire(ctx)
}

func (p *backends) close() error {
	var err error
	for _, k := range p.kubes {
		err = errors.Join(err, k.Close())
	}
	if p.local != nil {
		err = errors.Join(err, p.local.Close())
	}
	return err
}
