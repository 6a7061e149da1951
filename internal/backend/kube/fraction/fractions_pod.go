package fraction

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/resources"
)

// ReservationImage is what reservations run unless Options name another.
const ReservationImage = "docker.io/library/busybox:1.37"

const (
	labelHolds  = "muster.dev/holds" // of a reservation: gpu
	labelDevice = "muster.dev/device"
	labelNumber = "muster.dev/number"
	NoteGPU     = "muster.dev/gpu" // of a reservation: the device that its node gave it
	learner     = "which"
)

// which tells the device that its container was given: in the environment, or,
// where the device plugin does not pass it there, as a mount, or by asking the
// driver. One word, where the kubelet reads it.
const which = `id=$NVIDIA_VISIBLE_DEVICES
case $id in ''|void|none|all|/*) id=$(ls /var/run/nvidia-container-devices 2>/dev/null) ;; esac
[ -n "$id" ] || id=$(nvidia-smi --query-gpu=uuid --format=csv,noheader 2>/dev/null)
[ -n "$id" ] || id=$CUDA_VISIBLE_DEVICES
echo "$id"
echo "$id" >/dev/termination-log`

// stay holds the device until it is told to end.
const stay = `trap 'exit 0' TERM INT; while :; do sleep 86400 & wait; done`

// labelled is the slot of a reservation by its labels.
func (s *Fractions) labelled(pod *corev1.Pod) (Slot, bool) {
	if pod.Labels[naming.LabelManaged] != naming.Managed || !s.p.Mine(pod.Labels) || pod.Labels[labelHolds] != "gpu" || pod.Namespace != naming.Reservations || pod.Spec.NodeName == "" {
		return Slot{}, false
	}
	i, err := strconv.Atoi(pod.Labels[labelDevice])
	return Slot{pod.Spec.NodeName, i}, err == nil && i >= 0
}

// reservationName is what the reservation of a slot is called: another
// installation may have left one of its own.
func (s *Fractions) reservationName(at Slot, number int) string {
	node := at.Node
	if len(node) > 200 {
		node = node[:180] + naming.Digest(node)
	}
	name := node + "-gpu-" + strconv.Itoa(at.Index)
	if number > 0 {
		name += "-" + strconv.Itoa(number)
	}
	if id := s.p.Options.Installation; id != "" {
		name += "-" + id[:min(len(id), 6)]
	}
	return name
}

// ReservationPod makes a device of a node ours. It asks for nothing else, so
// that a full node takes it; what then may befall it befalls no task.
func (s *Fractions) ReservationPod(at Slot, number int) *corev1.Pod {
	no, yes, grace, nobody := false, true, int64(1), int64(65534)
	one := corev1.ResourceList{resources.GpuResources[0]: *resource.NewQuantity(1, resource.DecimalSI)}
	c := corev1.Container{
		Name: "hold", Image: s.p.Options.ReservationImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:   []string{"/bin/sh", "-c", naming.Escape([]string{stay})[0]},
		Resources: corev1.ResourceRequirements{Limits: one, Requests: one},
		Env:       []corev1.EnvVar{{Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "utility"}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	// The containers of a pod have their devices one after another, so that what
	// the first is given the second is given as well; and what the first has to
	// say stands in the status of the pod: nobody has to read its output.
	first := c
	first.Name, first.Command = learner, []string{"/bin/sh", "-c", naming.Escape([]string{which})[0]}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: s.reservationName(at, number), Namespace: naming.Reservations,
		Labels: s.p.Marked(map[string]string{naming.LabelManaged: naming.Managed, labelHolds: "gpu", labelDevice: strconv.Itoa(at.Index), labelNumber: strconv.Itoa(number)}),
	}, Spec: corev1.PodSpec{
		SchedulerName: naming.SchedulerName, NodeName: at.Node, RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
		AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &nobody, RunAsGroup: &nobody, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Tolerations:    []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		InitContainers: []corev1.Container{first}, Containers: []corev1.Container{c},
	}}
	if s.p.Options.RuntimeClass != "" {
		pod.Spec.RuntimeClassName = &s.p.Options.RuntimeClass
	}
	return pod
}

// stuckWords are the words of a kubelet that will not get on by itself.
var stuckWords = []string{"ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"}

// reservationOf is what a pod says of itself. fake: nothing of its node is real.
func reservationOf(pod *corev1.Pod, at Slot, fake bool) reservation {
	r := reservation{name: pod.Name, uid: pod.UID, gpu: pod.Annotations[NoteGPU]}
	r.number, _ = strconv.Atoi(pod.Labels[labelNumber])
	r.noted = r.gpu != ""
	named := "reservation pod " + naming.Reservations + "/" + pod.Name
	word, message := podstatus.Waiting(pod)
	switch report := reported(pod); {
	case pod.DeletionTimestamp != nil:
		r.state, r.why = leaving, named+" is on its way out"
	case podstatus.Finished(pod):
		r.state, r.why = broken, sentence(named+" was refused or ended by its node", pod.Status.Reason, pod.Status.Message)
	case r.noted:
		r.state = holding
	case fake:
		r.state, r.gpu = holding, "fake-"+strconv.Itoa(at.Index)
	case report != nil && len(strings.Fields(*report)) == 1 && !strings.Contains(*report, ","):
		r.state, r.gpu = holding, strings.TrimSpace(*report)
	case report != nil:
		r.state, r.why = broken, fmt.Sprintf("%s was told of the devices %q, not of one: the node's device plugin must pass them in NVIDIA_VISIBLE_DEVICES, or image %s must have nvidia-smi", named, strings.TrimSpace(*report), imageIn(pod))
	case slices.Contains(stuckWords, strings.TrimPrefix(word, "Init:")):
		r.state, r.why = broken, sentence(named+" does not start", word, message)
	default:
		r.why = sentence(named+" is starting", word, "")
	}
	return r
}

// reported is what the first container of a reservation has said; nil: nothing yet.
func reported(pod *corev1.Pod) *string {
	s := podstatus.ContainerStatus(pod.Status.InitContainerStatuses, learner)
	if s == nil || s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
		return nil
	}
	return &s.State.Terminated.Message
}

// imageIn is the image of a reservation, which caches do not keep elsewhere.
func imageIn(pod *corev1.Pod) string {
	if s := podstatus.ContainerStatus(pod.Status.InitContainerStatuses, learner); s != nil && s.Image != "" {
		return s.Image
	}
	return "of the reservation"
}

func sentence(what string, more ...string) string {
	for _, m := range more {
		if m = strings.TrimSpace(m); m != "" {
			what += ": " + m
		}
	}
	return what
}

// annotate writes down on a reservation what it holds: its first container, and
// with it what that said, may be tidied away by the node.
func (s *Fractions) annotate(ctx context.Context, r *reservation) error {
	a := applycore.Pod(r.name, naming.Reservations).WithUID(r.uid).WithAnnotations(map[string]string{NoteGPU: r.gpu})
	_, err := s.p.Client.CoreV1().Pods(naming.Reservations).Apply(ctx, a, metav1.ApplyOptions{FieldManager: naming.Managed, Force: true})
	return err
}

// FractionsOf are the devices that the pod of a task was told, by slot.
func FractionsOf(pod *corev1.Pod) map[Slot]string {
	gpus := strings.Split(pod.Annotations[naming.NoteFractionDevices], ",")
	out := map[Slot]string{}
	for i, d := range naming.DevicesOf(pod.Annotations[naming.NoteDevices]) {
		if i < len(gpus) && d.Milli < 1000 {
			out[Slot{pod.Annotations[naming.NoteFractionNode], d.Index}] = gpus[i]
		}
	}
	return out
}
