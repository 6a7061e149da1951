package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
)

// The cluster may have many more objects than we have tasks: of each only what
// is looked at is kept.

// TrimPod takes off a pod what nobody here reads.
func TrimPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	trimMeta(&p.ObjectMeta)
	s := p.Spec
	p.Spec = corev1.PodSpec{
		NodeName: s.NodeName, Subdomain: s.Subdomain, SchedulerName: s.SchedulerName, InitContainers: trimContainers(s.InitContainers), Containers: trimContainers(s.Containers),
		Overhead: s.Overhead, Resources: s.Resources, ResourceClaims: s.ResourceClaims, RestartPolicy: s.RestartPolicy,
		NodeSelector: s.NodeSelector, Affinity: s.Affinity, Tolerations: s.Tolerations, SchedulingGates: s.SchedulingGates,
		Priority: s.Priority, PriorityClassName: s.PriorityClassName, TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds,
	}
	if s.SchedulerName != naming.SchedulerName { // it is only counted
		p.Spec.Affinity, p.Spec.Tolerations, p.Spec.NodeSelector = nil, nil, nil
		return p, nil
	}
	p.Spec.OS, p.Spec.ServiceAccountName, p.Spec.TopologySpreadConstraints = s.OS, s.ServiceAccountName, s.TopologySpreadConstraints
	for _, v := range s.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim, Ephemeral: v.Ephemeral}})
		}
	}
	return p, nil
}

// trimContainers keeps what containers ask for.
func trimContainers(all []corev1.Container) []corev1.Container {
	if all == nil {
		return nil
	}
	out := make([]corev1.Container, len(all))
	for i, c := range all {
		out[i] = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy, Ports: c.Ports}
	}
	return out
}

// TrimNode takes off a node what nobody here reads.
func TrimNode(o any) (any, error) {
	if n, ok := o.(*corev1.Node); ok {
		trimMeta(&n.ObjectMeta)
		n.Status.Images, n.Status.VolumesAttached, n.Status.VolumesInUse = nil, nil, nil
	}
	return o, nil
}

// TrimNamespace takes off a namespace what nobody here reads.
func TrimNamespace(o any) (any, error) {
	if n, ok := o.(*corev1.Namespace); ok {
		trimMeta(&n.ObjectMeta)
	}
	return o, nil
}

func trimMeta(m *metav1.ObjectMeta) { m.ManagedFields = nil }

// TrimObject takes off an object what nobody here reads.
func TrimObject(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}
