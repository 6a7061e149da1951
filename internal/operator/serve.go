package operator

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// item is one thing to look at. Whatever happens to it meanwhile is looked at
// together.
type item struct {
	what what
	key  string
}

type what uint8

const (
	aWorkload what = iota // by ID: show how it is
	anObject              // by namespace and name: see what it asks for
	lost                  // an object by UID: it has been deleted
	missed                // a workload by ID, whose object may have been deleted
	everything
	present // live workloads: why they wait, and whether others have changed what their objects say
	old     // objects that have been kept long enough
)

// news is what is known of a workload that has changed.
type news struct {
	w     *api.Workload // nil: ask
	steps []api.Transition
}

// session is a face while the resource is there. One goroutine works on all
// items, so that nothing is written in the wrong order.
type session struct {
	*Operator
	definition types.UID
	objects    cache.Indexer
	queue      workqueue.TypedRateLimitingInterface[item]
	events     record.EventRecorder

	mu   sync.Mutex
	news map[string]*news   // by workload
	gone map[string]*shadow // by UID
	ours map[string]bool    // UIDs of objects that we delete ourselves
	// done is what was last written to an object, until the cache knows it.
	done  map[types.UID]status
	tried map[types.UID]trial // when an object was last refused
	left  map[string]bool     // workloads that are deleted because their objects were
}

// limits are the pauses after a failure, of one item.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
	// quick and slow are how long a change waits for others of the same
	// workload: one of phase, and any other.
	quick, slow = 100 * time.Millisecond, time.Second
	// again is how often it is asked why workloads still wait, and how long what
	// was refused rests at first.
	again = time.Minute
	// sweep is how often objects are looked for that have been kept long enough.
	sweep = 10 * time.Minute
)

func newSession(f *Operator, definition types.UID) *session {
	return &session{
		Operator: f, definition: definition,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstPause, lastPause)),
		news:  map[string]*news{}, gone: map[string]*shadow{}, ours: map[string]bool{}, done: map[types.UID]status{}, tried: map[types.UID]trial{}, left: map[string]bool{},
	}
}

// serve works until ctx is done or the resource is gone.
func (f *Operator) serve(parent context.Context, definition types.UID) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	s := newSession(f, definition)
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: f.core.CoreV1().Events("")})
	s.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: manager})

	informer := dynamicinformer.NewFilteredDynamicInformer(f.cluster, workloads, "", 0, indexers, nil).Informer()
	s.objects = informer.GetIndexer()
	registered, err := s.inform(informer, cancel)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer s.queue.ShutDown()
	defer cancel(nil)
	all.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return context.Cause(ctx)
	}
	all.Go(func() { cancel(s.watch(ctx)) })
	all.Go(func() { // ends the worker, which waits for items only
		<-ctx.Done()
		s.queue.ShutDown()
	})
	s.work(ctx)
	return context.Cause(ctx)
}

// inform connects what the cluster tells to the queue.
func (s *session) inform(informer cache.SharedIndexInformer, cancel context.CancelCauseFunc) (cache.ResourceEventHandlerRegistration, error) {
	if err := informer.SetTransform(slim); err != nil {
		return nil, err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			cancel(errNone)
			return
		}
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return nil, err
	}
	seen := func(in any) {
		if o, ok := in.(*shadow); ok {
			s.queue.Add(item{anObject, o.key()})
		}
	}
	return informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, in any) { seen(in) },
		DeleteFunc: func(in any) {
			if unknown, ok := in.(cache.DeletedFinalStateUnknown); ok {
				in = unknown.Obj
			}
			if o, ok := in.(*shadow); ok {
				s.mu.Lock()
				s.gone[string(o.UID)] = o
				s.mu.Unlock()
				s.queue.Add(item{lost, string(o.UID)})
			}
		},
	})
}

// watch passes on what becomes of workloads.
func (s *session) watch(ctx context.Context) error {
	begun := false
	for e, err := range s.c.Muster.Watch(ctx, client.WatchOptions{}) {
		switch {
		case err != nil:
			return err
		case e.Workload != nil:
			pause := slow
			if len(e.Workload.Transitions) > 0 {
				pause = quick
			}
			s.enqueue(e.Workload)
			s.queue.AddAfter(item{aWorkload, e.Workload.ID}, pause)
		case e.Synced && !begun:
			begun = true // from now on nothing is missed; what was before is compared
			s.queue.Add(item{what: everything})
			s.queue.AddAfter(item{what: present}, again)
			s.queue.AddAfter(item{what: old}, sweep)
		}
	}
	return ctx.Err()
}

