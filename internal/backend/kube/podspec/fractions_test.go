package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/fraction"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

func TestAPodIsToldItsPartOfGPUs(t *testing.T) {
	t.Parallel()
	p := New(cluster.New(cluster.Options{}, nil))
	node := func(name string, labels map[string]string) {
		p.cluster.NodeInfo.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	node("plain", nil)
	node("mps", map[string]string{labelMPS: "true"})
	draw := func(on core.NodeID) *corev1.Pod {
		a := backend.Assignment{
			ID: core.TaskID{Workload: "w"}, Node: on, Image: "i", Argv: []string{"true"}, SHM: 1 << 20, GPULimit: 600, GPUMemory: 3 << 30,
			Env:     []string{"NVIDIA_VISIBLE_DEVICES=all", "MINE=1"},
			Devices: []core.Share{{Device: "GPU-a", Index: 0, Milli: 250}, {Device: "GPU-b", Index: 1, Milli: 250}},
		}
		b, err := p.Build(&a)
		if err != nil {
			t.Fatal(err)
		}
		return b.Pod
	}
	env := func(pod *corev1.Pod) map[string]string {
		m := map[string]string{}
		for _, e := range pod.Spec.Containers[0].Env {
			if _, twice := m[e.Name]; twice {
				t.Errorf("%s is there twice", e.Name)
			}
			m[e.Name] = e.Value
		}
		return m
	}
	plain, mps := draw("plain"), draw("mps")
	for _, pod := range []*corev1.Pod{plain, mps} {
		e := env(pod)
		if e["NVIDIA_VISIBLE_DEVICES"] != "GPU-a,GPU-b" || e["CUDA_VISIBLE_DEVICES"] != "GPU-a,GPU-b" || e["MINE"] != "1" {
			t.Errorf("the environment is %v", e)
		}
		if _, asks := pod.Spec.Containers[0].Resources.Limits[resources.GpuResources[0]]; asks {
			t.Error("a pod with a part asks its node for a GPU")
		}
		if got := fraction.FractionsOf(pod); len(got) != 2 || got[fraction.Slot{Node: pod.Annotations[naming.NoteFractionNode], Index: 1}] != "GPU-b" {
			t.Errorf("its parts are %v", got)
		}
	}
	if plain.Annotations[naming.NoteFraction] == "" || mps.Annotations[naming.NoteFraction] != "" {
		t.Errorf("notes: %q without MPS, %q with", plain.Annotations[naming.NoteFraction], mps.Annotations[naming.NoteFraction])
	}
	e := env(mps)
	if e["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] != "60" || e["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] != "0=3072M,1=3072M" || e["CUDA_MPS_PIPE_DIRECTORY"] != "/mps/nvidia.com/gpu/pipe" {
		t.Errorf("the environment with MPS is %v", e)
	}
	at := map[string]string{}
	for _, m := range mps.Spec.Containers[0].VolumeMounts {
		for _, v := range mps.Spec.Volumes {
			if v.Name == m.Name && v.HostPath != nil {
				at[m.MountPath] = v.HostPath.Path
			}
		}
	}
	if at["/dev/shm"] != "/run/nvidia/mps/shm" || at["/mps/nvidia.com/gpu/pipe"] != "/run/nvidia/mps/nvidia.com/gpu/pipe" {
		t.Errorf("mounts with MPS are %v", at)
	}
}
