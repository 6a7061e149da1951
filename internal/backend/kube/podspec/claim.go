package podspec

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
)

// ClaimName is what the claim of a pod is called in it, and its request.
const ClaimName = "gpus"

// claim lets a pod have its GPUs by a claim where its node has them so.
func (v *volumes) claim(p *Builder, a *backend.Assignment, pod *corev1.Pod) {
	if naming.WholeDevices(a) == 0 || !p.cluster.NodeInfo.HasOnlyClaims(p.cluster.NodeName(a.Node)) {
		return
	}
	delete(v.main.Resources.Limits, resources.GpuResources[0])
	v.main.Resources.Claims = []corev1.ResourceClaim{{Name: ClaimName}}
	name := pod.Name
	v.spec.ResourceClaims = []corev1.PodResourceClaim{{Name: ClaimName, ResourceClaimName: &name}}
}
