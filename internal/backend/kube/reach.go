package kube

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// A volume that exists may be of use on some nodes only, such as those of its
// zone, or one. What pods of others need of their nodes says so; of our tasks,
// whose claims are names to the control plane, nodes say for which claims they
// are no use, once some task has asked for them.

// reach is where a volume can be used: where all terms of one of these hold; nil:
// everywhere.
type reach [][]spec.NodeTerm

// reachOf is that of a volume.
func reachOf(pv *corev1.PersistentVolume) reach {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return nil
	}
	return placesOf(pv.Spec.NodeAffinity.Required)
}

// placesOf is what a node selector says, of which one term has to hold.
func placesOf(s *corev1.NodeSelector) reach {
	r := reach{}
	for _, t := range s.NodeSelectorTerms {
		if len(t.MatchExpressions)+len(t.MatchFields) > 0 { // an empty one fits no node
			r = append(r, nodeTerms(t))
		}
	}
	return r
}

// holds reports whether a volume can be used on a node.
func (r reach) holds(n *corev1.Node) bool {
	return r == nil || slices.ContainsFunc(r, func(all []spec.NodeTerm) bool { return fits(&backend.Where{Terms: all}, n) })
}

func (r reach) String() string {
	var out []string
	for _, all := range r {
		var terms []string
		for _, t := range all {
			terms = append(terms, strings.TrimSpace(t.Key+" "+t.Op+" "+strings.Join(t.Values, ",")))
		}
		out = append(out, strings.Join(terms, " and "))
	}
	return strings.Join(out, ", or ")
}

// mostChoices bounds the alternatives that several volumes make together.
const mostChoices = 64

// confine adds to where a pod may go that it must reach its volumes.
func confine(w *backend.Where, volumes []reach) (bars string) {
	for _, r := range volumes {
		switch {
		case r == nil:
		case len(r) == 0:
			return "one of its volumes can be used on no node"
		case len(r) == 1:
			w.Terms = append(w.Terms, r[0]...)
		case len(w.Any) == 0:
			w.Any = r
		case len(w.Any)*len(r) > mostChoices:
			return "where its volumes and claims can be used, and it may go, is said in too many alternatives"
		default:
			var both [][]spec.NodeTerm
			for _, a := range w.Any {
				for _, b := range r {
					both = append(both, slices.Concat(a, b))
				}
			}
			w.Any = both
		}
	}
	return ""
}

// reaches remembers where volumes can be used.
type reaches struct {
	p *Backend

	mu    sync.Mutex
	known map[string]reached // by namespace/claim
}

type reached struct {
	reach reach
	at    time.Time
}

// reachKept is for how long it is remembered where a volume can be used: a claim
// may be deleted and made anew.
const reachKept = time.Minute

// of is where the volume of a claim can be used. bound: it has one.
func (s *reaches) of(ctx context.Context, space, claim string) (r reach, bound bool, err error) {
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
			r = reachOf(pv)
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		s.p.calm.Warn("where volumes can be used may not be read: what needs them may be placed where they are not", "err", err)
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= ownersKept {
		clear(s.known)
	}
	if s.known == nil {
		s.known = map[string]reached{}
	}
	s.known[key] = reached{r, time.Now()}
	return r, true, nil
}

// reachable refuses what starts together where some of it cannot use its volumes,
// and lets nodes say for which volumes they are no use.
func (p *Backend) reachable(ctx context.Context, space string, todo []backend.Assignment) error {
	for _, m := range todo[0].Mounts {
		if m.Claim == "" {
			continue
		}
		r, _, err := p.reaches.of(ctx, space, m.Claim)
		if err != nil {
			return err
		}
		p.cluster.restrict(core.VolumeLabel(todo[0].About.Project, m.Claim), r)
		for _, a := range todo {
			if n := p.cluster.find(p.nodeName(a.Node)); n != nil && !r.holds(n) {
				return apicall.Refuse(podstatus.ReasonSystem, "the volume of its claim %s can be used on nodes with %s only, and %s is none of them", m.Claim, r, n.Name)
			}
		}
	}
	return nil
}

// restrictedFor is for how long nodes say for which volumes they are no use after
// the last task that asked: a claim may be deleted and made anew.
const restrictedFor = time.Hour

// restrict notes where a volume can be used that tasks ask for.
func (c *cluster) restrict(label string, r reach) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.reach[label]
	if r == nil && !known {
		return
	}
	c.reach[label] = reached{r, time.Now()}
	if !known {
		time.AfterFunc(restrictedFor, func() { c.relax(label) })
	}
	if !known || !reflect.DeepEqual(was.reach, r) {
		c.touchAll()
	}
}

// restricts reports whether nodes may have a label.
func (c *cluster) restricts(label string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.reach[label]
	return ok
}

// relax forgets where a volume can be used that no task has asked for of late.
func (c *cluster) relax(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := restrictedFor - time.Since(c.reach[label].at); left > 0 {
		time.AfterFunc(left, func() { c.relax(label) })
		return
	}
	delete(c.reach, label)
	c.touchAll()
}

// volumesOf is where the volumes of a pod can be used. more: some have yet to be
// made, or found.
func (s *reaches) volumesOf(ctx context.Context, pod *corev1.Pod) (all []reach, more bool, err error) {
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
