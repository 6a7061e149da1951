package taskpods

import (
	"context"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// budgetFor is for how long a PodDisruptionBudget may keep a pod of others in its
// place that is to go, and budgetEvery how often it is asked.
const budgetFor, budgetEvery = time.Minute, 2 * time.Second

// evict ends a pod that others made, as its PodDisruptionBudget allows. held: it
// does not at present. Where evictions are not ours to ask for it is deleted.
func (p *Pods) evict(ctx context.Context, t *tasks.Task, grace *int64) (held bool, err error) {
	err = p.cluster.Client.CoreV1().Pods(t.Space).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: t.Name, Namespace: t.Space},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &t.Uid}},
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
func (p *Pods) await(id core.TaskID, why error, grace int64) {
	if p.stick(id, "it is to end, and waits for a while since others want it to stay: "+why.Error()) {
		return
	}
	p.cluster.Running.Go(func() {
		tick := time.NewTicker(budgetEvery)
		defer tick.Stop()
		for end := time.Now().Add(budgetFor); ; {
			select {
			case <-p.cluster.Context.Done():
				return
			case <-tick.C:
			}
			t, ok := p.Tasks.Get(id)
			if !ok || !t.There || t.Seen.State.Ended() {
				return
			}
			held, err := p.evict(p.cluster.Context, &t, &grace)
			switch {
			case held && time.Now().After(end):
				err = p.delete(p.cluster.Context, &t, &grace)
			case held:
				continue
			}
			p.Tasks.Edit(id, false, func(t *tasks.Task) { t.Stuck = "" })
			if err != nil {
				p.mayNotEnd(id, err, grace)
			}
			return
		}
	})
}
