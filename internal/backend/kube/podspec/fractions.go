package podspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// NVIDIA's Multi-Process Service holds its clients to a part of a GPU by what
// their environment says (docs.nvidia.com/deploy/mps). A node that has its
// daemon says so by a label; where it listens there, and where containers look
// for it, is as NVIDIA's device plugin has it (k8s-device-plugin,
// internal/plugin/mps.go).
const (
	labelMPS = "nvidia.com/mps.capable"
	hostMPS  = "/run/nvidia/mps"
	podMPS   = "/mps"
)

// fractions tells a task which devices it shares, and holds it to its part of them
// where the node can.
func (v *volumes) fractions(p *Builder, a *backend.Assignment, pod *corev1.Pod) {
	if len(a.Devices) == 0 || naming.WholeDevices(a) > 0 {
		return
	}
	gpus := make([]string, len(a.Devices))
	share := 1000
	for i, d := range a.Devices {
		gpus[i], share = d.Device, min(share, d.Milli)
	}
	all := strings.Join(gpus, ",")
	node := p.cluster.NodeName(a.Node)
	pod.Annotations[naming.NoteFractionDevices], pod.Annotations[naming.NoteFractionNode] = all, node
	v.set("NVIDIA_VISIBLE_DEVICES", all)
	v.set("CUDA_VISIBLE_DEVICES", all)
	switch n := p.cluster.NodeInfo.Find(node); {
	case n != nil && n.Labels[labelMPS] == "true":
		v.mps(a, share)
	case p.cluster.NodeInfo.IsFake(node):
		pod.Annotations[naming.NoteFraction] = "share not enforced: the GPU is fake"
	default:
		pod.Annotations[naming.NoteFraction] = fmt.Sprintf("share not enforced: node %s does not run MPS, or has no label %s=true that says so", node, labelMPS)
	}
}

// mps connects a container with the node's daemon.
func (v *volumes) mps(a *backend.Assignment, share int) {
	pipes := podMPS + "/" + string(resources.GpuResources[0]) + "/pipe"
	directory := func(path string) corev1.VolumeSource {
		sort := corev1.HostPathDirectory
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &sort}}
	}
	v.add("mps-pipe", directory(hostMPS+"/"+string(resources.GpuResources[0])+"/pipe"), pipes, false)
	// Clients and daemon meet in its shared memory, so that there is no other.
	v.main.VolumeMounts = slices.DeleteFunc(v.main.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/dev/shm" })
	v.spec.Volumes = slices.DeleteFunc(v.spec.Volumes, func(w corev1.Volume) bool { return w.Name == "shm" })
	v.add("mps-shm", directory(hostMPS+"/shm"), "/dev/shm", false)
	limit := min(max(share, a.GPULimit), 1000) // what is promised is booked, not enforced
	v.set("CUDA_MPS_PIPE_DIRECTORY", pipes)
	v.set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", strconv.Itoa(max(limit/10, 1)))
	if a.GPUMemory > 0 {
		limits := make([]string, len(a.Devices))
		for i := range limits { // by the order in which the task sees them
			limits[i] = fmt.Sprintf("%d=%dM", i, max(a.GPUMemory>>20, 1))
		}
		v.set("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", strings.Join(limits, ","))
	}
}

// set gives a variable a value, whatever else it was to be.
func (v *volumes) set(name, value string) {
	v.main.Env = slices.DeleteFunc(v.main.Env, func(e corev1.EnvVar) bool { return e.Name == name })
	v.main.Env = append(v.main.Env, corev1.EnvVar{Name: name, Value: value})
}

// FractionNote is what the owner of a running task should know of its part.
func FractionNote(o *backend.Observation, pod *corev1.Pod) {
	if o.State == core.TaskRunning && o.Message == "" {
		o.Message = pod.Annotations[naming.NoteFraction]
	}
}
