package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/spec"
)

// Why an object is not what runs.
const (
	reasonRefused  = "Refused"     // the server does not take it as it is
	reasonTaken    = "NameTaken"   // another workload of the project has its name
	reasonNobodys  = "NoProject"   // its namespace is no project's
	reasonUnknown  = "Unknown"     // the server has never heard of its workload
	reasonChanged  = "SpecChanged" // its workload cannot be changed so while it lives
	afterNameTaken = 5 * time.Second
	afterNobodys   = 30 * time.Second
)

// resting is for how long an object that was refused is not tried again. What is
// missing need not be in it: a secret, a node, a pool may come.
func (s *session) resting(o *shadow, st *status) time.Duration {
	if st.ObservedGeneration != o.Generation || st.invalid() != reasonRefused {
		return 0
	}
	was, tried := s.tried[o.UID]
	if !tried || was.generation != o.Generation {
		return 0
	}
	return max(was.rest-time.Since(was.at), 0)
}

// longestRest bounds the pauses between tries with an object that is refused.
const longestRest = 5 * time.Minute

// trial is a try with an object that the server refused.
type trial struct {
	generation int64
	at         time.Time
	rest       time.Duration // until the next
}

// refused notes that an object was refused, and returns when to try again: what
// is never mended is asked less and less often.
func (s *session) refused(o *shadow) time.Duration {
	now := trial{o.Generation, time.Now(), again}
	if was, ok := s.tried[o.UID]; ok && was.generation == o.Generation {
		now.rest = min(2*was.rest, longestRest)
	}
	s.tried[o.UID] = now
	return now.rest
}

// regard does what an object asks for.
func (s *session) regard(ctx context.Context, key string) error {
	o := s.object(key)
	if o == nil {
		return nil
	}
	if o.DeletionTimestamp != nil { // someone's finalizer keeps it, but what it asks for is clear
		s.mu.Lock()
		s.gone[string(o.UID)] = o
		s.mu.Unlock()
		return s.miss(ctx, string(o.UID))
	}
	if was, ok := s.done[o.UID]; ok && reflect.DeepEqual(was, o.status) {
		delete(s.done, o.UID) // from here on the cache knows it, and what others make of it
	}
	st := s.now(o)
	if rest := s.resting(o, &st); rest > 0 {
		s.queue.AddAfter(item{anObject, o.key()}, rest)
		return nil
	}
	switch {
	case o.made && st.ID == "":
		return nil // show has only begun with it, or will
	case st.ID == "":
		return s.submit(ctx, o)
	case st.ObservedGeneration < o.Generation, st.invalid() == reasonRefused && !lifecycle.Phase(st.Phase).End():
		return s.change(ctx, o)
	}
	return nil
}

// read is the whole of an object as it is now; nil: it is gone.
func (s *session) read(ctx context.Context, o *shadow) (*unstructured.Unstructured, error) {
	u, err := s.cluster.Resource(workloads).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && u.GetUID() != o.UID {
		return nil, nil
	}
	return u, err
}

// document is what an object asks for, as the server takes it.
func (s *session) document(u *unstructured.Unstructured, project core.ProjectID, applied bool) ([]byte, error) {
	doc := maps.Clone(specOf(u))
	doc["name"], doc["project"] = u.GetName(), string(project)
	if applied {
		doc["labels"] = with(doc["labels"], labelFrom, string(s.definition))
		doc["annotations"] = with(doc["annotations"], noteObject, u.GetNamespace()+"/"+string(u.GetUID())+"/"+strconv.FormatInt(u.GetGeneration(), 10))
	}
	return json.Marshal(doc)
}

// with is a map of an object with one more entry.
func with(in any, key, value string) any {
	m, ok := in.(map[string]any)
	if !ok && in != nil {
		return in // no map: the server says so
	}
	out := map[string]any{}
	maps.Copy(out, m)
	out[key] = value
	return out
}

// submit makes a workload of an object. Doing it again makes no second one.
func (s *session) submit(ctx context.Context, o *shadow) error {
	project, ours, err := s.c.Spaces.Project(ctx, o.Namespace)
	if err != nil {
		return err
	}
	if !ours {
		s.queue.AddAfter(item{anObject, o.key()}, afterNobodys)
		return s.refuse(ctx, o, o.Generation, reasonNobodys, fmt.Sprintf("namespace %s is no project's: label it muster.dev/project=NAME", o.Namespace))
	}
	u, err := s.read(ctx, o)
	if err != nil || u == nil {
		return err
	}
	doc, err := s.document(u, project, true)
	if err != nil {
		return err
	}
	author, done, err := s.author(u)
	if err != nil {
		return s.refuse(ctx, o, u.GetGeneration(), reasonRefused, err.Error())
	}
	defer done()
	w, err := author.Submit(ctx, doc, client.SubmitOptions{Project: string(project), Key: fmt.Sprintf("kube-%s-%d", o.UID, u.GetGeneration())})
	generation, hash := u.GetGeneration(), hashOf(specOf(u))
	if codeOf(err) == "conflict" {
		var before int64
		w, before, err = s.namesake(ctx, o, project, err)
		switch {
		case err != nil:
			return err
		case w == nil:
			return nil
		case before != generation:
			generation, hash = before, "" // it changed since: what it is now is seen next
			s.queue.Add(item{anObject, o.key()})
		}
	}
	if refused(err) {
		return s.refuse(ctx, o, generation, reasonRefused, inWords(err))
	}
	if err != nil {
		return err
	}
	st := judged(statusOf(s.now(o), w), generation, "", "", time.Now())
	st.SpecHash = hash
	return s.write(ctx, o, st)
}

