// Package service keeps what the cluster has beside pods of ours: services, which
// lead to the tasks of an attempt, and secrets that a crash has left.
package service

import (
	"context"
	"maps"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// Services are those of the attempts of a cluster.
type Services struct {
	cluster *cluster.Cluster
	tasks   *tasks.Table
	served  sync.Map // attempts that have a service
	locks   locks    // held while the service of an attempt is made or removed
}

// New knows of no services yet.
func New(c *cluster.Cluster, t *tasks.Table) *Services { return &Services{cluster: c, tasks: t} }

// Note takes over that an attempt may have a service.
func (p *Services) Note(id core.TaskID) { p.served.Store(tasks.AttemptOf(id), true) }

// Ensure makes the services of an attempt where it needs some: by the one its
// tasks find each other, by the other everybody finds a workload that serves.
func (p *Services) Ensure(ctx context.Context, space string, a *backend.Assignment) error {
	if a.Gang < 2 && len(a.Ports) == 0 && a.Ready == nil {
		return nil
	}
	of := tasks.AttemptOf(a.ID)
	defer p.locks.lock(of)()
	p.served.Store(of, true)
	selects := map[string]string{naming.LabelWorkload: string(a.ID.Workload), naming.LabelAttempt: strconv.Itoa(a.ID.Attempt)}
	if a.Gang > 1 && !a.Peers && len(a.Ports) == 0 {
		// With each pod that comes the cluster would write down all of them anew,
		// which for a large gang costs as much as to start it; nobody looks for
		// any but the first.
		selects[naming.LabelIndex] = "0"
	}
	s := applycore.Service(naming.ServiceName(a.ID), space).WithLabels(p.cluster.Marked(map[string]string{
		naming.LabelManaged: naming.Managed, naming.LabelWorkload: string(a.ID.Workload), naming.LabelAttempt: strconv.Itoa(a.ID.Attempt),
	})).WithSpec(applycore.ServiceSpec().WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true).
		WithSelector(selects))
	if _, err := p.cluster.Client.CoreV1().Services(space).Apply(ctx, s, metav1.ApplyOptions{FieldManager: naming.Managed, Force: true}); err != nil {
		return err
	}
	return p.serve(ctx, space, a)
}

// serve makes the service of an inference workload, beside the address that the
// control plane gives it: it is called as the workload is and leads to those of
// its replicas that are ready. A service of that name that is not ours stays as
// it is, and the workload has none.
func (p *Services) serve(ctx context.Context, space string, a *backend.Assignment) error {
	if !a.About.Kind.Replicated() || a.Ready == nil || len(validation.IsDNS1035Label(a.About.Name)) > 0 {
		return nil // names of services begin with a letter
	}
	services := p.cluster.Client.CoreV1().Services(space)
	there, err := services.Get(ctx, a.About.Name, metav1.GetOptions{})
	switch {
	case err == nil && there.Labels[naming.LabelWorkload] != string(a.ID.Workload):
		p.cluster.Limiter.Warn("a service that is not ours has the name of a workload, which so has none in its cluster", "service", space+"/"+a.About.Name, "workload", a.ID.Workload)
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	ours := map[string]string{naming.LabelManaged: naming.Managed, naming.LabelWorkload: string(a.ID.Workload), naming.LabelAttempt: strconv.Itoa(a.ID.Attempt)}
	selects := maps.Clone(ours)
	delete(selects, naming.LabelManaged)
	p.cluster.Marked(ours)
	s := applycore.ServiceSpec().WithType(corev1.ServiceTypeClusterIP).WithSelector(selects)
	main := int32(a.Ready.Port)
	if len(a.Ports) > 0 {
		main = int32(a.Ports[0])
	}
	for i, port := range a.Ports {
		to := int32(port)
		if i == 0 {
			to = int32(a.Ready.Port)
		}
		s.WithPorts(applycore.ServicePort().WithName("port-" + strconv.Itoa(i)).WithPort(int32(port)).WithTargetPort(intstr.FromInt32(to)))
	}
	if len(a.Ports) == 0 {
		s.WithPorts(applycore.ServicePort().WithPort(main).WithTargetPort(intstr.FromInt32(main)))
	}
	_, err = services.Apply(ctx, applycore.Service(a.About.Name, space).WithLabels(ours).WithSpec(s), metav1.ApplyOptions{FieldManager: naming.Managed, Force: true})
	return err
}
