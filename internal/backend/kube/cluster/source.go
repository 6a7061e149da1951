package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
)

// Source is what the cluster tells of one sort of object.
type Source struct {
	Name   string
	Synced func() bool
	Probe  func(ctx context.Context, one metav1.ListOptions) error // asks for one of them

	mu  sync.Mutex
	err error     // why it could not be listened to; it may have passed
	at  time.Time // when that was
}

// Handle calls seen with what is there or has changed, and gone with the last
// that was known of what is not there any more; unseen says that it may have
// changed since, unheard.
func Handle[T any](p *Cluster, s *Source, i cache.SharedIndexInformer, keep cache.TransformFunc, seen func(o *T, first bool), gone func(o *T, unseen bool)) error {
	if err := i.SetTransform(keep); err != nil {
		return err
	}
	err := i.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		s.mu.Lock()
		s.err, s.at = err, p.Options.Clock()
		s.mu.Unlock()
		if !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && p.Context.Err() == nil { // watches end, and are begun anew
			p.Limiter.Warn("lost sight of the cluster; looking again", "what", s.Name, "err", err)
		}
	})
	if err != nil {
		return err
	}
	reg, err := Listen(i, seen, gone)
	if err == nil {
		s.Synced = reg.HasSynced
		p.Sources = append(p.Sources, s)
	}
	return err
}

// Listen calls seen with what there is or has changed, and gone with what is not
// there any more.
func Listen[T any](i cache.SharedIndexInformer, seen func(o *T, first bool), gone func(o *T, unseen bool)) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { seen(o.(*T), initial) },
		UpdateFunc: func(_, o any) { seen(o.(*T), false) },
		DeleteFunc: func(o any) {
			unknown, unseen := o.(cache.DeletedFinalStateUnknown)
			if unseen {
				o = unknown.Obj
			}
			if t, ok := o.(*T); ok {
				gone(t, unseen)
			}
		},
	})
}

// watchedAgain is more than passes between two tries to watch. Who may list may
// not have the right to watch, so that asking says nothing.
const watchedAgain = 90 * time.Second

// Hears fails while something in the cluster may not be listened to: what is
// known of it gets old without anybody noticing. Most breaks pass at once; only
// after one it is asked.
func (p *Cluster) Hears(ctx context.Context) error {
	for _, s := range p.Sources {
		s.mu.Lock()
		err, at := s.err, s.at
		s.mu.Unlock()
		if err == nil {
			continue
		}
		if !apierrors.IsForbidden(err) || p.Options.Clock().Sub(at) > watchedAgain {
			within, cancel := context.WithTimeout(ctx, apicall.Timeout)
			err = s.Probe(within, metav1.ListOptions{Limit: 1})
			cancel()
		}
		if err != nil {
			return fmt.Errorf("cluster %s: %w: its %s cannot be watched: %w", p.Options.Name, backend.ErrUnreachable, s.Name, err)
		}
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
	}
	return nil
}
