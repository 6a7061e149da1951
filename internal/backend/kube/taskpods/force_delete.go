package taskpods

import (
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// ForceDelete ends a task by force that was given less time than at first. The API
// server takes the shorter grace, but a kubelet that waits for a container
// already (1.35 does) goes on waiting for the longer one. An image without a
// shell keeps that. What is done is only safe in a pod that we drew, and only as
// we drew it: where a pod sees the processes of its node it would end these.
func (p *Pods) ForceDelete(id core.TaskID, until time.Time) {
	const slack = time.Second // in which the kubelet may do it by itself
	timer := time.NewTimer(max(until.Sub(p.cluster.Options.Clock()), 0) + slack)
	defer timer.Stop()
	select {
	case <-p.cluster.Context.Done():
		return
	case <-timer.C:
	}
	t, ok := p.Tasks.Get(id)
	if !ok || !t.There || t.Claim != "" || t.Seen.State.Ended() {
		return
	}
	pod, err := p.cluster.GetPod(p.cluster.Context, t.Space, t.Name)
	if err != nil || pod == nil || pod.UID != t.Uid || pod.Spec.HostPID {
		return
	}
	target, err := p.Target(p.cluster.Context, id)
	if err == nil { // the command may end before it can say so: it is ended as well
		_, err = p.Containers().Exec(p.cluster.Context, target, backend.ExecOptions{Argv: []string{"/bin/sh", "-c", "kill -9 -1"}})
	}
	if err != nil {
		p.cluster.Options.Log.Debug("a task was told to end at once", "backend", p.cluster.Options.Name, "task", id, "err", err)
	}
}
