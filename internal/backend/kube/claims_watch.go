package kube

import (
	"context"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
)

// watchClaims follows claims where the cluster has them and lets us see them.
// Until that is known, nothing is said of nodes.
func (p *Backend) watchClaims() (follow func()) {
	p.sources = append(p.sources, &source{name: "resource claims", synced: func() bool {
		f := p.claimed.Load()
		return f != nil && (*f)()
	}})
	return func() {
		for wait := apicall.FirstPause; p.ctx.Err() == nil; wait = min(2*wait, apicall.LongestPause) {
			err := p.followClaims(p.ctx)
			if err == nil {
				return
			}
			p.o.Log.Debug("whether the cluster has resource claims is not known yet", "backend", p.o.Name, "err", err)
			select {
			case <-p.ctx.Done():
			case <-time.After(wait):
			}
		}
	}
}

func (p *Backend) followClaims(ctx context.Context) error {
	without := func() bool { return true }
	_, err := p.client.Discovery().ServerResourcesForGroupVersion(resourcev1.SchemeGroupVersion.String())
	if err == nil {
		_, err = p.client.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{Limit: 1})
	}
	if err == nil {
		_, err = p.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{Limit: 1})
	}
	switch {
	case apierrors.IsNotFound(err):
		p.groups.wishes.SetUnavailable("the cluster does not serve "+resourcev1.SchemeGroupVersion.String(), "")
		p.claimed.Store(&without)
		return nil
	case apierrors.IsForbidden(err):
		p.o.Log.Warn("GPUs that are taken by resource claims are not counted: the server may not list and watch them", "backend", p.o.Name, "err", err)
		p.groups.wishes.SetUnavailable("the server may not list and watch resourceclaims and resourceslices, so that nothing is known of it", "")
		p.claimed.Store(&without)
		return nil
	case err != nil:
		return err
	}
	classes, err := p.followClasses(ctx)
	if err != nil {
		return err
	}
	r := p.factory.Resource().V1()
	for _, i := range []cache.SharedIndexInformer{r.ResourceSlices().Informer(), r.ResourceClaims().Informer()} {
		if err := i.SetTransform(trimObject); err != nil {
			return err
		}
	}
	one, err := listen(r.ResourceSlices().Informer(), func(s *resourcev1.ResourceSlice, _ bool) { p.nodes.SliceSeen(s) }, func(s *resourcev1.ResourceSlice, _ bool) { p.nodes.SliceGone(s.Name) })
	if err != nil {
		return err
	}
	two, err := listen(r.ResourceClaims().Informer(), func(c *resourcev1.ResourceClaim, _ bool) {
		p.nodes.ClaimSeen(c)
		p.groups.claimSeen(c)
	}, func(c *resourcev1.ResourceClaim, _ bool) {
		p.nodes.SetClaim(c.UID, nil)
		p.groups.claimGone(c)
	})
	if err != nil {
		return err
	}
	all := func() bool { return one.HasSynced() && two.HasSynced() && classes() }
	p.claimed.Store(&all)
	p.factory.Start(p.ctx.Done())
	return nil
}

// followClasses follows what classes of devices mean, which only pods of others
// have to do with.
func (p *Backend) followClasses(ctx context.Context) (synced func() bool, err error) {
	_, err = p.client.ResourceV1().DeviceClasses().List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsForbidden(err) {
		p.o.Log.Warn("pods of others that ask for GPUs by resource claims wait: the server may not list and watch deviceclasses", "backend", p.o.Name, "err", err)
		p.groups.wishes.SetUnavailable("", "the server may not list and watch deviceclasses")
		return func() bool { return true }, nil
	}
	if err != nil {
		return nil, err
	}
	i := p.factory.Resource().V1().DeviceClasses().Informer()
	if err := i.SetTransform(trimObject); err != nil {
		return nil, err
	}
	reg, err := listen(i, func(c *resourcev1.DeviceClass, _ bool) { p.groups.classSeen(c.Name, c) }, func(c *resourcev1.DeviceClass, _ bool) { p.groups.classSeen(c.Name, nil) })
	if err != nil {
		return nil, err
	}
	return reg.HasSynced, nil
}

func trimObject(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}
