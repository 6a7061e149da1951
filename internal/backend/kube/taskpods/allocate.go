package taskpods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podspec"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
)

// Where a node has its GPUs from a driver and not from a device plugin, a pod
// has them by a claim of its own. Its devices are those that the task was
// placed on: we say so in the claim, as a scheduler does, before the pod gets
// its place. The claim belongs to the pod and goes with it.

// allocate makes the claim of a pod that has none yet, with what it is to have.
func allocate(ctx context.Context, c *cluster.Cluster, labels map[string]string, a *backend.Assignment, pod *corev1.Pod) error {
	node := c.NodeName(a.Node)
	devices, ok := c.NodeInfo.Devices(node, a.Devices)
	if !ok {
		return apicall.Refuse(podstatus.ReasonSystem, "node %s does not offer all of the GPUs %s any more that it was placed on", node, naming.DevicesNote(a.Devices))
	}
	claims := c.Client.ResourceV1().ResourceClaims(pod.Namespace)
	want := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, Labels: labels, Annotations: map[string]string{naming.NoteTask: a.ID.String()},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: podspec.ClaimName, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: dra.Driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(len(devices))},
		}}}},
	}
	if _, err := claims.Create(ctx, want, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return apicall.Classify(err)
	}
	return apicall.Classify(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		made, err := claims.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(made.OwnerReferences) != 1 || made.OwnerReferences[0].UID != pod.UID {
			// One of a former pod of this name: it is about to go.
			return apierrors.NewServiceUnavailable("resource claim " + made.Namespace + "/" + made.Name + " belongs to a pod that is gone")
		}
		if made.Status.Allocation != nil {
			return nil
		}
		made.Status.Allocation = dra.NewAllocation(node)
		for _, d := range devices {
			made.Status.Allocation.Devices.Results = append(made.Status.Allocation.Devices.Results, dra.ResultOf(podspec.ClaimName, d))
		}
		made.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
		_, err = claims.UpdateStatus(ctx, made, metav1.UpdateOptions{})
		return err
	}))
}
