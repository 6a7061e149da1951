package taskpods

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podspec"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// Start starts what starts together or not at all.
func (p *Pods) Start(ctx context.Context, all []backend.Assignment) error {
	if err := p.cluster.Sync(ctx); err != nil {
		return err
	}
	if !p.swept.Load() {
		if err := p.services.Sweep(ctx); err != nil {
			if apicall.IsUnanswered(err) {
				return fmt.Errorf("%w: %w", backend.ErrUnreachable, err)
			}
			p.cluster.Options.Log.Warn("what a former server may have left in the cluster could not be looked for", "backend", p.cluster.Options.Name, "err", err)
		}
		p.swept.Store(true)
	}
	defer p.starts.Begin()()
	return apicall.Each(gangs(all), apicall.MaxConcurrent, func(gang []backend.Assignment) error { return p.launch(ctx, gang) })
}

// gangs are the assignments that start together or not at all.
func gangs(all []backend.Assignment) [][]backend.Assignment {
	type key struct {
		w core.WorkloadID
		n int
	}
	at := map[key]int{}
	var out [][]backend.Assignment
	for _, a := range all {
		if a.Gang < 2 {
			out = append(out, []backend.Assignment{a})
			continue
		}
		k := key{a.ID.Workload, a.ID.Attempt}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	return out
}

// launch brings up what starts together: first all pods, then their places. One
// that cannot be made takes the others back, before any of them runs.
func (p *Pods) launch(ctx context.Context, gang []backend.Assignment) error {
	if gang[0].Claim != "" {
		return p.Groups.BindForeign(ctx, gang)
	}
	todo := gang[:0:0]
	for _, a := range gang {
		if p.wanted(a) {
			todo = append(todo, a)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	if p.Fractions.Wait(todo) {
		p.delay(todo, "")
		return nil
	}
	err := p.bringUp(ctx, todo)
	switch r := apicall.RefusalOf(err); {
	case r != nil:
		p.takeBack(todo, r)
	case apicall.IsServerError(err):
		p.delay(todo, err.Error()) // others need not wait for it
	default:
		return err
	}
	return nil
}

// bringUp makes and binds the pods of what starts together.
func (p *Pods) bringUp(ctx context.Context, todo []backend.Assignment) error {
	defer p.Tasks.Expect(tasks.AttemptOf(todo[0].ID))()
	err := p.prepare(ctx, &todo[0])
	if err == nil {
		err = apicall.Classify(p.Volumes.Reachable(ctx, p.cluster.Namespaces.Of(todo[0].About.Project), todo))
	}
	if err == nil {
		err = p.antiAffinity.check(p.cluster.Namespaces.Of(todo[0].About.Project), todo, p.builder.Labels)
	}
	if err == nil {
		err = apicall.Each(todo, apicall.MaxConcurrent, func(a backend.Assignment) error { return p.create(ctx, &a) })
	}
	if err == nil && todo[0].Gang > 1 {
		err = apicall.Each(todo, apicall.MaxConcurrent, func(a backend.Assignment) error { return p.bind(ctx, a.ID, string(a.Node)) })
	}
	return err
}

// wanted reports whether a task is still to be started: one that the cluster
// has, or had, is not. One whose former pod is on its way out starts when that
// is gone.
func (p *Pods) wanted(a backend.Assignment) bool {
	want := true
	p.Tasks.Edit(a.ID, false, func(t *tasks.Task) {
		switch {
		case t.Forgotten:
			want, t.Next = false, &a
		case t.Seen.State.Ended():
			want = false
		default:
			want = !t.There || !t.Bound
		}
	})
	return want
}

// prepare makes what the tasks of an attempt share.
func (p *Pods) prepare(ctx context.Context, a *backend.Assignment) error {
	space := p.cluster.Namespaces.Of(a.About.Project)
	if err := p.cluster.EnsureNamespace(ctx, space, a.About.Project); err != nil {
		return apicall.Classify(err)
	}
	if err := p.Volumes.Mountable(ctx, space, a); err != nil {
		return apicall.Classify(err)
	}
	return apicall.Classify(p.services.Ensure(ctx, space, a))
}

// create makes the pod of one task. One that starts alone gets its place with it.
func (p *Pods) create(ctx context.Context, a *backend.Assignment) error {
	b, err := p.builder.Build(a)
	if err != nil {
		return err
	}
	node := p.cluster.NodeName(a.Node)
	claims := len(b.Pod.Spec.ResourceClaims) > 0
	if a.Gang < 2 && !claims {
		b.Pod.Spec.NodeName = node
	}
	p.cluster.NodeInfo.Hold(node, a.ID, a.Devices)
	if b.Secret != nil {
		if err := p.createSecret(ctx, a.ID, b.Secret); err != nil {
			return err
		}
	}
	pod, err := p.admit(ctx, b.Pod)
	for p.builder.Learn(b.Pod.Namespace, err) {
		p.builder.Apply(b.Pod, a)
		pod, err = p.admit(ctx, b.Pod)
	}
	if apierrors.IsAlreadyExists(err) {
		pod, err = p.cluster.Client.CoreV1().Pods(b.Pod.Namespace).Get(ctx, b.Pod.Name, metav1.GetOptions{})
		if err == nil && pod.Annotations[naming.NoteTask] != a.ID.String() {
			return clash("pod", &pod.ObjectMeta)
		}
	}
	if err != nil {
		return apicall.Classify(err)
	}
	if changed := podspec.Changes(b.Pod, pod); changed != "" {
		p.cluster.Options.Log.Info("the cluster changed a pod when it was made", "backend", p.cluster.Options.Name, "task", a.ID, "changed", changed)
		p.Tasks.Edit(a.ID, true, func(t *tasks.Task) { t.Changed = changed })
	}
	p.made(a.ID, pod)
	if !claims {
		return nil
	}
	if err := allocate(ctx, p.cluster, p.builder.Labels(a), a, pod); err != nil || a.Gang > 1 {
		return err
	}
	return p.bind(ctx, a.ID, string(a.Node))
}

// accountWithin bounds the wait for the service account of a new namespace,
// which the cluster makes by itself, soon after.
const accountWithin = 10 * time.Second

// passes reports whether what refuses a pod is over soon: a service account that is not
// made yet, a quota whose use the cluster has not counted yet, or one of ours, by which
// it counts what has ended a moment longer than we do.
func passes(problem string) bool {
	return strings.Contains(problem, "error looking up service account") || strings.Contains(problem, "status unknown for quota") || strings.Contains(problem, "exceeded quota: "+cluster.BoundsName+",")
}

// admit creates a pod.
func (p *Pods) admit(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	for end := time.Now().Add(accountWithin); ; {
		made, err := p.cluster.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !passes(err.Error()) || time.Now().After(end) {
			return made, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// bind gives a pod its place.
func (p *Pods) bind(ctx context.Context, id core.TaskID, node string) error {
	t, ok := p.Tasks.Get(id)
	if !ok || t.Bound {
		return nil
	}
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: t.Name, Namespace: t.Space, UID: t.Uid},
		Target:     corev1.ObjectReference{Kind: "Node", Name: p.cluster.NodeName(core.NodeID(node))},
	}
	err := p.cluster.Client.CoreV1().Pods(t.Space).Bind(ctx, b, metav1.CreateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		pod, getErr := p.cluster.Client.CoreV1().Pods(t.Space).Get(ctx, t.Name, metav1.GetOptions{})
		if getErr == nil && pod.UID == t.Uid && pod.Spec.NodeName == b.Target.Name {
			return nil
		}
		return apicall.Refuse(podstatus.ReasonSystem, "pod %s/%s was changed or deleted by someone else before it had its place: %v", t.Space, t.Name, err)
	}
	if err == nil {
		p.Tasks.Edit(id, false, func(t *tasks.Task) { t.Bound = true })
	}
	return apicall.Classify(err)
}

// takeBack undoes the start of a gang that cannot be whole. Each of its tasks
// has failed, for the same reason.
func (p *Pods) takeBack(gang []backend.Assignment, r *apicall.Refusal) {
	for _, a := range gang {
		p.Tasks.Edit(a.ID, true, func(t *tasks.Task) {
			if !t.Seen.State.Ended() {
				t.Seen = backend.Observation{ID: a.ID, State: core.TaskFailed, Reason: string(r.Reason), Message: r.Message, At: p.cluster.Options.Clock()}
			}
		})
		p.cluster.NodeInfo.Release(p.cluster.NodeName(a.Node), a.ID)
	}
	for _, a := range gang {
		p.cluster.Running.Go(func() { p.discard(p.cluster.Context, a.ID) })
	}
}
