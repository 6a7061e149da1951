package resources

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
)

// Labels of NVIDIA's GPU feature discovery.
const (
	labelProduct     = "nvidia.com/gpu.product"
	labelGPUMemory   = "nvidia.com/gpu.memory" // MiB
	labelMIGStrategy = "nvidia.com/mig.strategy"
	LabelReplicas    = "nvidia.com/gpu.replicas" // how often its device plugin hands out each GPU
	NoteKwok         = "kwok.x-k8s.io/node"
)

// The resources that device plugins give GPUs as; a node has one sort. NVIDIA's
// is the first.
var GpuResources = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"}

// MigPrefix begins the resources of MIG partitions (NVIDIA device plugin,
// strategy mixed).
const MigPrefix = "nvidia.com/mig-"

// MostDevices bounds what a node may claim to have.
const MostDevices = 256

// VendorOf is who makes the GPUs that a resource stands for.
func VendorOf(name corev1.ResourceName) string {
	domain, _, _ := strings.Cut(string(name), "/")
	domain = strings.TrimSuffix(domain, ".com")
	return domain[strings.LastIndexByte(domain, '.')+1:]
}

// GPUResource is the resource that a node has its GPUs as; empty: no device
// plugin gives any.
func GPUResource(k *corev1.Node) corev1.ResourceName {
	for _, name := range GpuResources {
		if Count(k.Status.Capacity, name)+Count(k.Status.Allocatable, name) > 0 {
			return name
		}
	}
	return ""
}

// Unshareable is why tasks cannot share the GPUs of a node; empty: they can.
func Unshareable(k *corev1.Node) string {
	switch replicas := k.Labels[LabelReplicas]; {
	case GPUResource(k) != GpuResources[0]:
		return fmt.Sprintf("it has no resource %s, which NVIDIA's device plugin provides", GpuResources[0])
	case replicas != "" && replicas != "1":
		return fmt.Sprintf("its device plugin gives each to several pods already (label %s=%s), so that none can be held; turn that off there", LabelReplicas, replicas)
	default:
		return ""
	}
}

// Devices are the GPUs of a node. Those that its device plugin does not offer
// any more are there, and not healthy.
func Devices(k *corev1.Node) []core.Device {
	if name := GPUResource(k); name != "" {
		total, offered := Count(k.Status.Capacity, name), Count(k.Status.Allocatable, name)
		total = max(total, offered)
		memory, _ := strconv.ParseInt(k.Labels[labelGPUMemory], 10, 64)
		memory = min(max(memory, 0), 1<<30) << 20
		product := k.Labels[labelProduct]
		if product == "" {
			product, _, _ = strings.Cut(string(name), "/")
		}
		out := make([]core.Device, total)
		for i := range out {
			out[i] = core.Device{ID: naming.DeviceID(i), Index: i, Product: product, Memory: memory, Fake: k.Annotations[NoteKwok] != "", Healthy: i < offered}
		}
		return out
	}
	return nil
}

// MIGPartitions are a node's MIG partitions by profile.
func MIGPartitions(k *corev1.Node) (map[string]int, string) {
	var all map[string]int
	for name := range k.Status.Allocatable {
		if profile, ok := strings.CutPrefix(string(name), MigPrefix); ok {
			if n := Count(k.Status.Allocatable, name); n > 0 {
				Set(&all, profile, n)
			}
		}
	}
	strategy := k.Labels[labelMIGStrategy]
	if strategy == "" && all != nil {
		strategy = "mixed"
	}
	return all, strategy
}

// Withhold counts what device plugins have and do not offer at the moment as held
// by others: a plugin starts again, or a device is not healthy, and what asks for
// it waits instead of being told that it never fits.
func Withhold(n *core.Node, k *corev1.Node) {
	for name, has := range k.Status.Capacity {
		offered := k.Status.Allocatable[name]
		missing := Amount(&has, false) - Amount(&offered, false)
		if missing <= 0 {
			continue
		}
		if profile, ok := strings.CutPrefix(string(name), MigPrefix); ok {
			Set(&n.MIG, profile, n.MIG[profile]+int(min(missing, MostDevices)))
			Set(&n.Others.MIG, profile, n.Others.MIG[profile]+int(min(missing, MostDevices)))
			n.MIGStrategy = cmp.Or(n.MIGStrategy, "mixed")
		} else if Extended(string(name)) {
			missing = min(missing, 1<<30)
			Set(&n.Extra, string(name), n.Extra[string(name)]+int(missing))
			Set(&n.Others.Extra, string(name), n.Others.Extra[string(name)]+int(missing))
		}
	}
}

// Offered is how much a node has of what is counted by name.
func Offered(k *corev1.Node, name string) int {
	if strings.HasPrefix(name, portPrefix) && !Extended(name) {
		return 1
	}
	q := k.Status.Allocatable[corev1.ResourceName(name)]
	n, _ := counted(corev1.ResourceName(name), q.Value(), false)
	return int(n)
}

// Readiness is what the node says of itself.
func Readiness(k *corev1.Node) (bool, string) {
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
