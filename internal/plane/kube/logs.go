package kube

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// logs brings the output of pods home.
type logs struct{ p *Plane }

func newLogs(p *Plane) *logs { return &logs{p: p} }

// seen is told whenever something of a pod of ours is news. It must not block.
func (l *logs) seen(core.TaskID, *corev1.Pod) {}

// gone is told when a pod of ours is not there any more.
func (l *logs) gone(core.TaskID) {}

// whole waits until what a task wrote, that has ended, is here, or cannot be
// had any more.
func (l *logs) whole(context.Context, core.TaskID) {}

// Logs implements plane.Plane.
func (p *Plane) Logs(context.Context, core.TaskID, plane.LogOptions) (io.ReadCloser, error) {
	return nil, plane.ErrNoLogs
}

// DeleteLogs implements plane.Plane.
func (p *Plane) DeleteLogs(context.Context, core.WorkloadID) error { return nil }
