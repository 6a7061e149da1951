package kube

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// serve makes the service of an inference workload, beside the address that the
// control plane gives it: it is called as the workload is and leads to those of
// its replicas that are ready. A service of that name that is not ours stays as
// it is, and the workload has none.
func (p *Backend) serve(ctx context.Context, space string, a *backend.Assignment) error {
	if a.About.Kind != lifecycle.Inference || a.Ready == nil || len(validation.IsDNS1035Label(a.About.Name)) > 0 {
		return nil // names of services begin with a letter
	}
	services := p.client.CoreV1().Services(space)
	there, err := services.Get(ctx, a.About.Name, metav1.GetOptions{})
	switch {
	case err == nil && there.Labels[naming.LabelWorkload] != string(a.ID.Workload):
		p.limiter.Warn("a service that is not ours has the name of a workload, which so has none in its cluster", "service", space+"/"+a.About.Name, "workload", a.ID.Workload)
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	ours := map[string]string{naming.LabelManaged: naming.Managed, naming.LabelWorkload: string(a.ID.Workload), naming.LabelAttempt: strconv.Itoa(a.ID.Attempt)}
	selects := maps.Clone(ours)
	delete(selects, naming.LabelManaged)
	p.marked(ours)
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

// noteChosen is where the scheduler of Kubernetes says on a claim for which node
// its volume is to be made.
const noteChosen = "volume.kubernetes.io/selected-node"

// mountable sees to it that the claims of a task can be mounted: they must be
// there, and a volume that is made for its first user is asked for.
func (p *Backend) mountable(ctx context.Context, space string, a *backend.Assignment) error {
	for _, m := range a.Mounts {
		if m.Claim == "" {
			continue
		}
		err := p.choose(ctx, space, m.Claim, p.nodeName(a.Node))
		if apierrors.IsNotFound(err) {
			return apicall.Refuse(lifecycle.ReasonMountFailed, "there is no PersistentVolumeClaim %s in namespace %s of cluster %s: make it there, or choose another cluster", m.Claim, space, p.o.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// choose says on a claim whose volume is made for its first user for which node
// that is, which otherwise is the scheduler's part.
func (p *Backend) choose(ctx context.Context, space, name, node string) error {
	claims := p.client.CoreV1().PersistentVolumeClaims(space)
	c, err := claims.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c.Status.Phase == corev1.ClaimBound || c.Spec.VolumeName != "" || c.Annotations[noteChosen] != "" || c.Spec.StorageClassName == nil || *c.Spec.StorageClassName == "" {
		return nil
	}
	class, err := p.client.StorageV1().StorageClasses().Get(ctx, *c.Spec.StorageClassName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // what comes of it its pod will say
	}
	if err != nil || class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{noteChosen: node}}})
	if err != nil {
		return err
	}
	_, err = claims.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: naming.Managed})
	return err
}
