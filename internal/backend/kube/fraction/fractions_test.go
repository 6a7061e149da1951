package fraction

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/backend/kube/cluster"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	at := Slot{"n", 3}
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
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: New(cluster.New(cluster.Options{}, nil), nil).reservationName(at, 0)}, Status: c.status}
		if c.note != "" {
			pod.Annotations = map[string]string{NoteGPU: c.note}
		}
		if r := reservationOf(pod, at, c.fake); r.state != c.state || r.gpu != c.gpu || (r.state == broken) != (r.why != "") && r.state != hoping {
			t.Errorf("%s: %+v, want state %d and %q", name, r, c.state, c.gpu)
		}
	}
}
