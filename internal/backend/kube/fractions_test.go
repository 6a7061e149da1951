package kube

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/namespace"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/nodeinfo"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

func TestWhatIsToBeDoneAboutASharedDevice(t *testing.T) {
	t.Parallel()
	res := func(n int, s state, gpu string) reservation {
		return reservation{number: n, state: s, gpu: gpu, uid: types.UID(rune('a' + n)), why: "it said so"}
	}
	for name, c := range map[string]struct {
		used   bool
		wanted []string
		all    []reservation
		gpu    string
		make   int
		drop   []int
		err    bool
		lost   bool
	}{
		"nothing is used":                  {make: -1},
		"the last has left":                {all: []reservation{res(0, holding, "A"), res(1, hoping, "")}, make: -1, drop: []int{0, 1}},
		"the first comes":                  {used: true, make: 0},
		"it is being made":                 {used: true, all: []reservation{res(0, hoping, "")}, make: -1},
		"it is there":                      {used: true, all: []reservation{res(0, holding, "A")}, gpu: "A", make: -1},
		"a former one is on its way out":   {used: true, all: []reservation{res(0, leaving, "A")}, make: -1},
		"the node refuses it":              {used: true, all: []reservation{res(0, broken, "")}, make: -1, drop: []int{0}, err: true},
		"someone deleted it":               {used: true, wanted: []string{"A"}, make: 0},
		"the node gave another":            {used: true, wanted: []string{"A"}, all: []reservation{res(0, holding, "B")}, make: 1},
		"the second try has it":            {used: true, wanted: []string{"A"}, all: []reservation{res(0, holding, "B"), res(1, holding, "A")}, gpu: "A", make: -1, drop: []int{0}},
		"no device is left to try":         {used: true, wanted: []string{"A"}, all: []reservation{res(0, holding, "B"), res(1, broken, "")}, gpu: "B", make: -1, drop: []int{1}, lost: true},
		"all devices have been tried":      {used: true, wanted: []string{"A"}, all: []reservation{res(0, holding, "B"), res(1, holding, "C")}, gpu: "B", make: -1, drop: []int{1}, lost: true},
		"it is there and further ones too": {used: true, all: []reservation{res(0, holding, "A"), res(1, hoping, "")}, gpu: "A", make: -1, drop: []int{1}},
	} {
		wanted := map[string]bool{}
		for _, w := range c.wanted {
			wanted[w] = true
		}
		s := decide(c.used, wanted, c.all, 2)
		var drop []int
		for _, r := range s.drop {
			drop = append(drop, r.number)
		}
		slices.Sort(drop)
		if s.gpu != c.gpu || s.make != c.make || !slices.Equal(drop, c.drop) || (s.err != nil) != c.err || s.lost != c.lost {
			t.Errorf("%s: %+v, drops %v; want %+v", name, s, drop, c)
		}
	}
}

func TestWhatAReservationSaysOfItself(t *testing.T) {
	t.Parallel()
	at := slot{"n", 3}
	said := func(message string, code int32) corev1.PodStatus {
		return corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: learner, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}}}}
	}
	for name, c := range map[string]struct {
		status corev1.PodStatus
		note   string
		fake   bool
		state  state
		gpu    string
	}{
		"new":          {state: hoping},
		"told":         {status: said("GPU-1\n", 0), state: holding, gpu: "GPU-1"},
		"noted":        {note: "GPU-2", state: holding, gpu: "GPU-2"},
		"told nothing": {status: said("\n", 0), state: broken},
		"told of two":  {status: said("GPU-1,GPU-2", 0), state: broken},
		"failed once":  {status: said("no such file", 128), state: hoping},
		"no shell": {status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: learner, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}}, state: broken},
		"fake":            {fake: true, state: holding, gpu: "fake-3"},
		"refused":         {status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError"}, state: broken},
		"noted and ended": {note: "GPU-2", status: corev1.PodStatus{Phase: corev1.PodFailed}, state: broken, gpu: "GPU-2"},
		"no image": {status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: learner, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}, state: broken},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: new(Backend).reservationName(at, 0)}, Status: c.status}
		if c.note != "" {
			pod.Annotations = map[string]string{noteGPU: c.note}
		}
		if r := reservationOf(pod, at, c.fake); r.state != c.state || r.gpu != c.gpu || (r.state == broken) != (r.why != "") && r.state != hoping {
			t.Errorf("%s: %+v, want state %d and %q", name, r, c.state, c.gpu)
		}
	}
}

func TestAPodIsToldItsPartOfGPUs(t *testing.T) {
	t.Parallel()
	p := &Backend{namespaces: namespace.New("muster-"), nodes: nodeinfo.New("", nil)}
	node := func(name string, labels map[string]string) {
		p.nodes.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	node("plain", nil)
	node("mps", map[string]string{labelMPS: "true"})
	draw := func(on core.NodeID) *corev1.Pod {
		a := backend.Assignment{
			ID: core.TaskID{Workload: "w"}, Node: on, Image: "i", Argv: []string{"true"}, SHM: 1 << 20, GPULimit: 600, GPUMemory: 3 << 30,
			Env:     []string{"NVIDIA_VISIBLE_DEVICES=all", "MINE=1"},
			Devices: []core.Share{{Device: "GPU-a", Index: 0, Milli: 250}, {Device: "GPU-b", Index: 1, Milli: 250}},
		}
		b, err := p.buildPod(&a)
		if err != nil {
			t.Fatal(err)
		}
		return b.pod
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
		if got := fractionsOf(pod); len(got) != 2 || got[slot{pod.Annotations[naming.NoteFractionNode], 1}] != "GPU-b" {
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
