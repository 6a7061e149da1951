package kube

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/internal/core"
)

// The resources that device plugins give GPUs as; a node has one sort. NVIDIA's
// is the first.
var gpuResources = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"}

// migPrefix begins the resources of MIG partitions (NVIDIA device plugin,
// strategy mixed).
const migPrefix = "nvidia.com/mig-"

// Labels of NVIDIA's GPU feature discovery.
const (
	labelProduct     = "nvidia.com/gpu.product"
	labelGPUMemory   = "nvidia.com/gpu.memory" // MiB
	labelMIGStrategy = "nvidia.com/mig.strategy"
	labelReplicas    = "nvidia.com/gpu.replicas" // how often its device plugin hands out each GPU
	noteKwok         = "kwok.x-k8s.io/node"
)

// mostDevices bounds what a node may claim to have.
const mostDevices = 256

// describe is the node as the scheduler knows it.
func (s *site) describe(c *cluster) core.Node {
	k := s.node
	own := maps.Clone(k.Labels)
	put(&own, core.LabelRuns, core.RunsImages)
	put(&own, labelNode, k.Name)
	n := core.Node{
		ID: core.NodeID(c.prefix + k.Name), Labels: own, Cordon: k.Spec.Unschedulable,
		CPU: amount(k.Status.Allocatable.Cpu(), true), Memory: amount(k.Status.Allocatable.Memory(), false),
		Tasks: int(min(amount(k.Status.Allocatable.Pods(), false), 1<<20)),
	}
	if n.Tasks -= len(s.beside); n.Tasks <= 0 {
		n.Tasks = 1 // a node that takes none at all says so by not being ready
	}
	for _, a := range k.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			n.Address = a.Address
			break
		}
	}
	n.Ready, n.Message = readiness(k)
	for _, t := range k.Spec.Taints {
		if t.Key != corev1.TaintNodeUnschedulable && t.Key != corev1.TaintNodeNotReady && t.Key != corev1.TaintNodeUnreachable {
			n.Taints = append(n.Taints, core.Taint{Key: t.Key, Value: t.Value, Effect: core.TaintEffect(t.Effect)})
		}
	}
	if os := k.Labels[corev1.LabelOSStable]; os != "" && os != string(corev1.Linux) { // our tasks are for Linux
		n.Taints = append(n.Taints, core.Taint{Key: corev1.LabelOSStable, Value: os, Effect: core.NoSchedule})
	}
	n.Devices = devicesOn(k)
	if gpus := gpuResourceOf(k); gpus != "" {
		n.Labels[labelVendor] = vendorOf(gpus)
		n.Whole = unshareable(k) != ""
	}
	n.MIG, n.MIGStrategy = partitions(k)
	for label, r := range c.reach {
		if !r.reach.holds(k) {
			n.Labels[label] = core.OutOfReach
		}
	}
	for name := range k.Status.Allocatable {
		if extended(string(name)) {
			put(&n.Extra, string(name), suggestions(k, string(name)))
		}
	}
	for name := range c.asked {
		put(&n.Extra, name, suggestions(k, name))
	}
	n.Others = s.taken(len(n.Devices), c.asked)
	withhold(&n, k)
	s.claimed(&n, c.claims)
	return n
}

// readiness is what the node says of itself.
func readiness(k *corev1.Node) (bool, string) {
	for _, c := range k.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			return true, ""
		}
		return false, strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
	}
	return false, "no kubelet has reported it yet"
}

// labelVendor is a label that nodes have for us whose GPUs a device plugin gives:
// who makes them.
const labelVendor = "muster.dev/gpu-vendor"

// vendorOf is who makes the GPUs that a resource stands for.
func vendorOf(name corev1.ResourceName) string {
	domain, _, _ := strings.Cut(string(name), "/")
	domain = strings.TrimSuffix(domain, ".com")
	return domain[strings.LastIndexByte(domain, '.')+1:]
}

// gpuResourceOf is the resource that a node has its GPUs as; empty: no device
// plugin gives any.
func gpuResourceOf(k *corev1.Node) corev1.ResourceName {
	for _, name := range gpuResources {
		if count(k.Status.Capacity, name)+count(k.Status.Allocatable, name) > 0 {
			return name
		}
	}
	return ""
}

// unshareable is why tasks cannot share the GPUs of a node; empty: they can.
func unshareable(k *corev1.Node) string {
	switch replicas := k.Labels[labelReplicas]; {
	case gpuResourceOf(k) != gpuResources[0]:
		return fmt.Sprintf("it has no resource %s, which NVIDIA's device plugin provides", gpuResources[0])
	case replicas != "" && replicas != "1":
		return fmt.Sprintf("its device plugin gives each to several pods already (label %s=%s), so that none can be held; turn that off there", labelReplicas, replicas)
	default:
		return ""
	}
}

// devicesOn are the GPUs of a node. Those that its device plugin does not offer
// any more are there, and not healthy.
func devicesOn(k *corev1.Node) []core.Device {
	if name := gpuResourceOf(k); name != "" {
		total, offered := count(k.Status.Capacity, name), count(k.Status.Allocatable, name)
		total = max(total, offered)
		memory, _ := strconv.ParseInt(k.Labels[labelGPUMemory], 10, 64)
		memory = min(max(memory, 0), 1<<30) << 20
		product := k.Labels[labelProduct]
		if product == "" {
			product, _, _ = strings.Cut(string(name), "/")
		}
		out := make([]core.Device, total)
		for i := range out {
			out[i] = core.Device{ID: deviceID(i), Index: i, Product: product, Memory: memory, Fake: k.Annotations[noteKwok] != "", Healthy: i < offered}
		}
		return out
	}
	return nil
}

