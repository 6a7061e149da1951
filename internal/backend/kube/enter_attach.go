package kube

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// Attach implements backend.Enterer. Of a task that takes input, output is what
// comes from now on; of any other it is that of the log, from the beginning of
// its unfinished line.
func (p *Backend) Attach(ctx context.Context, id core.TaskID, s backend.Streams) error {
	t, err := p.enter(ctx, id)
	if err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	pod, err := p.client.CoreV1().Pods(t.space).Get(ctx, t.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = backend.ErrNotRunning
	}
	if err != nil {
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	stdin, tty := false, false
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == t.runs() {
			stdin, tty = c.Stdin, c.TTY
		}
	}
	if !stdin {
		return p.watchOutput(ctx, id, s)
	}
	if s.Stdout == nil && tty {
		s.Stdout = s.Stderr
	}
	if s.Stdin == nil && s.Stdout == nil && s.Stderr == nil {
		s.Stdout = io.Discard
	}
	o := &corev1.PodAttachOptions{Container: t.runs(), TTY: tty, Stdin: s.Stdin != nil, Stdout: s.Stdout != nil, Stderr: s.Stderr != nil && !tty}
	err = p.converse(ctx, t, "attach", o, tty, s)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("attach to task %s: %w", id, ctx.Err())
	case err != nil && !p.runs(ctx, t):
		return nil // the end of the task is that of its streams
	case err != nil:
		return fmt.Errorf("attach to task %s: %w", id, err)
	}
	return nil
}

// watchOutput follows the log of a task that takes no input.
func (p *Backend) watchOutput(ctx context.Context, id core.TaskID, s backend.Streams) error {
	out := s.Stdout
	if out == nil {
		out = s.Stderr // both are one in the log
	}
	if out == nil {
		out = io.Discard
	}
	offset, err := p.logs.dir.Line(id)
	if err != nil {
		return err
	}
	log, err := p.Logs(ctx, id, backend.LogOptions{Follow: true, Tail: -1, Offset: offset})
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	_, err = io.Copy(out, log)
	return err
}
