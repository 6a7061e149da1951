package volume

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Mountable sees to it that the claims of a task can be mounted: they must be
// there, and a volume that is made for its first user is asked for.
func (s *Affinity) Mountable(ctx context.Context, space string, a *backend.Assignment) error {
	for _, m := range a.Mounts {
		if m.Claim == "" {
			continue
		}
		err := s.Choose(ctx, space, m.Claim, s.P.NodeName(a.Node))
		if apierrors.IsNotFound(err) {
			return apicall.Refuse(lifecycle.ReasonMountFailed, "there is no PersistentVolumeClaim %s in namespace %s of cluster %s: make it there, or choose another cluster", m.Claim, space, s.P.Options.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reachable refuses what starts together where some of it cannot use its volumes,
// and lets nodes say for which volumes they are no use.
func (s *Affinity) Reachable(ctx context.Context, space string, todo []backend.Assignment) error {
	for _, m := range todo[0].Mounts {
		if m.Claim == "" {
			continue
		}
		r, _, err := s.Of(ctx, space, m.Claim)
		if err != nil {
			return err
		}
		s.P.NodeInfo.Restrict(core.VolumeLabel(todo[0].About.Project, m.Claim), r)
		for _, a := range todo {
			if n := s.P.NodeInfo.Find(s.P.NodeName(a.Node)); n != nil && !r.Matches(n) {
				return apicall.Refuse(podstatus.ReasonSystem, "the volume of its claim %s can be used on nodes with %s only, and %s is none of them", m.Claim, r, n.Name)
			}
		}
	}
	return nil
}
