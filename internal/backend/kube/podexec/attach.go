package podexec

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
)

// Input reports whether a container takes input, and whether it has a terminal.
func (c *Client) Input(ctx context.Context, t Target) (stdin, tty bool, err error) {
	pod, err := c.API.CoreV1().Pods(t.Namespace).Get(ctx, t.Pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = backend.ErrNotRunning
	}
	if err != nil {
		return false, false, err
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == t.Container {
			stdin, tty = c.Stdin, c.TTY
		}
	}
	return stdin, tty, nil
}

// Attach connects streams to the command of a container that takes input. Output
// is what comes from now on.
func (c *Client) Attach(ctx context.Context, t Target, tty bool, s backend.Streams) error {
	if s.Stdout == nil && tty {
		s.Stdout = s.Stderr
	}
	if s.Stdin == nil && s.Stdout == nil && s.Stderr == nil {
		s.Stdout = io.Discard
	}
	o := &corev1.PodAttachOptions{Container: t.Container, TTY: tty, Stdin: s.Stdin != nil, Stdout: s.Stdout != nil, Stderr: s.Stderr != nil && !tty}
	err := c.converse(ctx, t, "attach", o, tty, s)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !c.Runs(ctx, t):
		return nil // the end of the task is that of its streams
	}
	return err
}
