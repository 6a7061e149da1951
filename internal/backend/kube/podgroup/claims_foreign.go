package podgroup

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

// Before a pod of others is bound, its claims say which devices it has and that
// it has them, as a scheduler writes it; the cluster's controller takes that back
// when the pod has ended. Of a pod that does not come to be bound we do.

// AllocateForeign gives the claims of a pod the devices that it was placed on.
func (x *Groups) AllocateForeign(ctx context.Context, a *backend.Assignment, pod *corev1.Pod) error {
	refs, bars := dra.ReferencesOf(pod)
	if bars != "" {
		return apicall.Refuse(podstatus.ReasonSystem, "%s", bars)
	}
	node := x.p.NodeName(a.Node)
	var left []dra.Device
	if len(refs) > 0 && x.p.NodeInfo.HasOnlyClaims(node) {
		ok := false
		if left, ok = x.p.NodeInfo.Devices(node, a.Devices); !ok {
			return apicall.Refuse(podstatus.ReasonSystem, "node %s does not offer all of the GPUs %s any more that it was placed on", node, naming.DevicesNote(a.Devices))
		}
	}
	for _, r := range refs {
		var used int
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
			used, err = x.fill(ctx, pod, r, node, left)
			return err
		})
		if err != nil {
			return apicall.Classify(err)
		}
		left = left[used:]
	}
	if len(left) > 0 {
		return apicall.Refuse(podstatus.ReasonSystem, "its resource claims ask for fewer GPUs than when it was placed")
	}
	return nil
}

// fill has one claim of a pod say what it has of the devices that are left, and
// how many these are. It fails with a conflict where the claim has changed.
func (x *Groups) fill(ctx context.Context, pod *corev1.Pod, r dra.Reference, node string, left []dra.Device) (used int, err error) {
	claims := x.p.Client.ResourceV1().ResourceClaims(pod.Namespace)
	c, err := claims.Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	n, at, is, bars := x.Wishes.Allocate(pod, r, c, node, left)
	user := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID}
	switch on := x.p.NodeInfo.Find(node); {
	case bars != "":
		return 0, apicall.Refuse(podstatus.ReasonSystem, "%s", bars)
	case n == 0 && len(at) > 0 && (on == nil || !at[0].Matches(on)):
		return 0, apicall.Refuse(podstatus.ReasonSystem, "the devices of its resource claim %s/%s are for nodes with %s, and %s is none of them", c.Namespace, c.Name, at[0], node)
	case n == 0 && dra.ReservedFor(c, pod):
		return 0, nil
	case n == 0:
		c.Status.ReservedFor = append(c.Status.ReservedFor, user)
		_, err = claims.UpdateStatus(ctx, c, metav1.UpdateOptions{})
		return 0, err
	case is == nil:
		return 0, apicall.Refuse(podstatus.ReasonSystem, "its resource claim %s/%s asks for %d GPUs, more than when it was placed", c.Namespace, c.Name, n)
	}
	if d := x.p.NodeInfo.Rival(left[:n], c.UID); d != "" {
		return 0, apicall.Refuse(podstatus.ReasonSystem, "device %s of node %s was given to another resource claim meanwhile", d, node)
	}
	if was := c.Status.Allocation; was != nil {
		if dra.ReservedFor(c, pod) && equality.Semantic.DeepEqual(was.Devices.Results, is.Devices.Results) {
			return n, nil // an earlier try had come through
		}
		if c, err = x.clear(ctx, c); err != nil { // what is allocated cannot be changed
			return 0, err
		}
	}
	if c.Annotations[dra.NoteAllocated] != string(pod.UID) || !slices.Contains(c.Finalizers, resourcev1.Finalizer) {
		resources.Set(&c.Annotations, dra.NoteAllocated, string(pod.UID))
		if !slices.Contains(c.Finalizers, resourcev1.Finalizer) {
			c.Finalizers = append(c.Finalizers, resourcev1.Finalizer)
		}
		if c, err = claims.Update(ctx, c, metav1.UpdateOptions{}); err != nil {
			return 0, err
		}
	}
	c.Status.Allocation, c.Status.ReservedFor = is, []resourcev1.ResourceClaimConsumerReference{user}
	_, err = claims.UpdateStatus(ctx, c, metav1.UpdateOptions{})
	return n, err
}

