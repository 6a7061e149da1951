package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
)

// source is what the cluster tells of one sort of object.
type source struct {
	name   string
	synced func() bool
	probe  func(ctx context.Context, one metav1.ListOptions) error // asks for one of them

	mu  sync.Mutex
	err error     // why it could not be listened to; it may have passed
	at  time.Time // when that was
}

// inform connects what the cluster tells to those who remember it.
func (p *Backend) inform() error {
	api := p.client.CoreV1()
	pods := &source{name: "pods", probe: func(ctx context.Context, one metav1.ListOptions) error {
		_, err := api.Pods("").List(ctx, one)
		return err
	}}
	if err := handle(p, pods, p.factory.Core().V1().Pods().Informer(), trimPod, p.podSeen, p.podGone); err != nil {
		return err
	}
	nodes := &source{name: "nodes", probe: func(ctx context.Context, one metav1.ListOptions) error {
		_, err := api.Nodes().List(ctx, one)
		return err
	}}
	err := handle(p, nodes, p.factory.Core().V1().Nodes().Informer(), trimNode,
		func(n *corev1.Node, _ bool) { p.groups.requeue(p.nodes.Seen(n)) }, func(n *corev1.Node, _ bool) {
			p.groups.requeue(p.nodes.Gone(n.Name))
			p.fractions.nodeGone(n.Name)
		})
	if err != nil {
		return err
	}
	spaces := &source{name: "namespaces", probe: func(ctx context.Context, one metav1.ListOptions) error {
		_, err := api.Namespaces().List(ctx, one)
		return err
	}}
	return handle(p, spaces, p.factory.Core().V1().Namespaces().Informer(), trimNamespace,
		func(n *corev1.Namespace, _ bool) {
			before := p.namespaces.Labels(n.Name)
			p.groups.again(p.namespaces.Seen(n))
			if !maps.Equal(before, p.namespaces.Labels(n.Name)) { // affinity may be to namespaces by their labels
				p.groups.requeue(affinity.AffectsAll)
			}
		},
		func(n *corev1.Namespace, _ bool) { p.groups.again(p.namespaces.Gone(n.Name)) })
}

// handle calls seen with what is there or has changed, and gone with the last
// that was known of what is not there any more; unseen says that it may have
// changed since, unheard.
func handle[T any](p *Backend, s *source, i cache.SharedIndexInformer, keep cache.TransformFunc, seen func(o *T, first bool), gone func(o *T, unseen bool)) error {
	if err := i.SetTransform(keep); err != nil {
		return err
	}
	err := i.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		s.mu.Lock()
		s.err, s.at = err, p.o.Clock()
		s.mu.Unlock()
		if !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && p.ctx.Err() == nil { // watches end, and are begun anew
			p.limiter.Warn("lost sight of the cluster; looking again", "what", s.name, "err", err)
		}
	})
	if err != nil {
		return err
	}
	reg, err := listen(i, seen, gone)
	if err == nil {
		s.synced = reg.HasSynced
		p.sources = append(p.sources, s)
	}
	return err
}

func listen[T any](i cache.SharedIndexInformer, seen func(o *T, first bool), gone func(o *T, unseen bool)) (cache.ResourceEventHandlerRegistration, error) {
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

// hears fails while something in the cluster may not be listened to: what is
// known of it gets old without anybody noticing. Most breaks pass at once; only
// after one it is asked.
func (p *Backend) hears(ctx context.Context) error {
	for _, s := range p.sources {
		s.mu.Lock()
		err, at := s.err, s.at
		s.mu.Unlock()
		if err == nil {
			continue
		}
		if !apierrors.IsForbidden(err) || p.o.Clock().Sub(at) > watchedAgain {
			within, cancel := context.WithTimeout(ctx, apicall.Timeout)
			err = s.probe(within, metav1.ListOptions{Limit: 1})
			cancel()
		}
		if err != nil {
			return fmt.Errorf("cluster %s: %w: its %s cannot be watched: %w", p.o.Name, backend.ErrUnreachable, s.name, err)
		}
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
	}
	return nil
}
