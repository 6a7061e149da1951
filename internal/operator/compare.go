package operator

import (
	"context"
	"reflect"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// page is how many workloads are read at once.
const page = 1000

// compare finds what happened on either side while nobody looked: workloads
// whose objects say something else, objects of workloads that are gone, and
// workloads whose objects are.
func (s *session) compare(ctx context.Context) error {
	live := map[string]bool{}
	err := s.each(ctx, client.ListOptions{Live: true}, func(w *api.Workload) {
		live[w.ID] = true
		if o := s.objectOf(w.ID); o == nil || s.differs(o, w) {
			s.queue.Add(item{aWorkload, w.ID})
		}
	})
	if err != nil {
		return err
	}
	err = s.each(ctx, client.ListOptions{Labels: map[string]string{labelFrom: string(s.definition)}}, func(w *api.Workload) {
		if s.objectOf(w.ID) == nil {
			s.queue.Add(item{missed, w.ID})
		}
	})
	if err != nil {
		return err
	}
	for _, in := range s.objects.List() {
		if o, ok := in.(*shadow); ok && o.id() != "" && !live[o.id()] {
			s.queue.Add(item{aWorkload, o.id()})
		}
	}
	return nil
}

// look finds live workloads whose objects do not say how they are: why they wait
// changes without a step of theirs, and others may write what they like.
func (s *session) look(ctx context.Context) error {
	return s.each(ctx, client.ListOptions{Live: true}, func(w *api.Workload) {
		if o := s.objectOf(w.ID); o != nil && s.differs(o, w) {
			s.queue.Add(item{aWorkload, w.ID})
		}
	})
}

// differs reports whether an object does not say how w is, which lacks its tasks.
func (s *session) differs(o *shadow, w *api.Workload) bool {
	was := s.now(o)
	st := statusOf(was, w)
	if st.Replicas != nil && was.Replicas != nil { // how many are up is counted among the tasks
		r := *st.Replicas
		r.Running, r.Ready, r.Updated = was.Replicas.Running, was.Replicas.Ready, was.Replicas.Updated
		st.Replicas = &r
	}
	return !reflect.DeepEqual(st, was)
}

// each calls f for all workloads of a list, without their documents.
func (s *session) each(ctx context.Context, o client.ListOptions, f func(*api.Workload)) error {
	o.Limit, o.Summary = page, true
	for {
		l, err := s.c.Muster.Workloads(ctx, o)
		if err != nil {
			return err
		}
		for i := range l.Items {
			f(&l.Items[i])
		}
		if o.Cursor = l.Next; o.Cursor == "" {
			return nil
		}
	}
}
