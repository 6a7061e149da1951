package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// show makes the object of a workload say what the workload is like.
func (s *session) show(ctx context.Context, id string) error {
	n := s.dequeue(id)
	err := s.shown(ctx, id, n)
	if err != nil {
		s.giveBack(id, n)
	}
	return err
}

func (s *session) shown(ctx context.Context, id string, n *news) error {
	o, w := s.objectOf(id), n.w
	if o == nil || w == nil || lacks(w, n.steps) {
		var err error
		w, err = s.c.Muster.Workload(ctx, client.AllProjects, id)
		if err != nil && codeOf(err) != "not_found" {
			return err
		}
	}
	if w == nil || w.Phase == string(lifecycle.Deleted) {
		delete(s.left, id)
		switch {
		case o == nil:
			return nil
		case w == nil && !o.made: // what others have applied goes only with a workload that is known to be deleted
			return s.refuse(ctx, o, o.Generation, reasonUnknown, "this server knows no workload "+id+", as if its data were lost: delete the object and apply it again to run it anew")
		}
		return s.remove(ctx, o)
	}
	if o == nil {
		var err error
		if o, err = s.home(ctx, w); err != nil || o == nil {
			return err
		}
	}
	if err := s.respec(ctx, o, w); err != nil {
		return err
	}
	if err := s.write(ctx, o, statusOf(s.now(o), w)); err != nil {
		return err
	}
	s.announce(o, n.steps)
	return nil
}

// lacks reports whether a change does not tell all that its object says: why
// the workload waits, or which nodes a large one is on.
func lacks(w *api.Workload, steps []api.Transition) bool {
	switch lifecycle.Phase(w.Phase) {
	case lifecycle.Queued, lifecycle.Inadmissible, lifecycle.Backoff:
		return true
	}
	return w.Tasks.Total > countable && len(steps) > 0
}

// home is the object of a workload that is not known to have one: that which it
// was applied as, or a new one. nil: it has none.
func (s *session) home(ctx context.Context, w *api.Workload) (*shadow, error) {
	if s.left[w.ID] || w.Phase == string(lifecycle.Deleting) {
		return nil, nil
	}
	from, err := originOf(w)
	if err != nil {
		return nil, err
	}
	if from.definition == s.definition {
		if o := s.object(from.space + "/" + w.Name); o != nil && o.UID == from.uid {
			return o, nil
		}
		s.queue.Add(item{missed, w.ID})
		return nil, nil
	}
	if w.EndedAt != nil && time.Since(time.Time(*w.EndedAt)) > s.c.Keep {
		return nil, nil
	}
	space, err := s.c.Spaces.Namespace(ctx, core.ProjectID(w.Project))
	if err != nil {
		return nil, err
	}
	return s.create(ctx, space, w)
}

// origin is the object that a workload was applied as.
type origin struct {
	definition, uid types.UID
	space           string
	generation      int64
}

// originOf reads the marks that document leaves; of a workload that was not
// applied all is empty.
func originOf(w *api.Workload) (origin, error) {
	var doc struct{ Labels, Annotations map[string]string }
	if err := json.Unmarshal(w.Spec, &doc); err != nil {
		return origin{}, fmt.Errorf("the document of %s is not understood: %w", w.Name, err)
	}
	o := origin{definition: types.UID(doc.Labels[labelFrom])}
	if parts := strings.Split(doc.Annotations[noteObject], "/"); len(parts) == 3 {
		o.space, o.uid = parts[0], types.UID(parts[1])
		if _, err := fmt.Sscan(parts[2], &o.generation); err != nil {
			o.generation = 0
		}
	}
	return o, nil
}