// partitions are a node's MIG partitions by profile.
func partitions(k *corev1.Node) (map[string]int, string) {
	var all map[string]int
	for name := range k.Status.Allocatable {
		if profile, ok := strings.CutPrefix(string(name), migPrefix); ok {
			if n := count(k.Status.Allocatable, name); n > 0 {
				put(&all, profile, n)
			}
		}
	}
	strategy := k.Labels[labelMIGStrategy]
	if strategy == "" && all != nil {
		strategy = "mixed"
	}
	return all, strategy
}

// withhold counts what device plugins have and do not offer at the moment as held
// by others: a plugin starts again, or a device is not healthy, and what asks for
// it waits instead of being told that it never fits.
func withhold(n *core.Node, k *corev1.Node) {
	for name, has := range k.Status.Capacity {
		offered := k.Status.Allocatable[name]
		missing := amount(&has, false) - amount(&offered, false)
		if missing <= 0 {
			continue
		}
		if profile, ok := strings.CutPrefix(string(name), migPrefix); ok {
			put(&n.MIG, profile, n.MIG[profile]+int(min(missing, mostDevices)))
			put(&n.Others.MIG, profile, n.Others.MIG[profile]+int(min(missing, mostDevices)))
			n.MIGStrategy = cmp.Or(n.MIGStrategy, "mixed")
		} else if extended(string(name)) {
			missing = min(missing, 1<<30)
			put(&n.Extra, string(name), n.Extra[string(name)]+int(missing))
			put(&n.Others.Extra, string(name), n.Others.Extra[string(name)]+int(missing))
		}
	}
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

func count(l corev1.ResourceList, name corev1.ResourceName) int {
	q := l[name]
	return int(min(amount(&q, false), mostDevices))
}

// mostAmount bounds what a node may claim to have, or a pod to need: 1 PiB of
// memory. It is more than there is, and less than what cannot be added up.
const mostAmount = 1 << 50

var tooMuch = resource.NewQuantity(mostAmount, resource.BinarySI)

// amount is a quantity in units, or thousandths, that may be a lie: not less than
// nothing and not more than mostAmount.
func amount(q *resource.Quantity, milli bool) int64 {
	switch {
	case q.Sign() <= 0:
		return 0
	case q.Cmp(*tooMuch) >= 0:
		return mostAmount
	case milli:
		if q.Value() >= mostAmount/1000 { // thousandths of it may be more than an int64 holds
			return mostAmount
		}
		return q.MilliValue()
	default:
		return q.Value()
	}
}

// taken is what others hold of a node with so many devices. Which devices they
// have nobody tells: it cannot be ours, so it is the last of the others.
func (s *site) taken(devices int, asked map[string]bool) core.Others {
	var o core.Others
	gpus := 0
	for _, u := range s.others {
		o.CPU += u.cpu
		o.Memory += u.memory
		o.Tasks++
		gpus += u.gpus
		for profile, n := range u.mig {
			if o.MIG == nil {
				o.MIG = map[string]int{}
			}
			o.MIG[profile] += n
		}
		for name, n := range u.extra {
			if asked[name] || extended(name) {
				put(&o.Extra, name, o.Extra[name]+int(n))
			}
		}
	}
	for _, u := range s.excess {
		o.CPU += u.cpu
		o.Memory += u.memory
	}
	if gpus == 0 || devices == 0 {
		return o
	}
	own := s.owned()
	o.Milli = make([]int, devices)
	for i := devices - 1; i >= 0 && gpus > 0; i-- {
		if !own[i] {
			o.Milli[i], gpus = 1000, gpus-1
		}
	}
	return o
}

// usage is what a pod asks of its node.
type usage struct {
	cpu, memory int64 // thousandths of cores, bytes
	gpus        int
	vendor      string // of its GPUs; of several, as no node has them, all
	mig         map[string]int
	extra       map[string]int64 // by name, see counted
}

func (u usage) equal(v usage) bool {
	return u.cpu == v.cpu && u.memory == v.memory && u.gpus == v.gpus && u.vendor == v.vendor && maps.Equal(u.mig, v.mig) && maps.Equal(u.extra, v.extra)
}

// usageOf is what the kubelet counts for a pod: all containers and sidecars, or
// what the start needs where that is more, and the overhead (kubernetes.io,
// "Resource Management for Pods and Containers"; "Sidecar Containers").
func usageOf(pod *corev1.Pod) usage {
	total, start, beside := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		add(total, asked(&pod.Spec.Containers[i]))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := asked(c)
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
	u := usage{cpu: amount(total.Cpu(), true), memory: amount(total.Memory(), false)}
	for name := range total {
		if profile, ok := strings.CutPrefix(string(name), migPrefix); ok {
			put(&u.mig, profile, count(total, name))
		}
		q := total[name]
		if n, ok := counted(name, amount(&q, false), true); ok && n > 0 {
			put(&u.extra, string(name), n)
		}
	}
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.HostPort > 0 {
				put(&u.extra, portName(port), 1)
			}
		}
	}
	for _, name := range gpuResources {
		if n := count(total, name); n > 0 {
			u.gpus += n
			u.vendor = strings.TrimPrefix(u.vendor+" and "+vendorOf(name), " and ")
		}
	}
	return u
}

// asked is what a container asks for: limits where it names no request.
func asked(c *corev1.Container) corev1.ResourceList {
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
