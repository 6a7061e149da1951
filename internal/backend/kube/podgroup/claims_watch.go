package podgroup

import (
	"context"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
)

// WatchClaims follows claims where the cluster has them and lets us see them.
// Until that is known, nothing is said of nodes.
func (x *Groups) WatchClaims() (follow func()) {
	x.p.Sources = append(x.p.Sources, &cluster.Source{Name: "resource claims", Synced: func() bool {
		f := x.claimed.Load()
		return f != nil && (*f)()
	}})
	return func() {
		for wait := apicall.FirstPause; x.p.Context.Err() == nil; wait = min(2*wait, apicall.LongestPause) {
			err := x.followClaims(x.p.Context)
			if err == nil {
				return
			}
			x.p.Options.Log.Debug("whether the cluster has resource claims is not known yet", "backend", x.p.Options.Name, "err", err)
			select {
			case <-x.p.Context.Done():
			case <-time.After(wait):
			}
		}
	}
}

func (x *Groups) followClaims(ctx context.Context) error {
	without := func() bool { return true }
	_, err := x.p.Client.Discovery().ServerResourcesForGroupVersion(resourcev1.SchemeGroupVersion.String())
	if err == nil {
		_, err = x.p.Client.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{Limit: 1})
	}
	if err == nil {
		_, err = x.p.Client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{Limit: 1})
	}
	switch {
	case apierrors.IsNotFound(err):
		x.Wishes.SetUnavailable("the cluster does not serve "+resourcev1.SchemeGroupVersion.String(), "")
		x.claimed.Store(&without)
		return nil
	case apierrors.IsForbidden(err):
		x.p.Options.Log.Warn("GPUs that are taken by resource claims are not counted: the server may not list and watch them", "backend", x.p.Options.Name, "err", err)
		x.Wishes.SetUnavailable("the server may not list and watch resourceclaims and resourceslices, so that nothing is known of it", "")
		x.claimed.Store(&without)
		return nil
	case err != nil:
		return err
	}
	classes, err := x.followClasses(ctx)
	if err != nil {
		return err
	}
	r := x.p.Factory.Resource().V1()
	for _, i := range []cache.SharedIndexInformer{r.ResourceSlices().Informer(), r.ResourceClaims().Informer()} {
		if err := i.SetTransform(cluster.TrimObject); err != nil {
			return err
		}
	}
	one, err := cluster.Listen(r.ResourceSlices().Informer(), func(s *resourcev1.ResourceSlice, _ bool) { x.p.NodeInfo.SliceSeen(s) }, func(s *resourcev1.ResourceSlice, _ bool) { x.p.NodeInfo.SliceGone(s.Name) })
	if err != nil {
		return err
	}
	two, err := cluster.Listen(r.ResourceClaims().Informer(), func(c *resourcev1.ResourceClaim, _ bool) {
		x.p.NodeInfo.ClaimSeen(c)
		x.ClaimSeen(c)
	}, func(c *resourcev1.ResourceClaim, _ bool) {
		x.p.NodeInfo.SetClaim(c.UID, nil)
		x.ClaimGone(c)
	})
	if err != nil {
		return err
	}
	all := func() bool { return one.HasSynced() && two.HasSynced() && classes() }
	x.claimed.Store(&all)
	x.p.Factory.Start(x.p.Context.Done())
	return nil
}

// followClasses follows what classes of devices mean, which only pods of others
// have to do with.
func (x *Groups) followClasses(ctx context.Context) (synced func() bool, err error) {
	_, err = x.p.Client.ResourceV1().DeviceClasses().List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsForbidden(err) {
		x.p.Options.Log.Warn("pods of others that ask for GPUs by resource claims wait: the server may not list and watch deviceclasses", "backend", x.p.Options.Name, "err", err)
		x.Wishes.SetUnavailable("", "the server may not list and watch deviceclasses")
		return func() bool { return true }, nil
	}
	if err != nil {
		return nil, err
	}
	i := x.p.Factory.Resource().V1().DeviceClasses().Informer()
	if err := i.SetTransform(cluster.TrimObject); err != nil {
		return nil, err
	}
	reg, err := cluster.Listen(i, func(c *resourcev1.DeviceClass, _ bool) { x.ClassSeen(c.Name, c) }, func(c *resourcev1.DeviceClass, _ bool) { x.ClassSeen(c.Name, nil) })
	if err != nil {
		return nil, err
	}
	return reg.HasSynced, nil
}