// create makes the object of a workload. Creation refuses where applying would
// dequeue an object over that someone else has made meanwhile.
func (s *session) create(ctx context.Context, space string, w *api.Workload) (*shadow, error) {
	doc, err := shownSpec(w)
	if err != nil {
		return nil, err
	}
	out := header(map[string]any{
		"name": w.Name, "namespace": space,
		"labels": map[string]any{labelOwner: manager}, "annotations": map[string]any{noteID: w.ID},
	})
	out["spec"] = doc
	u, err := unstructuredOf(out)
	if err != nil {
		return nil, err
	}
	hash := hashOf(specOf(u))
	made, err := s.cluster.Resource(workloads).Namespace(space).Create(ctx, u, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		there, err := s.cluster.Resource(workloads).Namespace(space).Get(ctx, w.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		o := shadowOf(there)
		switch {
		case o.id() == w.ID:
			return o, nil // the cache will know soon
		case o.made:
			return nil, fmt.Errorf("the object %s is still that of a former workload", o.key())
		default:
			return nil, nil // it was applied, and says itself that its name is taken
		}
	}
	if err != nil {
		return nil, fmt.Errorf("object of %s: %w", w.Name, err)
	}
	o := shadowOf(made)
	s.done[o.UID] = status{ObservedGeneration: o.Generation, SpecHash: hash}
	return o, nil
}

// shownSpec is the document of a workload as its object has it.
func shownSpec(w *api.Workload) (map[string]any, error) {
	doc := map[string]any{}
	if lifecycle.Kind(w.Kind).Foreign() { // those are described by their pods
		return doc, nil
	}
	if err := json.Unmarshal(w.Spec, &doc); err != nil {
		return nil, fmt.Errorf("the document of %s is not understood: %w", w.Name, err)
	}
	for _, name := range elsewhere {
		delete(doc, name)
	}
	return doc, nil
}

// respec writes the document of a workload that was changed into an object that
// we made. Applied objects say what their authors want, whatever runs.
func (s *session) respec(ctx context.Context, o *shadow, w *api.Workload) error {
	was := s.now(o)
	updated := w.Replicas != nil && was.Replicas != nil && w.Replicas.Generation > was.Replicas.Generation
	if !o.made || !updated && revisedHash(was, w) == was.RevisedHash {
		return nil
	}
	w, err := s.c.Muster.Workload(ctx, client.AllProjects, w.ID) // with its document
	if err != nil {
		return err
	}
	u, err := s.read(ctx, o)
	if err != nil || u == nil {
		return err
	}
	doc, err := shownSpec(w)
	if err != nil {
		return err
	}
	before := hashOf(specOf(u))
	u.Object["spec"] = doc
	if u, err = unstructuredOf(u.Object); err != nil { // with numbers as the cluster has them
		return err
	}
	hash := hashOf(specOf(u))
	if hash == before {
		return nil // it was changed by way of the object
	}
	u, err = s.cluster.Resource(workloads).Namespace(o.Namespace).Update(ctx, u, metav1.UpdateOptions{FieldManager: manager})
	if err != nil {
		return fmt.Errorf("object %s: %w", o.key(), err)
	}
	was.ObservedGeneration, was.SpecHash = u.GetGeneration(), hash
	s.done[o.UID] = was
	return nil
}

// write writes a status where it differs from what stands there.
func (s *session) write(ctx context.Context, o *shadow, st status) error {
	if reflect.DeepEqual(st, s.now(o)) {
		return nil
	}
	out := header(map[string]any{"name": o.Name, "namespace": o.Namespace, "uid": string(o.UID)})
	out["status"] = st
	u, err := unstructuredOf(out)
	if err != nil {
		return err
	}
	_, err = s.cluster.Resource(workloads).Namespace(o.Namespace).ApplyStatus(ctx, o.Name, u, metav1.ApplyOptions{FieldManager: manager, Force: true})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // it is gone, or another has its name: that will be seen
	case err != nil:
		return fmt.Errorf("status of %s: %w", o.key(), err)
	}
	s.done[o.UID] = st
	return nil
}

// most is how many Events tell of what happened between two looks.
const most = 8

// announce tells the steps of a workload as Events of its object.
func (s *session) announce(o *shadow, steps []api.Transition) {
	for _, t := range lastOf(steps) {
		text := t.Message
		if t.Reason != "" && text != "" {
			text = t.Reason + ": " + text
		}
		text = cmp.Or(text, t.Reason, lifecycle.Phase(t.To).Meaning())
		s.events.Event(o.ref(), gravity(t), t.To, shorten(text))
	}
}

// gravity is the type of an Event.
func gravity(t api.Transition) string {
	switch lifecycle.Phase(t.To) {
	case lifecycle.Failed, lifecycle.Lost, lifecycle.TimedOut, lifecycle.Preempted, lifecycle.Backoff, lifecycle.Inadmissible, lifecycle.Restarting:
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// remove deletes an object because its workload is gone, or long ended.
func (s *session) remove(ctx context.Context, o *shadow) error {
	s.mu.Lock()
	s.ours[string(o.UID)] = true
	s.mu.Unlock()
	err := s.cluster.Resource(workloads).Namespace(o.Namespace).Delete(ctx, o.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err): // it stays, and whoever deletes it later means it
		s.mu.Lock()
		delete(s.ours, string(o.UID))
		s.mu.Unlock()
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	}
	if err != nil {
		return fmt.Errorf("object %s: %w", o.key(), err)
	}
	return nil
}

// tidy removes objects that we made of workloads that ended long ago.
func (s *session) tidy(ctx context.Context) error {
	for _, in := range s.objects.List() {
		o, ok := in.(*shadow)
		if !ok || !o.made {
			continue
		}
		ended, err := time.Parse(time.RFC3339, s.now(o).EndedAt)
		if err != nil || time.Since(ended) <= s.c.Keep {
			continue
		}
		if err := s.remove(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