// namesake is the workload that has the name of an object already, if it was
// made of that object, and of which generation. Where it was not, that is said.
func (s *session) namesake(ctx context.Context, o *shadow, project core.ProjectID, conflict error) (*api.Workload, int64, error) {
	w, err := s.c.Muster.Workload(ctx, string(project), o.Name)
	if codeOf(err) == "not_found" {
		s.queue.AddAfter(item{anObject, o.key()}, afterNobodys)
		return nil, 0, s.refuse(ctx, o, o.Generation, reasonTaken, inWords(conflict))
	}
	if err != nil {
		return nil, 0, err
	}
	from, err := originOf(w)
	if err != nil {
		return nil, 0, err
	}
	if from.definition == s.definition && from.uid == o.UID {
		return w, from.generation, nil
	}
	s.queue.AddAfter(item{anObject, o.key()}, afterNameTaken)
	return nil, 0, s.refuse(ctx, o, o.Generation, reasonTaken, fmt.Sprintf("workload %s of project %s is another one (%s): give this another name, or wait until that is deleted", o.Name, project, w.Phase))
}

// refuse says on an object what is wrong with it, and once as an Event.
func (s *session) refuse(ctx context.Context, o *shadow, generation int64, reason, message string) error {
	was := s.now(o)
	st := judged(was, generation, reason, message, time.Now())
	if reason == reasonRefused {
		s.queue.AddAfter(item{anObject, o.key()}, s.refused(o))
	}
	if st.ID == "" {
		st.Phase, st.Reason, st.Message = phaseInvalid, reason, shorten(message)
		st.CreatedAt = cmp.Or(st.CreatedAt, o.CreationTimestamp.UTC().Format(time.RFC3339))
	}
	if err := s.write(ctx, o, st); err != nil {
		return err
	}
	if was.invalid() != reason || was.ObservedGeneration != generation {
		s.events.Event(o.ref(), corev1.EventTypeWarning, reason, shorten(message))
	}
	return nil
}

// change takes over another spec of an object where its workload can be changed.
func (s *session) change(ctx context.Context, o *shadow) error {
	u, err := s.read(ctx, o)
	if err != nil || u == nil {
		return err
	}
	st, generation, hash := s.now(o), u.GetGeneration(), hashOf(specOf(u))
	if hash == st.SpecHash {
		return s.write(ctx, o, judged(st, generation, "", "", time.Now()))
	}
	w, err := s.c.Muster.Workload(ctx, client.AllProjects, st.ID)
	if codeOf(err) == "not_found" {
		return nil // its object goes with it
	}
	if err != nil {
		return err
	}
	doc, err := s.document(u, core.ProjectID(w.Project), !o.made)
	if err != nil {
		return err
	}
	author, done, err := s.author(u)
	if err != nil {
		return s.refuse(ctx, o, generation, reasonRefused, err.Error())
	}
	defer done()
	// What is compared is what the document stands for; where it cannot be told,
	// the server says why when it is to be changed.
	if parsed, err := spec.Parse(doc); err == nil && parsed.NamesAssets() {
		if whole, err := author.Assembled(ctx, doc); err == nil {
			doc = whole
		}
	}
	r := revisionOf(w, doc)
	switch {
	case len(r.paths) == 0 && r.valid: // others have made it so
	case r.effect == spec.EffectLive && !lifecycle.Phase(w.Phase).End():
		w, err = author.Change(ctx, client.AllProjects, w.ID, r.patch)
	default:
		w, err = author.Update(ctx, client.AllProjects, w.ID, doc)
	}
	switch {
	case refused(err) && r.valid && r.effect != spec.EffectLive && r.effect != spec.EffectRolling:
		return s.refuse(ctx, o, generation, reasonChanged, fmt.Sprintf("what differs, %s, cannot change as it is: %s; it stays as it was submitted. muster update runs it anew with another document, or delete the object and apply it again", strings.Join(r.paths, ", "), inWords(err)))
	case refused(err):
		return s.refuse(ctx, o, generation, reasonRefused, inWords(err))
	}
	if err != nil {
		return err
	}
	st = judged(statusOf(st, w), generation, "", "", time.Now())
	st.SpecHash = hash
	return s.write(ctx, o, st)
}

