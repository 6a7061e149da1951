package taskpods

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/podspec"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// Stop ends tasks, each in its grace.
func (p *Pods) Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error {
	if err := p.cluster.Sync(ctx); err != nil {
		return err
	}
	after := podspec.Seconds(grace)
	return apicall.Each(ids, apicall.MaxConcurrent, func(id core.TaskID) error {
		var t tasks.Task
		until, sooner := p.cluster.Options.Clock().Add(time.Duration(after)*time.Second), false
		p.Tasks.Edit(id, false, func(x *tasks.Task) {
			x.Stopping, x.Next = true, nil
			sooner = !x.Until.IsZero() && until.Before(x.Until)
			if x.Until.IsZero() || sooner {
				x.Until = until
			}
			t = *x
		})
		p.Fractions.Cancel(id)
		if !t.There || t.Seen.State.Ended() {
			return nil
		}
		var err error
		if t.Claim == "" {
			err = p.delete(ctx, &t, &after)
		} else {
			p.Groups.ReportDisruption(ctx, &t)
			var held bool
			if held, err = p.evict(ctx, &t, &after); held {
				p.await(id, err, after)
				return nil
			}
		}
		if err == nil && sooner && t.Claim == "" {
			p.cluster.Running.Go(func() { p.ForceDelete(id, until) })
		}
		if err = apicall.Classify(err); apicall.RefusalOf(err) != nil || apicall.IsServerError(err) {
			p.mayNotEnd(id, err, after)
			return nil // asking again at once does not help, and others would have to wait
		}
		return err
	})
}

// stick has a task say why it does not end; already: it has said so before, and
// somebody is about it.
func (p *Pods) stick(id core.TaskID, why string) (already bool) {
	p.Tasks.Edit(id, false, func(t *tasks.Task) {
		already = t.Stuck != ""
		t.Stuck = why
		t.Explain(&t.Seen)
	})
	return already
}

// mayNotEnd goes on trying to end a task that we may not end, beside all else,
// and says so.
func (p *Pods) mayNotEnd(id core.TaskID, err error, grace int64) {
	if p.stick(id, "it cannot be ended: "+err.Error()) {
		return
	}
	p.cluster.Running.Go(func() {
		p.cluster.Limiter.Retry(p.cluster.Context, "a task may not be ended", id, func() error {
			t, ok := p.Tasks.Get(id)
			if !ok || !t.There || t.Seen.State.Ended() {
				return nil
			}
			return p.delete(p.cluster.Context, &t, &grace)
		})
		p.Tasks.Edit(id, false, func(t *tasks.Task) { t.Stuck = "" })
	})
}

// delete asks for the end of a task's pod.
func (p *Pods) delete(ctx context.Context, t *tasks.Task, grace *int64) error {
	err := p.cluster.Client.CoreV1().Pods(t.Space).Delete(ctx, t.Name, metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &t.Uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or another has its name
	}
	return err
}
