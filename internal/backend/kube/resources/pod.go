package resources

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/internal/backend/kube/naming"
)

// Usage is what a pod asks of its node.
type Usage struct {
	Cpu, Memory int64 // thousandths of cores, bytes
	Gpus        int
	Vendor      string // of its GPUs; of several, as no node has them, all
	Mig         map[string]int
	Extra       map[string]int64 // by name, see counted
}

// Equal reports whether two usages are the same.
func (u Usage) Equal(v Usage) bool {
	return u.Cpu == v.Cpu && u.Memory == v.Memory && u.Gpus == v.Gpus && u.Vendor == v.Vendor && maps.Equal(u.Mig, v.Mig) && maps.Equal(u.Extra, v.Extra)
}

// UsageOf is what the kubelet counts for a pod: all containers and sidecars, or
// what the start needs where that is more, and the overhead (kubernetes.io,
// "Resource Management for Pods and Containers"; "Sidecar Containers").
func UsageOf(pod *corev1.Pod) Usage {
	total, start, beside := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		add(total, Requests(&pod.Spec.Containers[i]))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := Requests(c)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(total, need)
			add(beside, need)
			need = beside
		} else {
			need = need.DeepCopy()
			add(need, beside)
		}
		most(start, need)
	}
	most(total, start)
	if r := pod.Spec.Resources; r != nil {
		for name, q := range r.Requests { // of the pod as a whole: it stands for the sum
			total[name] = q
		}
	}
	add(total, pod.Spec.Overhead)
	u := Usage{Cpu: Amount(total.Cpu(), true), Memory: Amount(total.Memory(), false)}
	for name := range total {
		if profile, ok := strings.CutPrefix(string(name), MigPrefix); ok {
			Set(&u.Mig, profile, Count(total, name))
		}
		q := total[name]
		if n, ok := counted(name, Amount(&q, false), true); ok && n > 0 {
			Set(&u.Extra, string(name), n)
		}
	}
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.HostPort > 0 {
				Set(&u.Extra, portName(port), 1)
			}
		}
	}
	for _, name := range GpuResources {
		if n := Count(total, name); n > 0 {
			u.Gpus += n
			u.Vendor = strings.TrimPrefix(u.Vendor+" and "+VendorOf(name), " and ")
		}
	}
	return u
}

// Requests is what a container asks for: limits where it names no request.
func Requests(c *corev1.Container) corev1.ResourceList {
	out := c.Resources.Limits.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	for name, q := range c.Resources.Requests {
		out[name] = q
	}
	return out
}

func add(to, more corev1.ResourceList) {
	for name, q := range more {
		sum := to[name]
		sum.Add(q)
		to[name] = sum
	}
}

func most(to, other corev1.ResourceList) {
	for name, q := range other {
		if was, ok := to[name]; !ok || was.Cmp(q) < 0 {
			to[name] = q
		}
	}
}

// portName is how a port of the node itself is counted, of which there is one.
func portName(p corev1.ContainerPort) string {
	protocol := p.Protocol
	if protocol == "" {
		protocol = corev1.ProtocolTCP
	}
	return portPrefix + string(protocol) + "/" + strconv.Itoa(int(p.HostPort))
}

const portPrefix = "host-port/"

// Excess is what a pod of ours takes beyond what it was placed with: the node has
// that much less for others. What it was placed with stands in an annotation.
func Excess(pod *corev1.Pod) Usage {
	var u Usage
	cpu, memory, ok := strings.Cut(pod.Annotations[naming.NoteAsked], "/")
	if !ok {
		return u
	}
	c, err1 := resource.ParseQuantity(cpu)
	m, err2 := resource.ParseQuantity(memory)
	if err1 != nil || err2 != nil {
		return u
	}
	is := UsageOf(pod)
	u.Cpu, u.Memory = max(is.Cpu-Amount(&c, true), 0), max(is.Memory-Amount(&m, false), 0)
	return u
}

// DescribeAsked writes what a task was placed with.
func DescribeAsked(cpu, memory int64) string {
	return resource.NewMilliQuantity(cpu, resource.DecimalSI).String() + "/" + resource.NewQuantity(memory, resource.BinarySI).String()
}
