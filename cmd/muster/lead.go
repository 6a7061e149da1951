package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/musterhq/muster/internal/cli"
)

// How long a leader is believed after its last sign of life, how long it tries
// to give one before it ends, and how often everyone looks.
const (
	leaseFor   = 15 * time.Second
	renewFor   = 10 * time.Second
	leaseEvery = 2 * time.Second
)

// errDeposed says that another server may lead by now.
var errDeposed = errors.New("the lead was lost: the cluster could not be told in time that this server lives")

// lead runs body once this server leads, and ends it when it leads no more.
// Without an election, or without a cluster to hold it, the data directory
// alone decides.
func lead(ctx context.Context, o cli.ServerOptions, log *slog.Logger, body func(context.Context) error) error {
	if !o.LeaderElect || !slices.Contains(o.Backends, "kube") {
		return body(ctx)
	}
	// It goes on until body has ended, so that nobody begins before.
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	won, over := make(chan struct{}), make(chan struct{})
	elector, err := candidate(o, log, func() { close(won) })
	if err != nil {
		return err
	}
	go func() {
		defer close(over)
		elector.Run(running)
	}()
	select {
	case <-won:
	case <-ctx.Done():
		end()
		<-over
		return nil
	}
	leading, depose := context.WithCancelCause(ctx)
	defer depose(nil)
	go func() {
		select {
		case <-over:
			depose(errDeposed)
		case <-leading.Done():
		}
	}()
	err = body(leading)
	if errors.Is(context.Cause(leading), errDeposed) {
		err = errors.Join(err, errDeposed)
	}
	end()
	<-over // the lease is given back
	return err
}

// candidate stands for election.
func candidate(o cli.ServerOptions, log *slog.Logger, won func()) (*leaderelection.LeaderElector, error) {
	config, _, err := clusterConfig(o.Kubeconfig, o.KubeContext, log)
	if err != nil {
		return nil, precondition(fmt.Sprintf("--leader-elect: the cluster cannot be found: %v", err), "name its file with --kubeconfig")
	}
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "leader-election"))
	if err != nil {
		return nil, err
	}
	me := holder()
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: o.LeaseName,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: o.LeaseName, Namespace: leaseNamespace(o)},
			Client:    client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: me},
		},
		LeaseDuration: leaseFor, RenewDeadline: renewFor, RetryPeriod: leaseEvery, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { won() },
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				if leader == me {
					log.Info("leading", "as", me)
				} else {
					log.Info("standing by", "leader", leader)
				}
			},
		},
	})
}

// ownNamespace is where a pod finds the name of its namespace.
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseNamespace is where the lease lies.
func leaseNamespace(o cli.ServerOptions) string {
	if o.LeaseNamespace != "" {
		return o.LeaseNamespace
	}
	if o.Kubeconfig == "" {
		if own, err := os.ReadFile(ownNamespace); err == nil {
			return strings.TrimSpace(string(own))
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	space, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.KubeContext}).Namespace()
	if err != nil || space == "" {
		return metav1.NamespaceDefault
	}
	return space
}
