package service

import (
	"context"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// What belongs to pods goes with them. Nothing here has a finalizer, so that a
// namespace can always be deleted; what a crash leaves behind is found by its
// labels when a server begins.

// Serving reports whether an attempt may have a service.
func (p *Services) Serving(id core.TaskID) bool {
	_, ok := p.served.Load(tasks.AttemptOf(id))
	return ok
}

// locks are one for each attempt.
type locks struct {
	mu sync.Mutex
	of map[tasks.Attempt]*lock
}

type lock struct {
	mu      sync.Mutex
	wanting int
}

// lock waits for that of an attempt.
func (l *locks) lock(of tasks.Attempt) (unlock func()) {
	l.mu.Lock()
	x := l.of[of]
	if x == nil {
		if x = (&lock{}); l.of == nil {
			l.of = map[tasks.Attempt]*lock{}
		}
		l.of[of] = x
	}
	x.wanting++
	l.mu.Unlock()
	x.mu.Lock()
	return func() {
		x.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if x.wanting--; x.wanting == 0 {
			delete(l.of, of)
		}
	}
}

// Remove removes the service of an attempt none of whose tasks is known.
func (p *Services) Remove(ctx context.Context, space string, id core.TaskID) error {
	defer p.locks.lock(tasks.AttemptOf(id))()
	if space == "" || p.tasks.Some(id.Workload, id.Attempt) {
		return nil
	}
	services := p.cluster.Client.CoreV1().Services(space)
	mine, err := services.List(ctx, metav1.ListOptions{LabelSelector: naming.LabelManaged + "=" + naming.Managed + "," + naming.LabelWorkload + "=" + string(id.Workload) + "," + naming.LabelAttempt + "=" + strconv.Itoa(id.Attempt)})
	if err != nil {
		return err
	}
	for i := range mine.Items {
		s := &mine.Items[i]
		err := services.Delete(ctx, s.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	p.served.Delete(tasks.AttemptOf(id))
	return nil
}

// Sweep removes services and secrets of tasks that the cluster does not have.
// It must run before anything is started.
func (p *Services) Sweep(ctx context.Context) error {
	mine := metav1.ListOptions{LabelSelector: naming.LabelManaged + "=" + naming.Managed + "," + naming.LabelWorkload}
	services, err := p.cluster.Client.CoreV1().Services("").List(ctx, mine)
	if err != nil {
		return err
	}
	for _, s := range services.Items {
		attempt, err := strconv.Atoi(s.Labels[naming.LabelAttempt])
		if err != nil || !p.cluster.Mine(s.Labels) {
			continue
		}
		if err := p.Remove(ctx, s.Namespace, core.TaskID{Workload: core.WorkloadID(s.Labels[naming.LabelWorkload]), Attempt: attempt}); err != nil {
			return err
		}
	}
	secrets, err := p.cluster.Client.CoreV1().Secrets("").List(ctx, mine)
	if err != nil {
		return err
	}
	for _, s := range secrets.Items {
		id, err := core.ParseTaskID(s.Annotations[naming.NoteTask])
		if err != nil || !p.cluster.Mine(s.Labels) {
			continue
		}
		if _, known := p.tasks.Get(id); known {
			continue
		}
		err = p.cluster.Client.CoreV1().Secrets(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
