package kube

import (
	"context"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/core"
)

// budgetFor is for how long a PodDisruptionBudget may keep a pod of others in its
// place that is to go, and budgetEvery how often it is asked.
const budgetFor, budgetEvery = time.Minute, 2 * time.Second

// evict ends a pod that others made, as its PodDisruptionBudget allows. held: it
// does not at present. Where evictions are not ours to ask for it is deleted.
func (p *Backend) evict(ctx context.Context, t *task, grace *int64) (held bool, err error) {
	err = p.client.CoreV1().Pods(t.space).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: t.name, Namespace: t.space},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &t.uid}},
	})
	switch {
	case apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		return true, err
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone, or another has its name
		return false, nil
	case apierrors.IsForbidden(err), apierrors.IsInternalError(err): // the latter where several budgets are about it
		return false, p.delete(ctx, t, grace)
	}
	return false, err
}

// await evicts a task that a budget holds, beside all else, and deletes it when
// that takes too long.
func (p *Backend) await(id core.TaskID, why error, grace int64) {
	if p.stick(id, "it is to end, and waits for a while since others want it to stay: "+why.Error()) {
		return
	}
	p.wg.Go(func() {
		tick := time.NewTicker(budgetEvery)
		defer tick.Stop()
		for end := time.Now().Add(budgetFor); ; {
			select {
			case <-p.ctx.Done():
				return
			case <-tick.C:
			}
			t, ok := p.tasks.get(id)
			if !ok || !t.there || t.seen.State.Ended() {
				return
			}
			held, err := p.evict(p.ctx, &t, &grace)
			switch {
			case held && time.Now().After(end):
				err = p.delete(p.ctx, &t, &grace)
			case held:
				continue
			}
			p.tasks.edit(id, false, func(t *task) { t.stuck = "" })
			if err != nil {
				p.mayNotEnd(id, err, grace)
			}
			return
		}
	})
}
