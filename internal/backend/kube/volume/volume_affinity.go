// Package volume finds out where volumes can be used, and says where they are to
// be made.
package volume

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
)

// A volume that exists may be of use on some nodes only, such as those of its
// zone, or one. What pods of others need of their nodes says so; of our tasks,
// whose claims are names to the control plane, nodes say for which claims they
// are no use, once some task has asked for them.

// Affinity remembers where volumes can be used.
type Affinity struct {
	P *cluster.Cluster

	mu    sync.Mutex
	known map[string]cachedVolume // by namespace/claim
}

type cachedVolume struct {
	reach affinity.Selector
	at    time.Time
}

// reachKept is for how long it is remembered where a volume can be used: a claim
// may be deleted and made anew.
const reachKept = time.Minute

// Of is where the volume of a claim can be used. bound: it has one.
func (s *Affinity) Of(ctx context.Context, space, claim string) (r affinity.Selector, bound bool, err error) {
	key := space + "/" + claim
	s.mu.Lock()
	was, ok := s.known[key]
	s.mu.Unlock()
	if ok && time.Since(was.at) < reachKept {
		return was.reach, true, nil
	}
	c, err := s.P.Client.CoreV1().PersistentVolumeClaims(space).Get(ctx, claim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && (c.Spec.VolumeName == "" || c.Status.Phase != corev1.ClaimBound) {
		return nil, false, nil
	}
	if err == nil {
		var pv *corev1.PersistentVolume
		if pv, err = s.P.Client.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{}); err == nil {
			r = affinity.SelectorOfVolume(pv)
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		s.P.Limiter.Warn("where volumes can be used may not be read: what needs them may be placed where they are not", "err", err)
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= podowner.MaxKept {
		clear(s.known)
	}
	if s.known == nil {
		s.known = map[string]cachedVolume{}
	}
	s.known[key] = cachedVolume{r, time.Now()}
	return r, true, nil
}

// VolumesOf is where the volumes of a pod can be used. more: some have yet to be
// made, or found.
func (s *Affinity) VolumesOf(ctx context.Context, pod *corev1.Pod) (all []affinity.Selector, more bool, err error) {
	for _, claim := range ClaimsOf(pod) {
		r, bound, err := s.Of(ctx, pod.Namespace, claim)
		if err != nil {
			return nil, false, fmt.Errorf("volume claim %s/%s: %w", pod.Namespace, claim, err)
		}
		if more = more || !bound; r != nil {
			all = append(all, r)
		}
	}
	return all, more, nil
}

// ClaimsOf are the claims of a pod's volumes. Those of volumes that come and go
// with it the cluster makes, under these names.
func ClaimsOf(pod *corev1.Pod) (out []string) {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// noteChosen is where the scheduler of Kubernetes says on a claim for which node
// its volume is to be made.
const noteChosen = "volume.kubernetes.io/selected-node"

// Choose says on a claim whose volume is made for its first user for which node
// that is, which otherwise is the scheduler's part.
func (s *Affinity) Choose(ctx context.Context, space, name, node string) error {
	claims := s.P.Client.CoreV1().PersistentVolumeClaims(space)
	c, err := claims.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c.Status.Phase == corev1.ClaimBound || c.Spec.VolumeName != "" || c.Annotations[noteChosen] != "" || c.Spec.StorageClassName == nil || *c.Spec.StorageClassName == "" {
		return nil
	}
	class, err := s.P.Client.StorageV1().StorageClasses().Get(ctx, *c.Spec.StorageClassName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // what comes of it its pod will say
	}
	if err != nil || class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{noteChosen: node}}})
	if err != nil {
		return err
	}
	_, err = claims.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: naming.Managed})
	return err
}
