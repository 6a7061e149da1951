package kube

import (
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// forceDelete ends a task by force that was given less time than at first. The API
// server takes the shorter grace, but a kubelet that waits for a container
// already (1.35 does) goes on waiting for the longer one. An image without a
// shell keeps that. What is done is only safe in a pod that we drew, and only as
// we drew it: where a pod sees the processes of its node it would end these.
func (p *Backend) forceDelete(id core.TaskID, until time.Time) {
	const slack = time.Second // in which the kubelet may do it by itself
	timer := time.NewTimer(max(until.Sub(p.o.Clock()), 0) + slack)
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
		return
	case <-timer.C:
	}
	t, ok := p.tasks.get(id)
	if !ok || !t.there || t.claim != "" || t.seen.State.Ended() {
		return
	}
	pod, err := p.pod(p.ctx, t.space, t.name)
	if err != nil || pod == nil || pod.UID != t.uid || pod.Spec.HostPID {
		return
	}
	// The command may end before it can say so: it is ended as well.
	if _, err := p.Exec(p.ctx, id, backend.ExecOptions{Argv: []string{"/bin/sh", "-c", "kill -9 -1"}}); err != nil {
		p.o.Log.Debug("a task was told to end at once", "backend", p.o.Name, "task", id, "err", err)
	}
}
