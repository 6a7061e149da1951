package podspec

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/musterhq/muster/internal/backend"
)

// Some namespaces want of all their pods what a task need not have: that it may
// gain no rights, or that its CPU is capped. Labels say the first, if the cluster
// does not want it everywhere; who may not read quotas learns of the second when a
// pod is refused.

// labelEnforced is the Pod Security Standard that a namespace enforces, and
// restricted the one that wants something said in pods.
const labelEnforced, restricted = "pod-security.kubernetes.io/enforce", "restricted"

// policy is what a namespace wants of pods.
type policy struct {
	restricted bool // the Pod Security Standard of that name
	limits     bool // a limit of CPU
}

// demandedFor is for how long it is believed that what refused a pod still would.
const demandedFor = 10 * time.Minute

// policies are those that were learnt from refusals.
type policies struct {
	mu sync.Mutex
	of map[string]learnt // by namespace
}

type learnt struct {
	policy
	at time.Time
}

// in is what a namespace was found to want.
func (d *policies) in(space string) policy {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.of[space]; time.Since(l.at) < demandedFor {
		return l.policy
	}
	return policy{}
}

// learn takes over why a pod was refused, and reports whether another try may
// help.
func (d *policies) learn(space string, err error) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	was, problem := d.in(space), err.Error()
	now := was
	now.restricted = now.restricted || strings.Contains(problem, `violates PodSecurity "`+restricted)
	now.limits = now.limits || strings.Contains(problem, "must specify") && strings.Contains(problem, "limits.cpu")
	if now == was {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]learnt{}
	}
	d.of[space] = learnt{now, time.Now()}
	return true
}

// Learn takes over why a pod of a namespace was refused, and reports whether
// another try may help.
func (p *Builder) Learn(space string, err error) bool { return p.policies.learn(space, err) }

// Apply gives a pod what its namespace wants of pods.
func (p *Builder) Apply(pod *corev1.Pod, a *backend.Assignment) {
	want := p.policies.in(pod.Namespace)
	want.restricted = want.restricted || p.cluster.Namespaces.Labels(pod.Namespace)[labelEnforced] == restricted
	for _, all := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range all {
			c := &all[i]
			if want.restricted {
				no := false
				c.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
			}
			if cpu, ok := c.Resources.Requests[corev1.ResourceCPU]; ok && want.limits {
				c.Resources.Limits[corev1.ResourceCPU] = cpu
			}
		}
	}
	if !want.restricted {
		return
	}
	s := pod.Spec.SecurityContext
	if s == nil {
		s = &corev1.PodSecurityContext{}
		pod.Spec.SecurityContext = s
	}
	s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	if a.UID == nil || *a.UID > 0 { // else the cluster says what is wrong with it
		yes := true
		s.RunAsNonRoot = &yes
	}
}
