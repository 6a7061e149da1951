package podlog

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/podstatus"
)

// podState is what the output of a pod depends on.
type podState struct {
	parts []part // its containers, in the order of their output
	over  bool   // nothing of it runs any more
}

// part is a container.
type part struct {
	name    string
	started time.Time // to the second; zero: it has not
	ended   bool
}

// stateOf is what a pod says of its containers: the steps of its start, one
// after another, then the command. What others have put beside them, and what
// runs along, is not output of the task.
func stateOf(pod *corev1.Pod) podState {
	s := podState{over: podstatus.Finished(pod)}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			s.parts = append(s.parts, partOf(c.Name, pod.Status.InitContainerStatuses))
		}
	}
	s.parts = append(s.parts, partOf(podstatus.MainContainer(pod), pod.Status.ContainerStatuses))
	return s
}

func partOf(name string, all []corev1.ContainerStatus) part {
	p := part{name: name}
	status := podstatus.ContainerStatus(all, name)
	if status == nil {
		return p
	}
	if r := status.State.Running; r != nil {
		p.started = begun(r.StartedAt.Time)
	}
	if t := status.State.Terminated; t != nil {
		p.ended = true
		if t.StartedAt.Unix() > 0 { // of what could not start, 1970
			p.started = t.StartedAt.Time
		}
	}
	return p
}

// begun is the start of what runs, also where the cluster does not tell when.
func begun(at time.Time) time.Time {
	if at.IsZero() {
		return time.Unix(1, 0)
	}
	return at
}
