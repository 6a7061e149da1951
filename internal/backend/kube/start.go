package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// atOnce is how many requests of one sort are under way at the same time.
const atOnce = 32

// Start implements backend.Plane.
func (p *Backend) Start(ctx context.Context, all []backend.Assignment) error {
	if err := p.sync(ctx); err != nil {
		return err
	}
	if !p.swept.Load() {
		if err := p.sweep(ctx); err != nil {
			if unanswered(err) {
				return fmt.Errorf("%w: %w", backend.ErrUnreachable, err)
			}
			p.o.Log.Warn("what a former server may have left in the cluster could not be looked for", "backend", p.o.Name, "err", err)
		}
		p.swept.Store(true)
	}
	defer p.starts.begin()()
	return each(gangs(all), atOnce, func(gang []backend.Assignment) error { return p.launch(ctx, gang) })
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

// each does f to all, so many at once, and joins what goes wrong. Once the API
// server does not answer at all the rest is not tried.
func each[T any](all []T, limit int, f func(T) error) error {
	if len(all) == 1 {
		return f(all[0])
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
		cut  atomic.Bool
	)
	next := make(chan T)
	for range min(limit, len(all)) {
		wg.Go(func() {
			for x := range next {
				if cut.Load() {
					continue
				}
				err := f(x)
				if err == nil {
					continue
				}
				mu.Lock()
				if away := unanswered(err); !away || !cut.Swap(true) {
					errs = append(errs, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, x := range all {
		next <- x
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// launch brings up what starts together: first all pods, then their places. One
// that cannot be made takes the others back, before any of them runs.
func (p *Backend) launch(ctx context.Context, gang []backend.Assignment) error {
	if gang[0].Claim != "" {
		return p.settle(ctx, gang)
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
	if p.parts.wait(p, todo) {
		p.delay(todo, "")
		return nil
	}
	err := p.bringUp(ctx, todo)
	switch r := refusalOf(err); {
	case r != nil:
		p.takeBack(todo, r)
	case stumbles(err):
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
		err = sorted(p.reachable(ctx, p.spaces.of(todo[0].About.Project), todo))
	}
	if err == nil {
		err = p.welcome(p.spaces.of(todo[0].About.Project), todo)
	}
	if err == nil {
		err = each(todo, atOnce, func(a backend.Assignment) error { return p.create(ctx, &a) })
	}
	if err == nil && todo[0].Gang > 1 {
		err = each(todo, atOnce, func(a backend.Assignment) error { return p.bind(ctx, a.ID, string(a.Node)) })
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
	space := p.spaces.of(a.About.Project)
	if err := p.ready(ctx, space, a.About.Project); err != nil {
		return sorted(err)
	}
	if err := p.mountable(ctx, space, a); err != nil {
		return sorted(err)
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
		return sorted(err)
	}
	return sorted(p.serve(ctx, space, a))
}

// create makes the pod of one task. One that starts alone gets its place with it.
func (p *Backend) create(ctx context.Context, a *backend.Assignment) error {
	b, err := p.draw(a)
	if err != nil {
		return err
	}
	node := p.nodeName(a.Node)
	claims := len(b.pod.Spec.ResourceClaims) > 0
	if a.Gang < 2 && !claims {
		b.pod.Spec.NodeName = node
	}
	p.cluster.hold(node, a.ID, a.Devices)
	if b.secret != nil {
		if err := p.keep(ctx, a.ID, b.secret); err != nil {
			return err
		}
	}
	pod, err := p.admit(ctx, b.pod)
	for p.demands.learn(b.pod.Namespace, err) {
		p.suit(b.pod, a)
		pod, err = p.admit(ctx, b.pod)
	}
	if apierrors.IsAlreadyExists(err) {
		pod, err = p.client.CoreV1().Pods(b.pod.Namespace).Get(ctx, b.pod.Name, metav1.GetOptions{})
		if err == nil && pod.Annotations[naming.NoteTask] != a.ID.String() {
			return clash("pod", &pod.ObjectMeta)
		}
	}
	if err != nil {
		return sorted(err)
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
		return refuse(podstatus.ReasonSystem, "pod %s/%s was changed or deleted by someone else before it had its place: %v", t.space, t.name, err)
	}
	if err == nil {
		p.tasks.edit(id, false, func(t *task) { t.bound = true })
	}
	return sorted(err)
}

// nodeName is what the cluster calls a node.
func (p *Backend) nodeName(id core.NodeID) string { return strings.TrimPrefix(string(id), p.o.Prefix) }

// takeBack undoes the start of a gang that cannot be whole. Each of its tasks
// has failed, for the same reason.
func (p *Backend) takeBack(gang []backend.Assignment, r *refusal) {
	for _, a := range gang {
		p.tasks.edit(a.ID, true, func(t *task) {
			if !t.seen.State.Ended() {
				t.seen = backend.Observation{ID: a.ID, State: core.TaskFailed, Reason: string(r.reason), Message: r.message, At: p.o.Clock()}
			}
		})
		p.cluster.release(p.nodeName(a.Node), a.ID)
	}
	for _, a := range gang {
		p.wg.Go(func() { p.discard(p.ctx, a.ID) })
	}
}

// refusalOf is the refusal among errors; nil when the cluster merely did not
// answer, so that asking again may help.
func refusalOf(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// sorted tells refusals from what asking again may mend. What the cluster, or
// others in it, refuse at present is tried again later, from the queue; what is
// no proper pod fails.
func sorted(err error) error {
	switch {
	case err == nil, refusalOf(err) != nil:
		return err
	case denied(err):
		return refuse(podstatus.ReasonSystem, "a policy of the cluster refuses it: %v", err)
	case apierrors.IsForbidden(err):
		return refuse(podstatus.ReasonSystem, "the cluster does not allow it: %v", err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return refuse(lifecycle.ReasonContainerCannot, "the cluster refuses it: %v", err)
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return refuse(podstatus.ReasonSystem, "what it needs in the cluster is gone: %v", err)
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook"):
		return refuse(podstatus.ReasonSystem, "a webhook that the cluster asks does not answer: %v", err)
	case answers(err):
		return &stumble{err}
	default:
		return fmt.Errorf("%w: %w", backend.ErrUnreachable, err)
	}
}

// stumble is an error of the API server itself, or of what it asks, about one
// thing that it was asked to do: asking again may help, and of all else it says
// nothing.
type stumble struct{ err error }

func (s *stumble) Error() string { return "the cluster fails at it: " + s.err.Error() }
func (s *stumble) Unwrap() error { return s.err }

// stumbles reports whether the API server answered, if with an error of its own.
func stumbles(err error) bool {
	var s *stumble
	return errors.As(err, &s) && !errors.Is(err, backend.ErrUnreachable)
}

// answers reports whether an error is about what was asked, rather than about us
// or all that is asked at this time.
func answers(err error) bool {
	var status apierrors.APIStatus
	if unanswered(err) || !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	default:
		return true
	}
}

// denied reports whether admission said no, in whatever code: webhooks and
// policies choose their own (kubernetes.io, "Dynamic Admission Control"). Only
// their words are common to them.
func denied(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	said := status.Status().Message
	return strings.Contains(said, "denied the request") || strings.Contains(said, "denied request")
}
