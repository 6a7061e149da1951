package taskpods

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// Forget removes what the cluster has of tasks that have ended. What a task wrote is fetched first.
func (p *Pods) Forget(ctx context.Context, ids []core.TaskID) error {
	if err := p.cluster.Sync(ctx); err != nil {
		return err
	}
	for _, id := range ids {
		p.Tasks.Edit(id, false, func(t *tasks.Task) {
			if t.Seen.State.Ended() {
				t.Forgotten = true
			}
		})
		if t, ok := p.Tasks.Get(id); ok && t.Forgotten {
			p.cluster.Running.Go(func() {
				p.Logs.AwaitComplete(p.cluster.Context, id)
				p.discard(p.cluster.Context, id)
			})
		}
	}
	return nil
}

// discard removes what the cluster has of a task that has ended.
func (p *Pods) discard(ctx context.Context, id core.TaskID) {
	p.cluster.Limiter.Retry(ctx, "what is left of a task could not be removed", id, func() error { return p.remove(ctx, id) })
}

func (p *Pods) remove(ctx context.Context, id core.TaskID) error {
	t, ok := p.Tasks.Get(id)
	if !ok {
		return nil
	}
	if t.Name != "" && t.Secret {
		var ours metav1.DeleteOptions
		if t.SecretUID != "" {
			ours.Preconditions = &metav1.Preconditions{UID: &t.SecretUID}
		}
		err := p.cluster.Client.CoreV1().Secrets(t.Space).Delete(ctx, t.Name, ours)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	if t.There && t.Claim != "" {
		return nil // it is not ours to remove; what we know of it goes with it
	}
	if t.There {
		return p.delete(ctx, &t, nil)
	}
	if t.Forgotten {
		p.drop(t.Space, id)
	}
	return nil
}

// drop forgets a task whose pod is gone, and starts it again where that waits.
func (p *Pods) drop(space string, id core.TaskID) {
	if next := p.Tasks.Drop(id); next != nil {
		p.cluster.Running.Go(func() {
			p.cluster.Limiter.Retry(p.cluster.Context, "a task could not be started again", id, func() error { return p.launch(p.cluster.Context, []backend.Assignment{*next}) })
		})
		return
	}
	if p.services.Serving(id) {
		p.cluster.Running.Go(func() {
			p.cluster.Limiter.Retry(p.cluster.Context, "the service of an attempt could not be removed", id, func() error { return p.services.Remove(p.cluster.Context, space, id) })
		})
	}
}