// clear takes back what a claim has and who uses it.
func (x *Groups) clear(ctx context.Context, c *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	c.Status.Allocation, c.Status.ReservedFor = nil, nil
	return x.p.Client.ResourceV1().ResourceClaims(c.Namespace).UpdateStatus(ctx, c, metav1.UpdateOptions{})
}

// starting reports whether a pod is about to have its place, or has it.
func (x *Groups) starting(pod types.UID) bool {
	id, ok := x.tasks.Owner(pod)
	t, known := x.tasks.Get(id)
	return ok && known && t.There && !t.Seen.State.Ended()
}

// abandoned are the waiting pods of groups whose claims we have allocated for a
// start that came to nothing, perhaps of a server before this one. Each is given
// back by one at a time.
func (x *Groups) abandoned(marked map[string]bool) (out []*corev1.Pod) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	for key := range marked {
		g := x.Groups[key]
		if g == nil {
			continue
		}
		for uid := range g.pods {
			o := x.Pods[uid]
			if o != nil && o.live() && o.task == (core.TaskID{}) && !x.starting(uid) && x.Wishes.BeginRelease(o.Pod) {
				out = append(out, o.Pod)
			}
		}
	}
	return out
}

// reclaim gives back what was allocated for pods that did not get their places.
func (x *Groups) reclaim(pods []*corev1.Pod) {
	for _, pod := range pods {
		x.p.Running.Go(func() {
			x.p.Limiter.Retry(x.p.Context, "the GPUs of a pod that did not get its place could not be given back", core.TaskID{}, func() error { return x.giveBack(x.p.Context, pod) })
			x.after(podowner.FirstRecheck, func() { // what was written is seen by then
				x.Wishes.EndRelease(pod.UID)
				x.fresh[pod.UID] = true
			})
		})
	}
}

// giveBack takes the devices of a pod without a place out of its claims.
func (x *Groups) giveBack(ctx context.Context, pod *corev1.Pod) error {
	x.equipping.Lock() // nobody allocates, or binds, meanwhile
	defer x.equipping.Unlock()
	ctx, cancel := context.WithTimeout(ctx, apicall.Timeout)
	defer cancel()
	if x.starting(pod.UID) || !x.p.Drives() {
		return nil
	}
	now, err := x.p.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && (now.UID != pod.UID || now.Spec.NodeName != "") {
		return nil // it has its place after all, or the cluster sees to it
	}
	if err != nil {
		return err
	}
	refs, _ := dra.ReferencesOf(now)
	for _, r := range refs {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return x.release(ctx, now, r) })
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// release takes back one claim of a pod where we have allocated it.
func (x *Groups) release(ctx context.Context, pod *corev1.Pod, r dra.Reference) error {
	claims := x.p.Client.ResourceV1().ResourceClaims(pod.Namespace)
	c, err := claims.Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil || !dra.AllocatedFor(c, pod) {
		return err
	}
	var had []string
	if c.Status.Allocation != nil {
		for _, d := range c.Status.Allocation.Devices.Results {
			had = append(had, d.Device)
		}
		if c, err = x.clear(ctx, c); err != nil {
			return err
		}
	}
	delete(c.Annotations, dra.NoteAllocated)
	c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
	if _, err = claims.Update(ctx, c, metav1.UpdateOptions{}); err != nil {
		return err
	}
	x.p.Options.Log.Info("GPUs of a resource claim were given back: its pod did not get its place", "backend", x.p.Options.Name, "claim", c.Namespace+"/"+c.Name, "devices", strings.Join(had, ","))
	return nil
}
