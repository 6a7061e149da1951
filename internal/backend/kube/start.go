package kube

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// Start implements backend.Backend.
func (p *Backend) Start(ctx context.Context, all []backend.Assignment) error {
	if err := p.sync(ctx); err != nil {
		return err
	}
	if !p.swept.Load() {
		if err := p.sweep(ctx); err != nil {
			if apicall.IsUnanswered(err) {
				return fmt.Errorf("%w: %w", backend.ErrUnreachable, err)
			}
			p.o.Log.Warn("what a former server may have left in the cluster could not be looked for", "backend", p.o.Name, "err", err)
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
func (p *Backend) launch(ctx context.Context, gang []backend.Assignment) error {
	if gang[0].Claim != "" {
		return p.bindForeign(ctx, gang)
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
	if p.fractions.wait(p, todo) {
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
func (p *Backend) bringUp(ctx context.Context, todo []backend.Assignment) error {
	defer p.tasks.expect(attemptOf{todo[0].ID.Workload, todo[0].ID.Attempt})()
	err := p.prepare(ctx, &todo[0])
	if err == nil {
		err = apicall.Classify(p.reachable(ctx, p.namespaces.Of(todo[0].About.Project), todo))
	}
	if err == nil {
		err = p.checkAntiAffinity(p.namespaces.Of(todo[0].About.Project), todo)
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
func (p *Backend) wanted(a backend.Assignment) bool {
	want := true
	p.tasks.edit(a.ID, false, func(t *task) {
		switch {
		case t.forgotten:
			want, t.next = false, &a
		case t.seen.State.Ended():
			want = false
		default:
			want = !t.there || !t.bound
		}
	})
	return want
}

// prepare makes what the tasks of an attempt share.
func (p *Backend) prepare(ctx context.Context, a *backend.Assignment) error {
	space := p.namespaces.Of(a.About.Project)
	if err := p.ready(ctx, space, a.About.Project); err != nil {
		return apicall.Classify(err)
	}
	if err := p.mountable(ctx, space, a); err != nil {
		return apicall.Classify(err)
	}
	if a.Gang < 2 && len(a.Ports) == 0 && a.Ready == nil {
		return nil
	}
	of := attemptOf{a.ID.Workload, a.ID.Attempt}
	defer p.serviced.lock(of)()
	p.served.Store(of, true)
	selects := map[string]string{naming.LabelWorkload: string(a.ID.Workload), naming.LabelAttempt: strconv.Itoa(a.ID.Attempt)}
	if a.Gang > 1 && !a.Peers && len(a.Ports) == 0 {
		// With each pod that comes the cluster would write down all of them anew,
		// which for a large gang costs as much as to start it; nobody looks for
		// any but the first.
		selects[naming.LabelIndex] = "0"
	}
	s := applycore.Service(naming.ServiceName(a.ID), space).WithLabels(p.marked(map[string]string{
		naming.LabelManaged: naming.Managed, naming.LabelWorkload: string(a.ID.Workload), naming.LabelAttempt: strconv.Itoa(a.ID.Attempt),
	})).WithSpec(applycore.ServiceSpec().WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true).
		WithSelector(selects))
	if _, err := p.client.CoreV1().Services(space).Apply(ctx, s, metav1.ApplyOptions{FieldManager: naming.Managed, Force: true}); err != nil {
		return apicall.Classify(err)
	}
	return apicall.Classify(p.serve(ctx, space, a))
}

// create makes the pod of one task. One that starts alone gets its place with it.
func (p *Backend) create(ctx context.Context, a *backend.Assignment) error {
	b, err := p.buildPod(a)
	if err != nil {
		return err
	}
	node := p.nodeName(a.Node)
	claims := len(b.pod.Spec.ResourceClaims) > 0
	if a.Gang < 2 && !claims {
		b.pod.Spec.NodeName = node
	}
	p.nodes.Hold(node, a.ID, a.Devices)
	if b.secret != nil {
		if err := p.createSecret(ctx, a.ID, b.secret); err != nil {
			return err
		}
	}
	pod, err := p.admit(ctx, b.pod)
	for p.policies.learn(b.pod.Namespace, err) {
		p.applyPolicy(b.pod, a)
		pod, err = p.admit(ctx, b.pod)
	}
	if apierrors.IsAlreadyExists(err) {
		pod, err = p.client.CoreV1().Pods(b.pod.Namespace).Get(ctx, b.pod.Name, metav1.GetOptions{})
		if err == nil && pod.Annotations[naming.NoteTask] != a.ID.String() {
			return clash("pod", &pod.ObjectMeta)
		}
	}
	if err != nil {
		return apicall.Classify(err)
	}
	if changed := changes(b.pod, pod); changed != "" {
		p.o.Log.Info("the cluster changed a pod when it was made", "backend", p.o.Name, "task", a.ID, "changed", changed)
		p.tasks.edit(a.ID, true, func(t *task) { t.changed = changed })
	}
	p.podSeen(pod, false)
	if !claims {
		return nil
	}
	if err := p.allocate(ctx, a, pod); err != nil || a.Gang > 1 {
		return err
	}
	return p.bind(ctx, a.ID, string(a.Node))
}

// accountWithin bounds the wait for the service account of a new namespace,
// which the cluster makes by itself, soon after.
const accountWithin = 10 * time.Second

// admit creates a pod.
func (p *Backend) admit(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	for end := time.Now().Add(accountWithin); ; {
		made, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "error looking up service account") || time.Now().After(end) {
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
func (p *Backend) bind(ctx context.Context, id core.TaskID, node string) error {
	t, ok := p.tasks.get(id)
	if !ok || t.bound {
		return nil
	}
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: t.name, Namespace: t.space, UID: t.uid},
		Target:     corev1.ObjectReference{Kind: "Node", Name: p.nodeName(core.NodeID(node))},
	}
	err := p.client.CoreV1().Pods(t.space).Bind(ctx, b, metav1.CreateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		pod, getErr := p.client.CoreV1().Pods(t.space).Get(ctx, t.name, metav1.GetOptions{})
		if getErr == nil && pod.UID == t.uid && pod.Spec.NodeName == b.Target.Name {
			return nil
		}
		return apicall.Refuse(podstatus.ReasonSystem, "pod %s/%s was changed or deleted by someone else before it had its place: %v", t.space, t.name, err)
	}
	if err == nil {
		p.tasks.edit(id, false, func(t *task) { t.bound = true })
	}
	return apicall.Classify(err)
}

// nodeName is what the cluster calls a node.
func (p *Backend) nodeName(id core.NodeID) string { return strings.TrimPrefix(string(id), p.o.Prefix) }

// takeBack undoes the start of a gang that cannot be whole. Each of its tasks
// has failed, for the same reason.
func (p *Backend) takeBack(gang []backend.Assignment, r *apicall.Refusal) {
	for _, a := range gang {
		p.tasks.edit(a.ID, true, func(t *task) {
			if !t.seen.State.Ended() {
				t.seen = backend.Observation{ID: a.ID, State: core.TaskFailed, Reason: string(r.Reason), Message: r.Message, At: p.o.Clock()}
			}
		})
		p.nodes.Release(p.nodeName(a.Node), a.ID)
	}
	for _, a := range gang {
		p.wg.Go(func() { p.discard(p.ctx, a.ID) })
	}
}
