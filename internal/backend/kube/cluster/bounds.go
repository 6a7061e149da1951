package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// Bounds are what projects may use at most, by resource.
type Bounds map[core.ProjectID]map[core.Resource]float64

// BoundsName is the ResourceQuota of a namespace that was made for a project, and the
// begin of the names of the limit ranges beside it.
const BoundsName = "muster-project"

// spareCPU and spareMemory are in a quota beyond the limit: room for what limit ranges
// say of containers that ask for nothing.
var spareCPU, spareMemory = resource.MustParse("1"), resource.MustParse("1Mi")

// asked is what these say of them, so that a quota does not refuse them: as
// little as there is.
var asked = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1")}

// Mirror has namespaces that were made for projects bound what is in them, whoever makes
// it: those that there are, and from now on those that are made. It has no say where that
// is not wanted.
func (p *Cluster) Mirror(ctx context.Context, all Bounds) error {
	if !p.Options.MirrorQuotas {
		return nil
	}
	p.bounds.Store(&all)
	var errs []error
	spaces := p.Namespaces.Owned()
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		errs = append(errs, p.bound(ctx, name, spaces[name]))
	}
	return errors.Join(errs...)
}

// bound has a namespace bound what its project may use. It asks the cluster only where
// that is not as this process has left it.
func (p *Cluster) bound(ctx context.Context, name string, project core.ProjectID) error {
	all := p.bounds.Load()
	if all == nil || p.Namespaces.Labels(name)[naming.LabelManaged] != naming.Managed {
		return nil
	}
	hard := hardOf((*all)[project])
	if was, done := p.bounded.Load(name); done && equality.Semantic.DeepEqual(was, hard) {
		return nil
	}
	if err := p.leastAsked(ctx, name, hard); err != nil { // first: from the quota on what asks for nothing is refused
		return fmt.Errorf("limit range of namespace %s: %w", name, err)
	}
	quotas := p.Client.CoreV1().ResourceQuotas(name)
	is, err := quotas.Get(ctx, BoundsName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && len(hard) == 0:
		err = nil
	case apierrors.IsNotFound(err):
		_, err = quotas.Create(ctx, &corev1.ResourceQuota{ObjectMeta: madeHere(BoundsName), Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{})
	case err == nil && !equality.Semantic.DeepEqual(is.Spec.Hard, hard):
		is.Spec.Hard = hard
		_, err = quotas.Update(ctx, is, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("quota of namespace %s: %w", name, err)
	}
	p.bounded.Store(name, hard)
	return nil
}

func madeHere(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{naming.LabelManaged: naming.Managed}}
}

// leastAsked makes limit ranges of what a quota bounds, and of nothing else: what they
// say is added to pods.
func (p *Cluster) leastAsked(ctx context.Context, name string, hard corev1.ResourceList) error {
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if _, bounded := hard["requests."+r]; !bounded {
			continue
		}
		l := &corev1.LimitRange{ObjectMeta: madeHere(BoundsName + "-" + string(r)), Spec: corev1.LimitRangeSpec{
			Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{r: asked[r]}}},
		}}
		if _, err := p.Client.CoreV1().LimitRanges(name).Create(ctx, l, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// hardOf are bounds as a quota says them. A part of a GPU is rounded up: pods ask for
// whole ones.
func hardOf(bounds map[core.Resource]float64) corev1.ResourceList {
	out := corev1.ResourceList{}
	for r, n := range bounds {
		switch r {
		case core.CPU:
			q := resource.NewMilliQuantity(int64(math.Ceil(n*1000)), resource.DecimalSI)
			q.Add(spareCPU)
			out[corev1.ResourceRequestsCPU] = *q
		case core.Memory:
			q := resource.NewQuantity(int64(n), resource.BinarySI)
			q.Add(spareMemory)
			out[corev1.ResourceRequestsMemory] = *q
		case core.GPU:
			for _, g := range resources.GpuResources {
				out[corev1.ResourceName("requests."+string(g))] = *resource.NewQuantity(int64(math.Ceil(n)), resource.DecimalSI)
			}
		}
	}
	return out
}
