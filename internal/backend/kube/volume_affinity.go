package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// A volume that exists may be of use on some nodes only, such as those of its
// zone, or one. What pods of others need of their nodes says so; of our tasks,
// whose claims are names to the control plane, nodes say for which claims they
// are no use, once some task has asked for them.

// volumeAffinity remembers where volumes can be used.
type volumeAffinity struct {
	p *Backend

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

// of is where the volume of a claim can be used. bound: it has one.
func (s *volumeAffinity) of(ctx context.Context, space, claim string) (r affinity.Selector, bound bool, err error) {
	key := space + "/" + claim
	s.mu.Lock()
	was, ok := s.known[key]
	s.mu.Unlock()
	if ok && time.Since(was.at) < reachKept {
		return was.reach, true, nil
	}
	c, err := s.p.client.CoreV1().PersistentVolumeClaims(space).Get(ctx, claim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && (c.Spec.VolumeName == "" || c.Status.Phase != corev1.ClaimBound) {
		return nil, false, nil
	}
	if err == nil {
		var pv *corev1.PersistentVolume
		if pv, err = s.p.client.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{}); err == nil {
			r = affinity.SelectorOfVolume(pv)
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		s.p.limiter.Warn("where volumes can be used may not be read: what needs them may be placed where they are not", "err", err)
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

// reachable refuses what starts together where some of it cannot use its volumes,
// and lets nodes say for which volumes they are no use.
func (p *Backend) reachable(ctx context.Context, space string, todo []backend.Assignment) error {
	for _, m := range todo[0].Mounts {
		if m.Claim == "" {
			continue
		}
		r, _, err := p.volumes.of(ctx, space, m.Claim)
		if err != nil {
			return err
		}
		p.nodes.Restrict(core.VolumeLabel(todo[0].About.Project, m.Claim), r)
		for _, a := range todo {
			if n := p.nodes.Find(p.nodeName(a.Node)); n != nil && !r.Matches(n) {
				return apicall.Refuse(podstatus.ReasonSystem, "the volume of its claim %s can be used on nodes with %s only, and %s is none of them", m.Claim, r, n.Name)
			}
		}
	}
	return nil
}

// volumesOf is where the volumes of a pod can be used. more: some have yet to be
// made, or found.
func (s *volumeAffinity) volumesOf(ctx context.Context, pod *corev1.Pod) (all []affinity.Selector, more bool, err error) {
	for _, claim := range claimsOf(pod) {
		r, bound, err := s.of(ctx, pod.Namespace, claim)
		if err != nil {
			return nil, false, fmt.Errorf("volume claim %s/%s: %w", pod.Namespace, claim, err)
		}
		if more = more || !bound; r != nil {
			all = append(all, r)
		}
	}
	return all, more, nil
}