// revision is what an object wants of its workload that is otherwise.
type revision struct {
	valid  bool // the object says a document
	paths  []string
	effect spec.Effect    // when the last of it could come to hold
	patch  map[string]any // that has it hold, where that is at once
}

// revisionOf compares the document of a workload with that of its object, but for
// what we write there of the object itself.
func revisionOf(w *api.Workload, doc []byte) (r revision) {
	next, err := spec.Parse(doc)
	was := new(spec.Document)
	if _, bad := spec.Load(doc); err != nil || bad != nil || was.UnmarshalJSON(w.Spec) != nil {
		return r // the server says what is wrong
	}
	was = spec.WithDefaults(was)
	next.Follow(was)
	policy.Follow(next, was)
	next.Defaults()
	was.Name, was.NamePrefix, was.Project = next.Name, next.NamePrefix, next.Project
	for _, d := range []*spec.Document{was, next} {
		delete(d.Labels, labelFrom)
		delete(d.Annotations, noteObject)
	}
	r.valid = true
	strength := []spec.Effect{"", spec.EffectLive, spec.EffectRolling, spec.EffectAttempt, spec.EffectNever}
	for _, c := range spec.Changes(was, next) {
		r.paths = append(r.paths, c.Path)
		if e := spec.EffectOf(lifecycle.Kind(w.Kind), c.Path); slices.Index(strength, e) > slices.Index(strength, r.effect) {
			r.effect = e
		}
	}
	if r.effect == spec.EffectLive {
		r.patch, err = spec.LivePatch(was, next)
		r.valid = err == nil
	}
	return r
}

// miss does what the deletion of an object asks for: its workload is ended and
// deleted too.
func (s *session) miss(ctx context.Context, uid string) error {
	s.mu.Lock()
	o, ours := s.gone[uid], s.ours[uid]
	s.mu.Unlock()
	if o == nil {
		return nil
	}
	id := cmp.Or(s.now(o).ID, o.id())
	if !ours && id != "" {
		meant, err := s.meant(ctx, o)
		if err != nil {
			return err
		}
		if meant {
			err = s.drop(ctx, id)
		} else {
			s.queue.AddAfter(item{aWorkload, id}, again)
		}
		if err != nil {
			return err
		}
	}
	if at := s.object(o.key()); o.DeletionTimestamp != nil && at != nil && at.UID == o.UID {
		return nil // what is known of it is needed until it is gone
	}
	s.mu.Lock()
	delete(s.gone, uid)
	delete(s.ours, uid)
	s.mu.Unlock()
	delete(s.done, o.UID)
	delete(s.tried, o.UID)
	return nil
}

// meant reports whether whoever deleted an object meant its workload: not who
// removed the resource itself, nor, where we made the object, who removed the
// namespace around it.
func (s *session) meant(ctx context.Context, o *shadow) (bool, error) {
	if uid, err := s.Operator.definition(ctx); err == errNone || err == nil && uid != s.definition {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if !o.made {
		return true, nil
	}
	n, err := s.core.CoreV1().Namespaces().Get(ctx, o.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && n.DeletionTimestamp == nil, err
}

// drop deletes a workload because its object was deleted.
func (s *session) drop(ctx context.Context, id string) error {
	s.left[id] = true
	_, err := s.c.Muster.Delete(ctx, client.AllProjects, id)
	switch {
	case codeOf(err) == "not_found":
		delete(s.left, id)
		return nil
	case refused(err):
		delete(s.left, id) // it goes on, and may be shown again
		s.c.Log.Info("a workload whose object was deleted stays", "id", id, "why", inWords(err))
		return nil
	}
	return err
}

// search deletes a workload that was applied as an object which is not there.
func (s *session) search(ctx context.Context, id string) error {
	w, err := s.c.Muster.Workload(ctx, client.AllProjects, id)
	if codeOf(err) == "not_found" || err == nil && (w.Phase == string(lifecycle.Deleting) || w.Phase == string(lifecycle.Deleted)) {
		return nil
	}
	if err != nil {
		return err
	}
	from, err := originOf(w)
	if err != nil || from.definition != s.definition || from.space == "" {
		return err
	}
	o := &shadow{ObjectMeta: metav1.ObjectMeta{Namespace: from.space, Name: w.Name, UID: from.uid}}
	if u, err := s.read(ctx, o); err != nil || u != nil {
		return err
	}
	if meant, err := s.meant(ctx, o); err != nil || !meant {
		return err
	}
	return s.drop(ctx, id)
}