// enqueue remembers the latest of a workload.
func (s *session) enqueue(w *api.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.news[w.ID]
	if n == nil {
		n = &news{}
		s.news[w.ID] = n
	}
	n.steps = lastOf(append(n.steps, w.Transitions...))
	if n.w == nil || n.w.Revision <= w.Revision {
		n.w = w
	}
}

// dequeue is what has been told of a workload since the last time.
func (s *session) dequeue(id string) *news {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.news[id]
	delete(s.news, id)
	if n == nil {
		n = &news{}
	}
	return n
}

// giveBack is take undone, because it could not be shown.
func (s *session) giveBack(id string, n *news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if later := s.news[id]; later != nil {
		later.steps = lastOf(append(n.steps, later.steps...))
		return
	}
	s.news[id] = n
}

// lastOf are the steps that are told; while nothing can be written they are many.
func lastOf(steps []api.Transition) []api.Transition {
	if len(steps) <= most {
		return steps
	}
	return slices.Clone(steps[len(steps)-most:]) // not to keep the others
}

func (s *session) work(ctx context.Context) {
	pause := firstPause
	for {
		i, over := s.queue.Get()
		if over {
			return
		}
		err := s.do(ctx, i)
		switch {
		case err == nil || ctx.Err() != nil:
			pause = firstPause
			s.queue.Forget(i)
		case !silent(err):
			pause = firstPause
			s.c.Log.Warn("a workload and its object differ for now", "what", i.key, "err", err)
			s.queue.AddRateLimited(i)
		default: // to try everything else too would only be noise
			if pause == firstPause {
				s.c.Log.Warn("objects of workloads cannot be written or their workloads not read; trying on", "err", err)
			}
			s.queue.Add(i)
			wait(ctx, pause)
			pause = min(2*pause, lastPause)
		}
		s.queue.Done(i)
	}
}

// silent reports whether an error is that the cluster or the server does not
// answer, and not what one of them has said.
func silent(err error) bool {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Code == client.CodeUnreachable
	}
	var broken *url.Error
	return errors.As(err, &broken)
}

func (s *session) do(ctx context.Context, i item) error {
	switch i.what {
	case aWorkload:
		return s.show(ctx, i.key)
	case anObject:
		return s.regard(ctx, i.key)
	case lost:
		return s.miss(ctx, i.key)
	case missed:
		return s.search(ctx, i.key)
	case everything:
		return s.compare(ctx)
	case present:
		s.queue.AddAfter(i, again)
		return s.look(ctx)
	case old:
		s.queue.AddAfter(i, sweep)
		return s.tidy(ctx)
	default:
		return nil
	}
}

// object is the one of a key; nil: there is none.
func (s *session) object(key string) *shadow {
	in, ok, err := s.objects.GetByKey(key)
	if err != nil || !ok {
		return nil
	}
	o, _ := in.(*shadow)
	return o
}

// objectOf is the one of a workload; nil: there is none.
func (s *session) objectOf(id string) *shadow {
	all, err := s.objects.ByIndex(byID, id)
	if err != nil {
		return nil
	}
	for _, in := range all {
		if o, ok := in.(*shadow); ok {
			return o
		}
	}
	return nil
}

// now is what an object says, with what we wrote last.
func (s *session) now(o *shadow) status {
	if st, ok := s.done[o.UID]; ok {
		return st
	}
	return o.status
}

// codeOf is the code of what the server refused; empty: it refused nothing.
func codeOf(err error) string {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// refused reports whether asking the server again is in vain.
func refused(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status >= 400 && p.Status < 500 && p.Code != client.CodeUnreachable
}

// inWords is a refusal for people.
func inWords(err error) string {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err.Error()
	}
	if len(p.Errors) == 0 {
		if p.Hint == "" {
			return p.Detail
		}
		return fmt.Sprintf("%s (%s)", p.Detail, p.Hint)
	}
	text := ""
	for _, e := range p.Errors {
		if text != "" {
			text += "; "
		}
		text += e.Path + ": " + e.Problem
		if e.Hint != "" {
			text += " (" + e.Hint + ")"
		}
	}
	return text
}
